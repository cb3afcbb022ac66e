//===- ReduceInBackward.cpp - Gradients summed in backward ----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialects/mf/CollectiveUnit.h"
#include "dialects/mf/ParameterSharing.h"
#include "mlir/IR/Remarks.h"
#include "passes/Passes.h"
#include "passes/PrintedPlan.h"
#include "passes/config/TrainingCheck.h"
#include "passes/optimizer/ParameterReads.h"
#include "passes/optimizer/ReductionPlan.h"
#include "llvm/ADT/MapVector.h"

namespace mf::passes {
#define GEN_PASS_DEF_REDUCEINBACKWARD
#include "passes/Passes.h.inc"
} // namespace mf::passes

using namespace mlir;
using namespace mf::ir;
using namespace mf::passes;

static ReducedParameter describe(ParamOp param) {
  ReducedParameter described;
  described.name = param.getSymName();
  if (LayoutAttr layout = param.getLayoutAttr())
    described.summands = getGroupSize(param, layout.getReduced());
  described.isShared = param.getStored().has_value();
  described.scattersGradients = param.scattersGradients();
  described.isGatheredOnce = param.getGathered().has_value();
  return described;
}

/// Inserts a mirror after `read`, or after its cast, over the axes whose ranks
/// all receive the sum. The gather over the other axes exists already.
static void mirror(OpBuilder &builder, GetParamOp read, ParamOp param) {
  ArrayAttr axes = param.getReduction().sum;
  if (axes.empty() || read->use_empty())
    return;
  Value value = read.getResult();
  if (CastOp conversion = getConversion(read))
    value = conversion.getResult();
  builder.setInsertionPointAfterValue(value);
  auto op =
      MirrorOp::create(builder, value.getLoc(), value.getType(), value, axes);
  op.setCellName(getNameInLayer(read, "mirror"));
  op.setWideGradient(ParameterSharing::find(param).has_value());
  if (ParameterSharing::find(param))
    CollectiveUnit::setOn(op, getUnit(read));
  value.replaceAllUsesExcept(op.getResult(), op);
}

/// Emits one remark per place with the number of parameters whose gradients are
/// summed there.
static void emitRemarks(ModelOp model, ArrayRef<ReducedParameter> parameters,
                        ArrayRef<ReductionPlace> places) {
  llvm::MapVector<ReductionPlace, int64_t> counts;
  for (ReductionPlace place : places)
    if (place != ReductionPlace::Nowhere)
      ++counts[place];
  for (auto [place, count] : counts)
    remark::passed(model.getLoc(), remark::RemarkOpts::name("Reduction")
                                       .category("optimizer")
                                       .function(model.getSymName()))
        << remark::add("gradients are summed over ranks {0}", getName(place))
        << remark::metric("parameters", count);
}

namespace {

struct ReduceInBackwardPass
    : mf::passes::PrintingPass<
          mf::passes::impl::ReduceInBackwardBase<ReduceInBackwardPass>> {
  using PrintingPass::PrintingPass;

  void runOnOperation() override {
    ModelOp model = getOperation();
    if (failed(mf::passes::checkTraining(model)))
      return signalPassFailure();
    TrainingAttr training = model.getTrainingAttr();
    SmallVector<ParamOp> params;
    std::vector<ReducedParameter> parameters;
    for (auto param : model.getBody().getOps<ParamOp>())
      if (param.needsGradient() && !param.keepsLargest()) {
        params.push_back(param);
        parameters.push_back(describe(param));
      }
    ParallelAttr parallel = training.getParallel();
    std::vector<ReductionPlace> places =
        planReductions(parallel.getStages() * parallel.getMicroBatches() *
                           parallel.getSequencePieces(),
                       parameters);
    if (printPlan)
      printReductions(parameters, places, mf::passes::PrintedPlan(model).os());
    emitRemarks(model, parameters, places);
    for (auto [param, place] : llvm::zip_equal(params, places))
      if (place == ReductionPlace::Backward)
        param.setReducedInBackward(true);
    OpBuilder builder(&getContext());
    const SymbolTable symbols(model);
    model.walk([&](GetParamOp read) {
      auto param = symbols.lookup<ParamOp>(read.getParam());
      if (param && param.getReducedInBackward())
        mirror(builder, read, param);
    });
  }
};

} // namespace
