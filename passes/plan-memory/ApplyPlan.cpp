//===- ApplyPlan.cpp - Offsets of a plan in the IR ------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/plan-memory/PlanMemory.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mf;
using mf::passes::PlannedProblem;

namespace {

/// Writes one plan. Its entries are in the order of its problem's parts, and
/// the id of each part selects the operation that it represents.
class PlanWriter {
public:
  PlanWriter(ArrayRef<Operation *> operations, const PlannedProblem &planned)
      : operations(operations), problem(planned.problem), plan(planned.plan) {}

  void writeBuffers() {
    for (auto [buffer, offset] :
         llvm::zip_equal(problem.persistentBuffers, plan.persistentOffsets))
      writeOffset(buffer.id, offset);
    for (auto [buffer, offset] :
         llvm::zip_equal(problem.taskBuffers, plan.taskBufferOffsets))
      writeOffset(buffer.id, offset);
  }

  void writeLayouts() {
    for (auto [frame, planned] : llvm::zip_equal(problem.frames, plan.frames)) {
      auto layout = cast<ascend::FrameLayoutOp>(operations[frame.id]);
      writeSlots(layout, frame, planned);
      layout.setBytes(planned.size);
      SmallVector<int64_t> parts;
      for (const memory::FramePart &part : planned.parts)
        parts.push_back(part.begin);
      if (parts.size() > 1)
        layout.setParts(parts);
      else
        layout.removePartsAttr();
    }
  }

  void writeTemporaries() {
    for (auto [routine, layout] :
         llvm::zip_equal(problem.routines, plan.routines))
      for (auto [temporary, place] :
           llvm::zip_equal(routine.temporaries, layout.temporaries)) {
        auto alloc = cast<ascend::AllocOp>(operations[temporary.id]);
        alloc.setRegion(place.isInFrame ? ascend::Region::Frame
                                        : ascend::Region::Scratch);
        alloc.setOffset(place.offset);
      }
  }

  void writeScratch() {
    for (auto [task, base] : llvm::zip_equal(problem.tasks, plan.scratchBases))
      if (task.id != memory::noPart &&
          !problem.routines[task.routine].temporaries.empty())
        cast<ascend::CallOp>(operations[task.id]).setScratchOffset(base);
  }

  void writeFrames() {
    for (const memory::FrameInstance &instance : plan.instances)
      getFrame(instance).setOffsets(instance.bases);
  }

  void writeHostLayouts() {
    for (auto [frame, planned] : llvm::zip_equal(problem.frames, plan.frames)) {
      auto layout = cast<ascend::FrameLayoutOp>(operations[frame.id]);
      writeSlots(layout, frame, planned);
      if (planned.size > 0)
        layout.setHostBytes(planned.size);
    }
  }

  /// Writes the offsets of frames in host memory, where each frame is
  /// contiguous.
  void writeHostFrames() {
    for (const memory::FrameInstance &instance : plan.instances)
      getFrame(instance).setHostOffset(instance.bases.front());
  }

private:
  void writeOffset(memory::PartId id, int64_t offset) {
    if (auto buffer = dyn_cast<ascend::StaticOp>(operations[id]))
      buffer.setOffset(offset);
    else
      cast<ascend::MessageOp>(operations[id]).setOffset(offset);
  }

  /// Writes the offsets of the slots in the planned memory. Slots in the other
  /// memory keep theirs.
  void writeSlots(ascend::FrameLayoutOp layout,
                  const memory::FrameMemory &frame,
                  const memory::PlannedFrame &planned) {
    SmallVector<int64_t> offsets(
        layout.getOffsets().value_or(ArrayRef<int64_t>()));
    offsets.resize(layout.getTypes().size(), 0);
    for (auto [residual, offset] :
         llvm::zip_equal(frame.residuals, planned.residualOffsets))
      offsets[residual.id] = offset;
    layout.setOffsets(offsets);
  }

  ascend::FrameOp getFrame(const memory::FrameInstance &instance) const {
    const memory::TaskMemory &task = problem.tasks[instance.tasks.front()];
    auto call = cast<ascend::CallOp>(operations[task.id]);
    return call.getFrame().getDefiningOp<ascend::FrameOp>();
  }

  ArrayRef<Operation *> operations;
  const memory::StepProblem &problem;
  const memory::StepPlan &plan;
};

} // namespace

void mf::passes::applyPlan(ascend::ProgramOp program,
                           ArrayRef<Operation *> operations,
                           const PlannedProblem &device,
                           const PlannedProblem &host) {
  PlanWriter onDevice(operations, device), onHost(operations, host);
  onDevice.writeBuffers();
  onHost.writeBuffers();
  onDevice.writeLayouts();
  onHost.writeHostLayouts();
  onDevice.writeTemporaries();
  onDevice.writeScratch();
  onDevice.writeFrames();
  onHost.writeHostFrames();
  program.setArenaBytes(device.plan.arenaSize);
  program.setHostBytes(host.plan.arenaSize);
  program.setMaxLiveBytes(device.plan.bound.bytes);
}
