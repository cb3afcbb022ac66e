//===- MfLogitClipOps.cpp - Scaling down weights with large logits --------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialects/mf/MfOps.h"

using namespace mlir;
using namespace mf::ir;

//===----------------------------------------------------------------------===//
// LogitFactorsOp
//===----------------------------------------------------------------------===//

LogicalResult LogitFactorsOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto param =
      symbols.lookupNearestSymbolFrom<ParamOp>(*this, getLargestAttr());
  if (!param || !param.keepsLargest())
    return emitOpError("expected a parameter with update_rule = "
                       "#mf.update_rule<largest>, but got '")
           << getLargest() << "'";
  int64_t rows = 0;
  for (auto size : getSizes().getAsRange<IntegerAttr>())
    rows += size.getInt();
  rows = rows * param.getStoredType().getNumElements() +
         static_cast<int64_t>(getRest());
  auto expected = RankedTensorType::get({rows}, Float32Type::get(getContext()));
  if (getSizes().size() == getRoots().size() && getType() == expected)
    return success();
  return emitOpError("expected a result of type ")
         << expected << " and as many roots as parts, but got " << getType()
         << " and " << getRoots();
}

void LogitFactorsOp::emitLaunches(LaunchEmitter &emitter) {
  NamedAttrList attributes;
  attributes.set("threshold", getThresholdAttr());
  attributes.set("sizes", getSizesAttr());
  attributes.set("roots", getRootsAttr());
  attributes.set("rest", getRestAttr());
  emitter.launch("mfLogitFactors",
                 {emitter.getState(State::Gradient, getLargest()),
                  emitter.getBuffer(getOverflow())},
                 emitter.createBuffer(getResult()),
                 attributes.getDictionary(getContext()));
}

//===----------------------------------------------------------------------===//
// ScaleRowsOp
//===----------------------------------------------------------------------===//

LogicalResult ScaleRowsOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto param = symbols.lookupNearestSymbolFrom<ParamOp>(*this, getParamAttr());
  auto type = cast<RankedTensorType>(getFactors().getType());
  if (param && param.getStoredType().getRank() == 2 &&
      type.getElementType().isF32() &&
      type.getShape() == param.getStoredType().getShape().take_front())
    return success();
  return emitOpError("expected a parameter that is a matrix, and a factor in "
                     "fp32 for each of its rows, but got '")
         << getParam() << "' and " << type;
}

void ScaleRowsOp::emitLaunches(LaunchEmitter &emitter) {
  emitter.launch("mfScaleRows", emitter.getBuffer(getFactors()),
                 emitter.getState(State::Parameter, getParam()));
}
