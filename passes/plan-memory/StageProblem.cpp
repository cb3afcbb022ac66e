//===- StageProblem.cpp - Problem of a stage's memory ---------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/plan-memory/StageProblem.h"
#include "dialects/mf/CellName.h"
#include "mf/Support/Alignment.h"
#include "llvm/ADT/STLExtras.h"

namespace mf::passes {

using program::MomentRange;
using program::Space;

StageProblem::StageProblem(const program::UnplannedStage &decoded, bool slack)
    : decoded(decoded), stage(decoded.stage),
      liveness(program::computeLiveness(stage)) {
  addStatics();
  addRoutines();
  addTasks();
  addFrames();
  addMessages();
  addStepStatics();
  host.tasks = device.tasks;
  host.alignment = mf::addressAlignment;
  if (slack)
    addSlack();
}

void StageProblem::addSlack() {
  auto extend = [](auto &buffers) {
    for (auto &buffer : buffers)
      buffer.size = mf::getBytesWithSlack(buffer.size);
  };
  extend(device.persistentBuffers);
  extend(device.taskBuffers);
  for (memory::RoutineMemory &routine : device.routines)
    extend(routine.temporaries);
  for (memory::FrameMemory &frame : device.frames)
    extend(frame.residuals);
}

/// Returns whether the memory of a static may have another use before the
/// static's first use. This is not so for statics that the first call writes,
/// because most of them live until the end of the step.
bool StageProblem::comesInStep(uint32_t number) const {
  const program::MessageRange &range = liveness.statics[number];
  return range.isUsed && range.begin.call > 0 && range.begin < range.end;
}

void StageProblem::addStatics() {
  for (auto [number, buffer] : llvm::enumerate(stage.statics))
    if (!comesInStep(number))
      (buffer.space == Space::Device ? device : host)
          .persistentBuffers.push_back(
              {buffer.name, buffer.bytes, buffer.location});
}

std::string StageProblem::getOperator(const program::Routine &routine,
                                      uint32_t instruction) const {
  const program::Instruction &at = routine.body.instructions[instruction];
  if (!at.cell.empty() || at.work != program::Work::Kernel)
    return at.cell;
  return decoded.kernels[at.index].spec.name;
}

void StageProblem::addRoutines() {
  for (auto [routine, lives] : llvm::zip(stage.routines, liveness.routines)) {
    const int64_t length = lives.getLength();
    host.routines.push_back({routine.name, length, {}});
    memory::RoutineMemory &target = device.routines.emplace_back(
        memory::RoutineMemory{routine.name, length, {}});
    for (const program::Buffer &buffer : routine.body.buffers) {
      if (buffer.kind != program::BufferKind::Temporary)
        continue;
      const MomentRange &range = lives.temporaries[buffer.index];
      std::string name;
      if (range.isUsed())
        name = getOperator(routine, lives.instructions[range.begin]);
      // A buffer without uses has a place too.
      target.temporaries.push_back(
          {std::move(name), buffer.bytes, range.isUsed() ? range.begin : 0,
           range.isUsed() ? range.end : 1, buffer.location});
    }
  }
}

void StageProblem::addTasks() {
  for (uint32_t position : liveness.calls) {
    const program::Instruction &instruction = stage.step.instructions[position];
    const program::Call &call = *stage.step.getCall(instruction);
    auto instance = static_cast<int64_t>(device.tasks.size());
    if (call.frame)
      instance = stage.frames[*call.frame].microBatch;
    device.tasks.push_back(
        {static_cast<int64_t>(call.routine), instance, instruction.location});
  }
  // The messages of a step without calls live through an empty task.
  if (!device.tasks.empty())
    return;
  device.tasks.push_back({static_cast<int64_t>(device.routines.size()), 0});
  device.routines.push_back({"step", 1, {}});
  host.routines.push_back({"step", 1, {}});
}

//===----------------------------------------------------------------------===//
// Frames
//===----------------------------------------------------------------------===//

void StageProblem::addFrames() {
  // The routines of each layout, in the order in which a micro-batch runs them.
  std::vector<std::vector<uint32_t>> phases(stage.layouts.size());
  for (uint32_t position : liveness.calls) {
    const program::Call &call =
        *stage.step.getCall(stage.step.instructions[position]);
    if (!call.frame)
      continue;
    std::vector<uint32_t> &list = phases[stage.frames[*call.frame].layout];
    if (!llvm::is_contained(list, call.routine))
      list.push_back(call.routine);
  }
  for (uint32_t layout = 0; layout < stage.layouts.size(); ++layout)
    addFrame(layout, phases[layout]);
}

/// Returns whether another stream still uses a slot when a routine ends.
bool StageProblem::isOpen(uint32_t routine, size_t slot) const {
  return llvm::any_of(
      liveness.routines[routine].open, [&](const program::OpenUse &use) {
        return use.kind == program::BufferKind::Slot && use.index == slot;
      });
}

void StageProblem::addFrame(uint32_t number, llvm::ArrayRef<uint32_t> phases) {
  const program::FrameLayout &layout = stage.layouts[number];
  memory::FrameMemory frame;
  frame.name = layout.name;
  frame.phases.assign(phases.begin(), phases.end());
  frame.id = layout.location;
  memory::FrameMemory hostFrame = frame;
  for (auto [index, slot] : llvm::enumerate(layout.slots)) {
    llvm::SmallVector<std::pair<int64_t, MomentRange>, 2> uses;
    for (auto [phase, routine] : llvm::enumerate(phases))
      if (const MomentRange &range = liveness.routines[routine].slots[index];
          range.isUsed())
        uses.push_back({static_cast<int64_t>(phase), range});
    const int64_t last = static_cast<int64_t>(phases.size()) - 1;
    if (!uses.empty() && uses.back().first < last) {
      MomentRange start;
      start.begin = start.end = 0;
      // A slot that the step copies is needed until the last routine begins,
      // because any routine may read the copy. A slot that an exchange uses
      // after the end of its routine is needed until the next routine begins.
      if (liveness.slotsOfStep[number][index])
        uses.push_back({last, start});
      else if (isOpen(phases[uses.back().first], index))
        uses.push_back({uses.back().first + 1, start});
    }
    if (uses.size() < 2) {
      if (!brokenSlot)
        brokenSlot = BrokenSlot{
            llvm::cast<ascend::FrameLayoutOp>(getOperations()[layout.location]),
            static_cast<uint32_t>(index)};
      continue;
    }
    memory::Residual residual;
    residual.name = slot.name;
    residual.size = slot.bytes;
    residual.layer = ir::getLayerNumberOfCell(slot.name);
    residual.birthPhase = uses.front().first;
    residual.birth = uses.front().second.begin;
    residual.deathPhase = uses.back().first;
    residual.death = uses.back().second.end;
    residual.id = static_cast<memory::PartId>(index);
    (slot.space == Space::Device ? frame : hostFrame)
        .residuals.push_back(std::move(residual));
  }
  device.frames.push_back(std::move(frame));
  if (!hostFrame.residuals.empty())
    host.frames.push_back(std::move(hostFrame));
}

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

void StageProblem::addMessages() {
  for (const program::Buffer &buffer : stage.step.buffers) {
    if (buffer.kind != program::BufferKind::Message)
      continue;
    const program::MessageRange &range = liveness.messages[buffer.index];
    memory::StepMoment begin{range.begin.call, range.begin.moment};
    memory::StepMoment end{range.end.call, range.end.moment};
    if (!range.isUsed || liveness.calls.empty()) {
      begin = {0, 0};
      end = {1, 0};
    }
    device.taskBuffers.push_back(
        {"message", buffer.bytes, begin, end, buffer.location});
  }
}

void StageProblem::addStepStatics() {
  for (auto [number, buffer] : llvm::enumerate(stage.statics)) {
    if (!comesInStep(number))
      continue;
    const program::MessageRange &range = liveness.statics[number];
    device.taskBuffers.push_back({buffer.name,
                                  buffer.bytes,
                                  {range.begin.call, range.begin.moment},
                                  {range.end.call, range.end.moment},
                                  buffer.location});
  }
}

//===----------------------------------------------------------------------===//
// Messages to users
//===----------------------------------------------------------------------===//

std::string StageProblem::describe(memory::StepMoment moment) const {
  if (moment.task >= static_cast<int64_t>(liveness.calls.size()))
    return "the end of the step";
  const program::Call &call =
      *stage.step.getCall(stage.step.instructions[liveness.calls[moment.task]]);
  const program::Routine &routine = stage.routines[call.routine];
  std::string text = "task " + routine.name;
  if (call.microBatch)
    text += ", micro-batch " + std::to_string(*call.microBatch);
  const std::vector<uint32_t> &instructions =
      liveness.routines[call.routine].instructions;
  if (moment.instruction < static_cast<int64_t>(instructions.size()))
    if (std::string name =
            getOperator(routine, instructions[moment.instruction]);
        !name.empty())
      text += ", operator " + name;
  return text;
}

std::string StageProblem::getCategory(const memory::LiveBuffer &buffer) const {
  using Kind = memory::LiveBuffer::Kind;
  switch (buffer.kind) {
  case Kind::Persistent:
  case Kind::TaskLevel:
    if (auto op = llvm::dyn_cast<ascend::StaticOp>(getOperations()[buffer.id]))
      return ascend::stringifyRole(op.getRole()).str();
    return "message";
  case Kind::Residual:
    return "residual";
  case Kind::Temporary:
    return "temporary";
  }
  llvm_unreachable("unknown kind of live buffer");
}

} // namespace mf::passes
