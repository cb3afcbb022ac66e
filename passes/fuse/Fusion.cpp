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

void FusionCandidate::setPlace(Operation *root, StringRef fused) {
  if (auto inLayer = root->getParentOfType<LayerOp>())
    layer = inLayer.getSymName().str();
  name = fused.str();
}

bool Fusion::isSelected(bool (FusionsAttr::*isSelected)() const) {
  TrainingAttr training = model.getTrainingAttr();
  if (!training)
    return true;
  FusionsAttr fusions = training.getFusions();
  return ((fusions ? fusions : FusionsAttr::get(model.getContext())).*
          isSelected)();
}

/// The place of a fusion's key has the name of the key.
void Fusion::warn(StringRef fusion) {
  TrainingAttr training = model.getTrainingAttr();
  auto key = training ? training.getLocation<NameLoc>(fusion) : NameLoc();
  if (!key)
    return;
  InFlightDiagnostic warning = emitWarning(key.getChildLoc());
  warning << "'" << key.getName().getValue() << "' has no effect: ";
  if (candidates.empty())
    warning << "no layer has what becomes one " << what;
  else
    warning << "only dense layers beside layers with experts have what "
               "becomes one "
            << what << ", and these have no such form";
}

void Fusion::print(bool isSelected) {
  PrintedPlan plan(model);
  plan.os() << what << ": "
            << llvm::count_if(candidates,
                              [&](const FusionCandidate &candidate) {
                                return candidate.isFused(isSelected);
                              })
            << " of " << candidates.size() << "\n";
  for (const FusionCandidate &candidate : candidates) {
    plan.os() << "  " << candidate.layer << " " << candidate.name << ": ";
    if (candidate.isFused(isSelected))
      plan.os() << candidate.kernelsAfter << " in place of "
                << candidate.kernelsBefore << " kernels, keeps "
                << candidate.keptAfter << " in place of "
                << candidate.keptBefore << " bytes\n";
    else if (candidate.isNever)
      plan.os() << "stays, a dense layer beside layers with experts\n";
    else
      plan.os() << "stays\n";
  }
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

void Fusion::run(StringRef fusion, bool (FusionsAttr::*isOn)() const) {
  const bool isAsked = isSelected(isOn);
  if (printPlan)
    print(isAsked);
  int64_t fused = 0, kernelsSaved = 0, bytesSaved = 0;
  for (const FusionCandidate &candidate : candidates) {
    if (!candidate.isFused(isAsked))
      continue;
    ++fused;
    kernelsSaved += candidate.kernelsBefore - candidate.kernelsAfter;
    bytesSaved += candidate.keptBefore - candidate.keptAfter;
    OpBuilder builder(candidate.results.front().getDefiningOp());
    SmallVector<Value, 1> values = candidate.build(builder);
    for (auto [before, after] : llvm::zip_equal(candidate.results, values))
      Value(before).replaceAllUsesWith(after);
    for (Value before : candidate.results)
      eraseUnread(before.getDefiningOp());
  }
  if (fused == 0) {
    if (isAsked)
      warn(fusion);
    return;
  }
  remark::passed(model.getLoc(),
                 remark::RemarkOpts::name("Fusion").category("fuse").function(
                     model.getSymName()))
      << remark::add("{0} made of several operators", what)
      << remark::metric("fused", fused)
      << remark::metric("kernels saved", kernelsSaved)
      << remark::metric("bytes not kept", bytesSaved);
}

} // namespace mf::passes
