//===- MfStepOps.cpp - Tasks of a schedule --------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialects/mf/MfOps.h"

using namespace mlir;
using namespace mf::ir;

/// Returns the function of kind `OpT` named `symbol`, or emits an error on
/// `user`.
template <typename OpT>
static OpT lookupFunction(Operation *user, SymbolTableCollection &symbols,
                          FlatSymbolRefAttr symbol) {
  auto function = symbols.lookupNearestSymbolFrom<OpT>(user, symbol);
  if (!function)
    user->emitOpError("expected an ")
        << OpT::getOperationName() << ", but got '" << symbol.getValue() << "'";
  return function;
}

//===----------------------------------------------------------------------===//
// Tasks
//===----------------------------------------------------------------------===//

static LogicalResult verifyRuns(Operation *op, StringRef name, int64_t runs) {
  if (runs >= 1)
    return success();
  return op->emitOpError("expected '")
         << name << "' to be at least 1, but got " << runs;
}

LogicalResult LoadOp::verify() {
  if (!llvm::is_contained(
          {InputKind::Tokens, InputKind::Labels, InputKind::Draw}, getInput()))
    return emitOpError("expected tokens, labels or a draw, but got ")
           << stringifyInputKind(getInput());
  return verifyRuns(*this, "ahead", static_cast<int64_t>(getAhead()));
}

LogicalResult ReceiveOp::verify() {
  return verifyRuns(*this, "ahead", static_cast<int64_t>(getAhead()));
}

LogicalResult SendOp::verify() {
  return verifyRuns(*this, "behind", static_cast<int64_t>(getBehind()));
}

/// Checks that the operands and results of a run are those of `function`.
static LogicalResult verifyTypes(Operation *run, FlatSymbolRefAttr function,
                                 TypeRange passed, TypeRange taken,
                                 const Twine &takenNote, TypeRange got,
                                 TypeRange returned, StringRef what) {
  if (passed != taken)
    return run->emitOpError("passes (")
           << passed << "), but '" << function.getValue() << "' takes ("
           << taken << ")" << takenNote;
  if (got != returned)
    return run->emitOpError("has ")
           << what << " (" << got << "), but '" << function.getValue()
           << "' returns (" << returned << ")";
  return success();
}

LogicalResult RunForwardOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto forward = lookupFunction<ForwardOp>(*this, symbols, getForwardAttr());
  if (!forward || failed(verifyTypes(
                      *this, getForwardAttr(), getInputs().getTypes(),
                      forward.getArgumentTypes(), "", getOutputs().getTypes(),
                      forward.getOutputTypes(), "outputs")))
    return failure();
  FlatSymbolRefAttr frame = cast<FrameType>(getFrame().getType()).getChunk();
  if (frame != getForwardAttr())
    return emitOpError("has a frame of '")
           << frame.getValue() << "', but runs '" << getForward() << "'";
  return success();
}

/// Checks that `frame` holds the values that a function of chunk `placement`
/// reads.
static LogicalResult verifyFrame(Operation *run, SymbolTableCollection &symbols,
                                 Value frame, PlacementAttr placement) {
  auto forward = lookupFunction<ForwardOp>(
      run, symbols, cast<FrameType>(frame.getType()).getChunk());
  if (!forward)
    return failure();
  if (forward.getPlacement() == placement)
    return success();
  return run->emitOpError("reads a frame of '")
         << forward.getSymName() << "', which is at " << forward.getPlacement()
         << " and not at " << placement;
}

LogicalResult RunBackwardOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto backward = lookupFunction<BackwardOp>(*this, symbols, getBackwardAttr());
  if (!backward ||
      failed(verifyTypes(*this, getBackwardAttr(), getArguments().getTypes(),
                         backward.getPassedTypes(), " before its residuals",
                         getInputGradients().getTypes(),
                         backward.getInputGradientTypes(), "input gradients")))
    return failure();
  return verifyFrame(*this, symbols, getFrame(), backward.getPlacement());
}

LogicalResult RunRecomputeOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto recompute =
      lookupFunction<RecomputeOp>(*this, symbols, getRecomputeAttr());
  if (!recompute ||
      failed(verifyTypes(*this, getRecomputeAttr(), getArguments().getTypes(),
                         recompute.getPassedTypes(), " before its residuals",
                         {}, {}, "results")))
    return failure();
  return verifyFrame(*this, symbols, getFrame(), recompute.getPlacement());
}

LogicalResult
RunBackwardWeightsOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto weights =
      lookupFunction<BackwardWeightsOp>(*this, symbols, getWeightsAttr());
  if (!weights ||
      failed(verifyTypes(*this, getWeightsAttr(), getArguments().getTypes(),
                         weights.getPassedTypes(), " before its residuals", {},
                         {}, "results")))
    return failure();
  return verifyFrame(*this, symbols, getFrame(), weights.getPlacement());
}

LogicalResult AccumulateLossOp::verify() {
  auto type = cast<RankedTensorType>(getLoss().getType());
  if (type.getRank() != 0 || !type.getElementType().isF32())
    return emitOpError("expected a scalar in fp32, but got ") << type;
  return success();
}

LogicalResult LossGradientOp::verify() {
  auto scalar = RankedTensorType::get({}, Float32Type::get(getContext()));
  if (getScaled() && getType() != scalar)
    return emitOpError("expected ")
           << scalar << " for a scaled gradient, but got " << getType();
  return success();
}

LogicalResult RunUpdateOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return success(static_cast<bool>(
      lookupFunction<UpdateOp>(*this, symbols, getUpdateAttr())));
}
