//===- PipelinePrint.cpp - Pictures of schedules in time ------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Perf/EventEngine/PipelinePrint.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <cmath>

namespace mf::events {

namespace {

constexpr double mostColumns = 1000;

template <typename Function>
void forEachTask(const PipelineTimeline &timeline, Function function) {
  for (const std::vector<Block> &stage : timeline.stages)
    for (const Block &block : stage)
      if (block.kind == BlockKind::Compute)
        function(block);
}

/// Returns the time that one column represents.
double getUnit(const PipelineTimeline &timeline) {
  double unit = timeline.end;
  forEachTask(timeline, [&](const Block &block) {
    double duration = block.end - block.start;
    if (duration > 0)
      unit = std::min(unit, duration);
  });
  unit = std::max(unit, timeline.end / mostColumns);
  return unit > 0 ? unit : 1;
}

/// Returns how many of the first blocks are tasks that run together.
size_t countSlot(llvm::ArrayRef<Block> blocks) {
  const Block &first = blocks.front();
  size_t count = 1;
  while (count < blocks.size() && first.kind == BlockKind::Compute &&
         blocks[count].kind == BlockKind::Compute &&
         blocks[count].start < blocks[count].end &&
         blocks[count].start == first.start)
    ++count;
  return count;
}

/// Returns the name of a slot of the first blocks, for example `F1&B0`.
std::string getSlotName(const schedule::Pipeline &pipeline,
                        llvm::ArrayRef<Block> blocks) {
  std::string name;
  for (const Block &block : blocks.take_front(countSlot(blocks)))
    name += (name.empty() ? "" : "&") + pipeline.getName(block.task);
  return name;
}

} // namespace

void printTimeline(const schedule::Pipeline &pipeline,
                   const PipelineTimeline &timeline, llvm::raw_ostream &os) {
  double unit = getUnit(timeline);
  size_t width = 0;
  for (llvm::ArrayRef<Block> blocks : timeline.stages)
    for (; !blocks.empty(); blocks = blocks.drop_front(countSlot(blocks)))
      width = std::max(width, getSlotName(pipeline, blocks).size() + 1);
  for (auto [stage, stageBlocks] : llvm::enumerate(timeline.stages)) {
    std::string line;
    auto addCells = [&](std::string text, char padding, int64_t cells) {
      text.resize(cells * width - 1, padding);
      line += " " + text;
    };
    int64_t column = 0;
    for (llvm::ArrayRef<Block> blocks = stageBlocks; !blocks.empty();
         blocks = blocks.drop_front(countSlot(blocks))) {
      const Block &block = blocks.front();
      if (block.kind != BlockKind::Compute)
        continue;
      for (; column < std::llround(block.start / unit); ++column)
        addCells(".", ' ', 1);
      int64_t end =
          std::max<int64_t>(column + 1, std::llround(block.end / unit));
      addCells(getSlotName(pipeline, blocks), end > column + 1 ? '-' : ' ',
               end - column);
      column = end;
    }
    os << "stage " << stage << ":" << llvm::StringRef(line).rtrim() << "\n";
  }
}

} // namespace mf::events
