//===- OptimizerState.cpp - Per-parameter state of the optimizer ----------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialects/mf/OptimizerState.h"
#include "llvm/ADT/Sequence.h"

using namespace mlir;

namespace mf::ir {

SmallVector<int64_t> getStateDims(ParamOp param, State state) {
  const int64_t rank = param.getTensorType().getRank();
  int64_t left = rank;
  if (state == State::SquareRows || state == State::InstabilityRows)
    left = rank - 1;
  if (state == State::SquareColumns || state == State::InstabilityColumns)
    left = rank - 2;
  return llvm::to_vector(llvm::make_filter_range(
      llvm::seq<int64_t>(0, rank), [&](int64_t dim) { return dim != left; }));
}

RankedTensorType getStateType(ParamOp param, State state) {
  RankedTensorType stored = param.getStoredType();
  SmallVector<int64_t> dims = getStateDims(param, state);
  const bool isFactor = dims.size() < static_cast<size_t>(stored.getRank());
  switch (state) {
  case State::Parameter:
  case State::Gradient:
    return stored;
  case State::Accumulated:
    return param.getAccumulatedType();
  case State::Gathered:
    return param.getReadType();
  default:
    break;
  }
  if (isFactor && stored.getRank() < 2)
    return {};
  SmallVector<int64_t> shape;
  for (int64_t dim : dims)
    shape.push_back(stored.getDimSize(dim));
  // The states of Came have the type of the parameter, all others are in fp32.
  auto model = param->getParentOfType<ModelOp>();
  TrainingAttr training = model ? model.getTrainingAttr() : TrainingAttr();
  const bool isWide = !training || !training.getOptimizer().getCame();
  Type element =
      isWide ? Float32Type::get(param.getContext()) : stored.getElementType();
  return RankedTensorType::get(shape, element);
}

} // namespace mf::ir
