//===- ApplyPlan.cpp - Offsets of a plan in the IR ------------------------===//
//
// The decoded tables, and so the plans, are in the order of the operations that
// declare them.
//
//===----------------------------------------------------------------------===//

#include "passes/plan-memory/ApplyPlan.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mf;
using namespace mf::passes;
using program::Space;

static void applyStatics(ascend::ProgramOp program, const StageProblem &memory,
                         const memory::StepPlan &plan, Space space) {
  auto statics = llvm::to_vector(program.getBody().getOps<ascend::StaticOp>());
  for (auto [number, offset] :
       llvm::zip_equal(memory.getStatics(space), plan.persistentOffsets))
    statics[number].setOffset(offset);
}

static void applyLayouts(ascend::ProgramOp program,
                         const memory::StepPlan &device,
                         const memory::StepPlan &host) {
  for (auto [layout, frame, hostFrame] :
       llvm::zip_equal(program.getBody().getOps<ascend::FrameLayoutOp>(),
                       device.frames, host.frames)) {
    ArrayRef<int64_t> onDevice = frame.residualOffsets;
    ArrayRef<int64_t> onHost = hostFrame.residualOffsets;
    SmallVector<int64_t> offsets;
    for (Type type : layout.getTypes().getAsValueRange<TypeAttr>()) {
      bool isHost =
          cast<ascend::BufferType>(type).getSpace() == ascend::Space::Host;
      ArrayRef<int64_t> &part = isHost ? onHost : onDevice;
      offsets.push_back(part.front());
      part = part.drop_front();
    }
    layout.setOffsets(offsets);
    layout.setBytes(frame.size);
    SmallVector<int64_t> parts;
    for (const memory::FramePart &part : frame.parts)
      parts.push_back(part.begin);
    if (parts.size() > 1)
      layout.setParts(parts);
    else
      layout.removePartsAttr();
    if (hostFrame.size > 0)
      layout.setHostBytes(hostFrame.size);
  }
}

static void applyRoutines(ascend::ProgramOp program,
                          const memory::StepPlan &plan) {
  for (auto [routine, layout] : llvm::zip_first(
           program.getBody().getOps<ascend::RoutineOp>(), plan.routines))
    for (auto [alloc, place] : llvm::zip_equal(
             routine.getBody().getOps<ascend::AllocOp>(), layout.temporaries)) {
      bool inFrame = place.region == memory::TemporaryPlace::Region::Frame;
      alloc.setRegionAttr(ascend::RegionAttr::get(
          program.getContext(),
          inFrame ? ascend::Region::Frame : ascend::Region::Scratch));
      alloc.setOffset(place.offset);
    }
}

static void applyStep(ascend::ProgramOp program, const StageProblem &memory,
                      const memory::StepPlan &device,
                      const memory::StepPlan &host) {
  ascend::StepOp step = *program.getBody().getOps<ascend::StepOp>().begin();
  for (auto [call, task, bases, hostBases] :
       llvm::zip_first(step.getBody().getOps<ascend::CallOp>(),
                       memory.getDevice().tasks, device.tasks, host.tasks)) {
    if (!memory.getDevice().routines[task.routine].temporaries.empty())
      call.setScratchOffset(bases.scratchBase);
    if (!call.getFrame())
      continue;
    auto frame = call.getFrame().getDefiningOp<ascend::FrameOp>();
    frame.setOffsets(bases.frameBases);
    if (memory.hasHostFrame(task.routine))
      frame.setHostOffset(hostBases.frameBases.front());
  }
  auto messages = llvm::to_vector(step.getBody().getOps<ascend::MessageOp>());
  ArrayRef<int64_t> offsets = device.taskBufferOffsets;
  for (auto [number, offset] : llvm::zip_first(memory.getMessages(), offsets))
    messages[number].setOffset(offset);
  auto statics = llvm::to_vector(program.getBody().getOps<ascend::StaticOp>());
  for (auto [number, offset] :
       llvm::zip_equal(memory.getStepStatics(),
                       offsets.drop_front(memory.getMessages().size())))
    statics[number].setOffset(offset);
}

void mf::passes::applyPlan(ascend::ProgramOp program,
                           const StageProblem &memory,
                           const memory::StepPlan &device,
                           const memory::StepPlan &host) {
  applyStatics(program, memory, device, Space::Device);
  applyStatics(program, memory, host, Space::Host);
  applyLayouts(program, device, host);
  applyRoutines(program, device);
  applyStep(program, memory, device, host);
  program.setArenaBytes(device.arenaSize);
  program.setHostBytes(host.arenaSize);
  program.setMaxLiveBytes(device.bound.bytes);
}
