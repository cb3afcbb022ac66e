//===- MfStepOps.cpp - Schedules and the optimizer ------------------------===//

#include "dialects/mf/MfOps.h"

using namespace mlir;
using namespace mf::ir;

/// The function of kind `OpT` named `symbol`, or an error on `user`.
template <typename OpT>
static OpT lookupFunction(Operation *user, SymbolTableCollection &symbols,
                          FlatSymbolRefAttr symbol) {
  auto function = symbols.lookupNearestSymbolFrom<OpT>(user, symbol);
  if (!function)
    user->emitOpError("expected an ")
        << OpT::getOperationName() << ", but got '" << symbol.getValue() << "'";
  return function;
}

LogicalResult RunForwardOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto forward = lookupFunction<ForwardOp>(*this, symbols, getForwardAttr());
  if (!forward)
    return failure();
  if (TypeRange(getInputs()) != TypeRange(forward.getArgumentTypes()))
    return emitOpError("passes (")
           << getInputs().getTypes() << "), but '" << getForward()
           << "' takes (" << forward.getArgumentTypes() << ")";
  if (getOutput().getType() != forward.getResultTypes().front())
    return emitOpError("has output ")
           << getOutput().getType() << ", but '" << getForward() << "' returns "
           << forward.getResultTypes().front();
  return success();
}

LogicalResult RunBackwardOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto backward = lookupFunction<BackwardOp>(*this, symbols, getBackwardAttr());
  if (!backward)
    return failure();
  SmallVector<Type> passed = {getOutputGradient().getType()};
  llvm::append_range(passed, getInputs().getTypes());
  ArrayRef<Type> expected = backward.getArgumentTypes().take_front(
      1 + backward.getForwardArguments().size());
  if (ArrayRef<Type>(passed) != expected)
    return emitOpError("passes (")
           << TypeRange(passed) << "), but '" << getBackward() << "' takes ("
           << TypeRange(expected) << ") before its residuals";
  bool hasInputGradient =
      backward.getResultTypes().size() > backward.getGradients().size();
  if (hasInputGradient != static_cast<bool>(getInputGradient()))
    return emitOpError("expected ")
           << (hasInputGradient ? "an" : "no") << " input gradient";
  return success();
}

LogicalResult RunUpdateOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return success(static_cast<bool>(
      lookupFunction<UpdateOp>(*this, symbols, getUpdateAttr())));
}
