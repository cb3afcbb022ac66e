//===- FoldGradientScales.cpp - Gradients scaled where they are read ------===//
// SPDX-License-Identifier: Apache-2.0

#include "mlir/IR/Remarks.h"
#include "passes/Passes.h"
#include "passes/PrintedPlan.h"
#include "passes/optimizer/ScalePlan.h"

namespace mf::passes {
#define GEN_PASS_DEF_FOLDGRADIENTSCALES
#include "passes/Passes.h.inc"
} // namespace mf::passes

using namespace mlir;
using namespace mf::ir;
using namespace mf::passes;

static GradientUser describe(UpdateOpInterface op) {
  GradientUser user;
  user.name = op->getName().getStringRef();
  if (isa<ScaleGradientsOp>(op))
    user.kind = GradientUser::Kind::Scales;
  else if (isa<GradientReaderOpInterface>(op.getOperation()))
    user.kind = GradientUser::Kind::Reads;
  for (StringRef gradient : op.getUsedGradients())
    user.gradients.push_back(gradient.str());
  return user;
}

static void fold(ScaleGradientsOp scale, ArrayRef<size_t> readers,
                 MutableArrayRef<UpdateOpInterface> operators) {
  for (size_t index : readers) {
    MutableOperandRange factors =
        cast<GradientReaderOpInterface>(operators[index].getOperation())
            .getFactorsMutable();
    SmallVector<Value> all = {scale.getFactor()};
    for (OpOperand &factor : factors)
      all.push_back(factor.get());
    factors.assign(all);
  }
  scale.erase();
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
  SmallVector<UpdateOpInterface> operators;
  std::vector<GradientUser> users;
  for (auto op : update.getBody().getOps<UpdateOpInterface>()) {
    operators.push_back(op);
    users.push_back(describe(op));
  }
  std::vector<ScaleDecision> decisions = planScales(users);
  if (printPlan)
    printScales(users, decisions, mf::passes::PrintedPlan(update).os());
  int64_t folded = 0, bytes = 0;
  for (const ScaleDecision &decision : decisions) {
    auto scale =
        cast<ScaleGradientsOp>(operators[decision.scale].getOperation());
    if (decision.obstacle) {
      remark::missed(scale.getLoc(), getRemarkOptions(model)) << remark::add(
          "stage {0} multiplies gradients in place: {1} needs them so",
          update.getStage(), users[*decision.obstacle].name);
      continue;
    }
    ++folded;
    bytes += getMovedBytes(symbols, scale);
    fold(scale, decision.readers, operators);
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
