//===- FoldGradientScales.cpp - Gradients scaled where they are read ------===//
// SPDX-License-Identifier: Apache-2.0

#include "mlir/IR/Remarks.h"
#include "passes/Passes.h"
#include "passes/PrintedPlan.h"
#include "llvm/ADT/StringSet.h"

namespace mf::passes {
#define GEN_PASS_DEF_FOLDGRADIENTSCALES
#include "passes/Passes.h.inc"
} // namespace mf::passes

using namespace mlir;
using namespace mf::ir;
using namespace mf::passes;

namespace {

/// What becomes of an operator that multiplies gradients in place.
struct ScaleDecision {
  ScaleGradientsOp scale;
  /// The first operator that needs the product in memory. If there is one,
  /// `scale` stays.
  UpdateOpInterface obstacle;
  /// The operators that multiply by the factor themselves instead.
  SmallVector<GradientReaderOpInterface> readers;
};

} // namespace

/// Decides about `scale`. `later` are the operators that run after it, the last
/// one first. A reader of which only some gradients are scaled is an obstacle.
static ScaleDecision decide(ScaleGradientsOp scale,
                            ArrayRef<UpdateOpInterface> later) {
  ScaleDecision decision{scale, {}, {}};
  llvm::StringSet<> scaled;
  for (StringRef gradient : scale.getUsedGradients())
    scaled.insert(gradient);
  auto isScaled = [&](StringRef gradient) { return scaled.contains(gradient); };
  for (UpdateOpInterface op : llvm::reverse(later)) {
    const auto gradients = op.getUsedGradients();
    if (llvm::none_of(gradients, isScaled))
      continue;
    auto reader = dyn_cast<GradientReaderOpInterface>(op.getOperation());
    if (!reader || !llvm::all_of(gradients, isScaled))
      return {scale, op, {}};
    decision.readers.push_back(reader);
  }
  return decision;
}

/// Decides about all operators that scale, the last one first. The decisions
/// must be applied in that order, each factor in front of those that a reader
/// has already.
static SmallVector<ScaleDecision> decide(UpdateOp update) {
  SmallVector<ScaleDecision> decisions;
  SmallVector<UpdateOpInterface> later;
  SmallVector<UpdateOpInterface> operators(
      update.getBody().getOps<UpdateOpInterface>());
  // The loop goes backwards, because no scale can be moved past one that stays.
  for (UpdateOpInterface op : llvm::reverse(operators)) {
    if (auto scale = dyn_cast<ScaleGradientsOp>(op.getOperation())) {
      decisions.push_back(decide(scale, later));
      // A scale that is folded into its readers is no obstacle.
      if (!decisions.back().obstacle)
        continue;
    }
    later.push_back(op);
  }
  return decisions;
}

static void print(ArrayRef<ScaleDecision> decisions, raw_ostream &os) {
  for (ScaleDecision decision : decisions) {
    os << decision.scale->getName() << " of "
       << decision.scale.getUsedGradients().size() << " gradients: ";
    if (decision.obstacle)
      os << "in place, for " << decision.obstacle->getName() << '\n';
    else
      os << "in " << decision.readers.size() << " operators that read them\n";
  }
}

static void fold(ScaleDecision &decision) {
  for (GradientReaderOpInterface reader : decision.readers) {
    MutableOperandRange factors = reader.getFactorsMutable();
    SmallVector<Value> all = {decision.scale.getFactor()};
    for (OpOperand &factor : factors)
      all.push_back(factor.get());
    factors.assign(all);
  }
  decision.scale.erase();
}

/// Returns the bytes that `scale` reads and writes.
static int64_t getMovedBytes(mlir::SymbolTable &symbols,
                             ScaleGradientsOp scale) {
  int64_t bytes = 0;
  for (StringRef name : scale.getUsedGradients())
    if (auto param = symbols.lookup<ParamOp>(name))
      bytes += 2 * getTensorBytes(param.getStoredType());
  return bytes;
}

static remark::RemarkOpts getRemarkOptions(ModelOp model) {
  return remark::RemarkOpts::name("GradientScale")
      .category("optimizer")
      .function(model.getSymName());
}

static void foldIn(ModelOp model, mlir::SymbolTable &symbols, UpdateOp update,
                   bool printPlan) {
  SmallVector<ScaleDecision> decisions = decide(update);
  if (printPlan)
    print(decisions, mf::passes::PrintedPlan(update).os());
  int64_t folded = 0, bytes = 0;
  for (ScaleDecision &decision : decisions) {
    if (decision.obstacle) {
      remark::missed(decision.scale.getLoc(), getRemarkOptions(model))
          << remark::add(
                 "stage {0} multiplies gradients in place: {1} needs them so",
                 update.getStage(),
                 decision.obstacle->getName().getStringRef());
      continue;
    }
    ++folded;
    bytes += getMovedBytes(symbols, decision.scale);
    fold(decision);
  }
  if (folded == 0)
    return;
  remark::passed(update.getLoc(), getRemarkOptions(model))
      << remark::add("stage {0} multiplies gradients where they are read",
                     update.getStage())
      << remark::metric("factors", folded)
      << remark::metric("bytes not moved", bytes);
}

namespace {

struct FoldGradientScalesPass
    : mf::passes::PrintingPass<
          mf::passes::impl::FoldGradientScalesBase<FoldGradientScalesPass>> {
  using PrintingPass::PrintingPass;

  void runOnOperation() override {
    ModelOp model = getOperation();
    mlir::SymbolTable symbols(model);
    for (auto update : model.getBody().getOps<UpdateOp>())
      foldIn(model, symbols, update, printPlan);
  }
};

} // namespace
