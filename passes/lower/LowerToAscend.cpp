//===- LowerToAscend.cpp - Schedules to ascend programs -------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mlir/IR/Remarks.h"
#include "passes/Passes.h"
#include "passes/config/TrainingCheck.h"
#include "passes/lower/LowerFunctions.h"
#include "passes/lower/RoutineParts.h"
#include "passes/lower/StepBuilder.h"
#include "passes/schedule/VerifySchedules.h"

namespace mf::passes {
#define GEN_PASS_DEF_LOWERTOASCEND
#include "passes/Passes.h.inc"
} // namespace mf::passes

using namespace mlir;
using namespace mf;
using namespace mf::passes;

namespace {

/// Emits a remark on the contents of a stage's program.
void emitRemark(ascend::ProgramOp program) {
  Region &body = program.getBody();
  int64_t launches = 0;
  for (auto routine : body.getOps<ascend::RoutineOp>())
    launches += static_cast<int64_t>(
        llvm::range_size(routine.getBody().getOps<ascend::LaunchOp>()));
  int64_t bytes = 0;
  for (auto buffer : body.getOps<ascend::StaticOp>())
    if (auto type = cast<ascend::BufferType>(buffer.getType());
        type.getSpace() == ascend::Space::Hbm)
      bytes += type.getBytes();
  remark::passed(program.getLoc(),
                 remark::RemarkOpts::name("Program").category("lower").function(
                     program.getSymName()))
      << remark::add("stage {0} has a program", program.getStage())
      << remark::metric("routines",
                        llvm::range_size(body.getOps<ascend::RoutineOp>()))
      << remark::metric("launches", launches)
      << remark::metric("streams",
                        llvm::range_size(body.getOps<ascend::StreamOp>()))
      << remark::metric("static bytes", bytes);
}

LogicalResult lowerSchedule(ir::ModelOp model, SymbolTable &symbols,
                            ModelChunks &chunks, ir::ScheduleOp schedule,
                            int64_t inFlight, bool fusesAccumulation) {
  ProgramBuilder program(model, symbols, schedule, inFlight, fusesAccumulation);
  SmallVector<ChunkFunctions> here;
  SmallVector<ir::ForwardOp> firstVersions;
  auto add = [&](ArrayRef<ChunkFunctions> functions, bool isFirst) {
    for (auto [number, chunk] : llvm::enumerate(functions)) {
      if (!chunk.forward ||
          chunks.getStage(static_cast<int64_t>(number) %
                          chunks.pipeline.getNumChunks()) != program.getStage())
        continue;
      here.push_back(chunk);
      firstVersions.push_back(isFirst ? ir::ForwardOp()
                                      : chunks.chunks[number].forward);
    }
  };
  add(chunks.chunks, /*isFirst=*/true);
  add(chunks.keeping, /*isFirst=*/false);
  for (auto [chunk, first] : llvm::zip_equal(here, firstVersions)) {
    auto addsLoss =
        llvm::map_to_vector(chunk.forward.getOutputTypes(), ir::isLoss);
    if (failed(lowerForward(program, chunk, first, addsLoss)))
      return failure();
  }
  for (ChunkFunctions &chunk : here)
    if (chunk.recompute && failed(lowerRecompute(program, chunk)))
      return failure();
  for (ChunkFunctions &chunk : here)
    if (chunk.backward && failed(lowerBackward(program, chunk)))
      return failure();
  for (ChunkFunctions &chunk : here)
    if (chunk.weights && failed(lowerBackwardWeights(program, chunk)))
      return failure();
  for (auto update : model.getBody().getOps<ir::UpdateOp>())
    if (static_cast<int64_t>(update.getStage()) == program.getStage() &&
        failed(lowerUpdate(program, update)))
      return failure();
  cutPairedRoutines(program, schedule);
  return buildStep(program, schedule);
}

/// Gives the module a mesh of one rank per stage if it has none.
LogicalResult setMesh(ModuleOp module, ir::ModelOp model, int64_t stages) {
  ir::MeshAttr mesh = ir::MeshAttr::find(module);
  if (!mesh) {
    MLIRContext *context = module.getContext();
    module->setAttr(
        ir::MeshAttr::attributeName,
        ir::MeshAttr::get(context, StringAttr::get(context, "pp"), stages));
    return success();
  }
  if (mesh.getSize("pp") == stages)
    return success();
  return model.emitOpError("has ")
         << stages << " stages, but the module's mesh is " << mesh;
}

struct LowerToAscendPass
    : mf::passes::impl::LowerToAscendBase<LowerToAscendPass> {
  using LowerToAscendBase::LowerToAscendBase;

  void runOnOperation() override {
    for (ir::ModelOp model :
         llvm::make_early_inc_range(getOperation().getOps<ir::ModelOp>())) {
      if (failed(mf::passes::checkTraining(model)))
        return signalPassFailure();
      int64_t stages = model.getTrainingAttr().getParallel().getStages();
      FailureOr<ModelChunks> chunks = readChunks(model);
      if (failed(setMesh(getOperation(), model, stages)) || failed(chunks) ||
          failed(verifySchedules(model, *chunks)))
        return signalPassFailure();
      SymbolTable symbols(model);
      int64_t lowered = 0;
      for (auto schedule : model.getBody().getOps<ir::ScheduleOp>()) {
        if (failed(lowerSchedule(model, symbols, *chunks, schedule, inFlight,
                                 fuseAccumulation)))
          return signalPassFailure();
        ++lowered;
      }
      if (lowered != stages) {
        model.emitOpError("expected one schedule per stage, but has ")
            << lowered << " for " << stages << " stages";
        return signalPassFailure();
      }
      model.erase();
    }
    for (auto program : getOperation().getOps<ascend::ProgramOp>())
      emitRemark(program);
  }
};

} // namespace
