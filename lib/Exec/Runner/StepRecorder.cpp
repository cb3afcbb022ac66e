//===- StepRecorder.cpp - Records when work ran ---------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "StepRecorder.h"
#include "llvm/ADT/STLExtras.h"
#include <cassert>

using namespace mf::program;

namespace mf::runner {

/// Adds the instructions that streams run, by stream.
static void count(const InstructionList &list,
                  llvm::MutableArrayRef<size_t> counts) {
  for (const Instruction &instruction : list.instructions)
    if (instruction.work != Work::None && instruction.work != Work::Call)
      ++counts[instruction.stream];
}

StepRecorder::StepRecorder(const StageProgram &stage)
    : streams(stage.streams.size()) {
  std::vector<size_t> counts(streams.size());
  count(stage.step, counts);
  for (const Call &call : stage.step.calls)
    count(stage.routines[call.routine].body, counts);
  for (auto [stream, number] : llvm::zip_equal(streams, counts))
    stream.reserve(number);
}

RecordedWork *StepRecorder::add(uint32_t stream, uint32_t position,
                                std::optional<uint32_t> instruction) {
  std::vector<RecordedWork> &works = streams[stream];
  assert(works.size() < works.capacity() && "a record is of one step");
  works.push_back({position, instruction, {}});
  return &works.back();
}

} // namespace mf::runner
