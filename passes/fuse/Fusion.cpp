//===- Fusion.cpp - Base of the fusion passes -----------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/fuse/Fusion.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "passes/PrintedPlan.h"

using namespace mlir;
using namespace mf;
using namespace mf::ir;

namespace mf::passes {

std::string getCellPrefix(StringRef name) {
  return name.take_front(name.rfind('.') + 1).str();
}

int64_t getBytes(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  return type.getNumElements() * type.getElementTypeBitWidth() / 8;
}

Value reshapeNamed(OpBuilder &builder, mlir::Location loc, StringRef name,
                   Value value, ArrayRef<int64_t> shape) {
  auto type = cast<RankedTensorType>(value.getType());
  if (type.getShape() == shape)
    return value;
  return createNamed<ReshapeOp>(builder, loc, name, type.clone(shape), value)
      .getResult();
}

FusionSite Fusion::getSite(Operation *root, StringRef name) {
  FusionSite site;
  if (auto layer = root->getParentOfType<LayerOp>())
    site.layer = layer.getSymName().str();
  site.name = name.str();
  return site;
}

FusionSwitch Fusion::getSwitch(FusionSwitch FusionConfig::*which) {
  TrainingAttr training = model.getTrainingAttr();
  if (!training)
    return {/*isOn=*/true, "", Location()};
  return getFusionConfig(training).*which;
}

void Fusion::warn(const FusionSwitch &asked, const FusionPlan &plan) {
  if (!asked.isOn || plan.getNumFused() > 0 || !asked.location.isKnown())
    return;
  DiagnosticList diagnostics;
  diagnostics.warning(
      asked.location,
      quote(asked.key) + " has no effect: " +
          (plan.sites.empty()
               ? "no layer has what becomes one " + what.str()
               : "only dense layers beside layers with experts have what "
                 "becomes one " +
                     what.str() + ", and these have no such form"));
  emitDiagnostics(model.getLoc(), diagnostics);
}

/// Erases `op` and its producers as long as they have no readers.
static void eraseUnread(Operation *op) {
  SetVector<Operation *> worklist;
  worklist.insert(op);
  while (!worklist.empty()) {
    Operation *next = worklist.pop_back_val();
    if (!isOpTriviallyDead(next))
      continue;
    for (Value operand : next->getOperands())
      if (Operation *producer = operand.getDefiningOp())
        worklist.insert(producer);
    next->erase();
  }
}

void Fusion::apply(const FusionPlan &plan) {
  for (auto [candidate, site] : llvm::zip_equal(candidates, plan.sites)) {
    if (!site.isFused)
      continue;
    OpBuilder builder(candidate.results.front().getDefiningOp());
    SmallVector<Value, 1> fused = candidate.build(builder);
    for (auto [before, after] : llvm::zip_equal(candidate.results, fused))
      before.replaceAllUsesWith(after);
    for (Value before : candidate.results)
      eraseUnread(before.getDefiningOp());
  }
}

void Fusion::run(FusionSwitch FusionConfig::*which) {
  FusionSwitch asked = getSwitch(which);
  std::vector<FusionSite> sites;
  for (const FusionCandidate &candidate : candidates)
    sites.push_back(candidate.site);
  FusionPlan plan = planFusion(std::move(sites), asked.isOn);
  if (printPlan)
    plan.print(what, PrintedPlan(model).os());
  warn(asked, plan);
  apply(plan);
  if (plan.getNumFused() == 0)
    return;
  remark::passed(model.getLoc(),
                 remark::RemarkOpts::name("Fusion").category("fuse").function(
                     model.getSymName()))
      << remark::add("{0} made of several operators", what)
      << remark::metric("fused", plan.getNumFused())
      << remark::metric("kernels saved", plan.getKernelsSaved())
      << remark::metric("bytes not kept", plan.getBytesSaved());
}

} // namespace mf::passes
