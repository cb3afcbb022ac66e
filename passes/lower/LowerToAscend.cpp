//===- LowerToAscend.cpp - Schedules to ascend programs -------------------===//

#include "mlir/IR/Remarks.h"
#include "passes/Passes.h"
#include "passes/lower/LowerFunctions.h"
#include "passes/lower/StepBuilder.h"
#include "llvm/ADT/MapVector.h"

namespace mf::passes {
#define GEN_PASS_DEF_LOWERTOASCEND
#include "passes/Passes.h.inc"
} // namespace mf::passes

using namespace mlir;
using namespace mf;
using namespace mf::passes;

namespace {

/// The outputs of forward functions that a step's loss is made of, by the
/// function's name and the output's number.
using LossOutputs = DenseSet<std::pair<StringAttr, unsigned>>;

LossOutputs findLosses(ir::ScheduleOp schedule) {
  LossOutputs outputs;
  for (auto add : schedule.getBody().getOps<ir::AccumulateLossOp>())
    if (auto run = add.getLoss().getDefiningOp<ir::RunForwardOp>())
      outputs.insert({run.getForwardAttr().getAttr(),
                      cast<OpResult>(add.getLoss()).getResultNumber()});
  return outputs;
}

/// The functions of the chunks on `stage`, in the order in which they stand.
FailureOr<SmallVector<ChunkFunctions>> findFunctions(ir::ModelOp model,
                                                     int64_t stage) {
  llvm::MapVector<Attribute, ChunkFunctions> chunks;
  for (auto forward : model.getBody().getOps<ir::ForwardOp>())
    if (forward.getPlacement().getStage() == stage)
      chunks[forward.getPlacementAttr()].forward = forward;
  auto find = [&](auto function) -> ChunkFunctions * {
    auto found = chunks.find(function.getPlacementAttr());
    if (found != chunks.end())
      return &found->second;
    function.emitOpError("has no forward function at its placement");
    return nullptr;
  };
  for (Operation &op : model.getBody().front()) {
    if (auto backward = dyn_cast<ir::BackwardOp>(op);
        backward && backward.getPlacement().getStage() == stage) {
      ChunkFunctions *chunk = find(backward);
      if (!chunk)
        return failure();
      chunk->backward = backward;
    }
    if (auto weights = dyn_cast<ir::BackwardWeightsOp>(op);
        weights && weights.getPlacement().getStage() == stage) {
      ChunkFunctions *chunk = find(weights);
      if (!chunk)
        return failure();
      chunk->weights = weights;
    }
  }
  return llvm::map_to_vector(chunks,
                             [](const auto &entry) { return entry.second; });
}

/// Says what a stage's program consists of.
void emitRemark(ascend::ProgramOp program) {
  Region &body = program.getBody();
  int64_t launches = 0;
  for (auto routine : body.getOps<ascend::RoutineOp>())
    launches += llvm::range_size(routine.getBody().getOps<ascend::LaunchOp>());
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
                            ir::ScheduleOp schedule) {
  ProgramBuilder program(model, symbols, schedule);
  LossOutputs losses = findLosses(schedule);
  FailureOr<SmallVector<ChunkFunctions>> chunks =
      findFunctions(model, program.getStage());
  if (failed(chunks))
    return failure();
  for (ChunkFunctions &chunk : *chunks) {
    SmallVector<bool> addsLoss;
    for (unsigned i = 0; i < chunk.forward.getOutputs(); ++i)
      addsLoss.push_back(losses.contains({chunk.forward.getSymNameAttr(), i}));
    if (failed(lowerForward(program, chunk, addsLoss)))
      return failure();
  }
  for (ChunkFunctions &chunk : *chunks)
    if (chunk.backward && failed(lowerBackward(program, chunk)))
      return failure();
  for (ChunkFunctions &chunk : *chunks)
    if (chunk.weights && failed(lowerBackwardWeights(program, chunk)))
      return failure();
  for (auto update : model.getBody().getOps<ir::UpdateOp>())
    if (static_cast<int64_t>(update.getStage()) == program.getStage() &&
        failed(lowerUpdate(program, update)))
      return failure();
  return StepBuilder(program, schedule).build();
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
  void runOnOperation() override {
    for (ir::ModelOp model :
         llvm::make_early_inc_range(getOperation().getOps<ir::ModelOp>())) {
      if (!model.getTraining()) {
        model.emitOpError("has no training configuration; run mf-read-config "
                          "first");
        return signalPassFailure();
      }
      int64_t stages = model.getTrainingAttr().getParallel().getStages();
      if (failed(setMesh(getOperation(), model, stages)))
        return signalPassFailure();
      SymbolTable symbols(model);
      int64_t lowered = 0;
      for (auto schedule : model.getBody().getOps<ir::ScheduleOp>()) {
        if (failed(lowerSchedule(model, symbols, schedule)))
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
