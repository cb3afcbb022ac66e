//===- ReduceInBackward.cpp - Gradients summed in backward ----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialects/mf/DiscardableAttributes.h"
#include "mlir/IR/Remarks.h"
#include "passes/Passes.h"
#include "passes/PrintedPlan.h"
#include "passes/optimizer/ParameterReads.h"
#include "llvm/ADT/MapVector.h"

namespace mf::passes {
#define GEN_PASS_DEF_REDUCEINBACKWARD
#include "passes/Passes.h.inc"
} // namespace mf::passes

using namespace mlir;
using namespace mf::ir;
using namespace mf::passes;

namespace {

/// Where in a step the ranks' summands of a parameter's gradient are summed.
enum class ReductionPlace {
  /// No ranks hold summands.
  Nowhere,
  /// The gradient is summed where backward computes it.
  Backward,
  /// The gradient is reduce-scattered where a micro-batch's backward computes
  /// it. Summands along other axes are summed at the end of the step.
  MicroBatch,
  /// The gradient is summed at the end of the step.
  Step
};

} // namespace

static StringRef describe(ReductionPlace place) {
  static constexpr StringLiteral names[] = {
      "nowhere", "in backward", "by micro-batch", "at the step's end"};
  return names[static_cast<size_t>(place)];
}

/// Returns the number of ranks that hold summands of a parameter's gradient; 1
/// if each holds the whole.
static int64_t getSummands(ParamOp param) {
  LayoutAttr layout = param.getLayoutAttr();
  return layout ? getGroupSize(param, layout.getReduced()) : 1;
}

/// Returns where the gradient of `param` is summed. If the step has only `runs`
/// = 1 backward, the gradient is complete where that computes it, and the whole
/// gradient need not be kept. Otherwise it is accumulated over micro-batches
/// first.
static ReductionPlace placeReduction(int64_t runs, ParamOp param) {
  if (getSummands(param) == 1 && !param.getStored())
    return ReductionPlace::Nowhere;
  if (runs == 1 && !param.getGathered())
    return ReductionPlace::Backward;
  return param.scattersGradients() ? ReductionPlace::MicroBatch
                                   : ReductionPlace::Step;
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
static void emitRemarks(ModelOp model, ArrayRef<ReductionPlace> places) {
  llvm::MapVector<ReductionPlace, int64_t> counts;
  for (ReductionPlace place : places)
    if (place != ReductionPlace::Nowhere)
      ++counts[place];
  for (auto [place, count] : counts)
    remark::passed(model.getLoc(), remark::RemarkOpts::name("Reduction")
                                       .category("optimizer")
                                       .function(model.getSymName()))
        << remark::add("gradients are summed over ranks {0}", describe(place))
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
    ParallelAttr parallel = training.getParallel();
    const int64_t runs = parallel.getStages() * parallel.getMicroBatches() *
                         parallel.getSequencePieces();
    SmallVector<ReductionPlace> places;
    {
      mf::passes::PrintedPlan plan(model);
      for (auto param : model.getBody().getOps<ParamOp>()) {
        if (!param.needsGradient() || param.keepsLargest())
          continue;
        places.push_back(placeReduction(runs, param));
        if (places.back() == ReductionPlace::Backward)
          param.setReducedInBackward(true);
        const int64_t summands = getSummands(param);
        if (printPlan)
          plan.os() << param.getSymName() << ": gradient of " << summands
                    << (summands == 1 ? " rank" : " ranks") << " summed "
                    << describe(places.back()) << '\n';
      }
    }
    emitRemarks(model, places);
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
