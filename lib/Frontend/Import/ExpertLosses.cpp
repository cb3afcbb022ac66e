//===- ExpertLosses.cpp - Losses of routers -------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "ExpertLayer.h"

using namespace mlir;
using namespace mf::ir;

namespace mf {

/// Returns the mean over a dimension, which is removed.
static Value addMean(CellBuilder &cells, Value value, int64_t axis,
                     StringRef leaf) {
  double size = static_cast<double>(getShape(value)[static_cast<size_t>(axis)]);
  return cells.scale(cells.reduceSum(value, {axis}, leaf), 1.0 / size, leaf);
}

/// Returns the shape of values of a router's rows, [rows, `perToken` * tokens,
/// ...], or [rows, pieces, `perToken` * tokens of a piece, ...] if the losses
/// have rows of their own. Each rank then keeps the pieces of its rows.
static SmallVector<int64_t> getLossShape(const ExpertSpec &experts,
                                         int64_t perToken) {
  SmallVector<int64_t> shape = {experts.numRows};
  if (experts.lossRowLength != experts.rowLength)
    shape.push_back(experts.rowLength / experts.lossRowLength);
  shape.push_back(perToken * experts.lossRowLength);
  return shape;
}

Value addShares(CellBuilder &cells, const RouterNames &names, Value chosen) {
  const ExpertSpec &experts = *cells.spec.experts;
  const auto shape = getLossShape(experts, experts.router.numChosen);
  Value places = cells.reshape(chosen, shape, names.oneHot);
  places = cells.create<OneHotOp>(names.oneHot, places, experts.numExperts)
               .getResult();
  return addMean(cells, places, static_cast<int64_t>(shape.size()) - 1,
                 names.meanShares);
}

/// Returns the mean over each group of adjacent experts: [rows, groups]. Rows
/// in pieces have a group for each expert.
static Value meanOverGroups(CellBuilder &cells, Value value, int64_t groups,
                            StringRef leaf) {
  ArrayRef<int64_t> shape = getShape(value);
  if (shape.back() == groups)
    return value;
  value = cells.reshape(value, {shape[0], groups, shape[1] / groups}, leaf);
  return addMean(cells, value, 2, leaf);
}

static Value addAuxiliaryLoss(CellBuilder &cells, const RouterNames &names,
                              const AuxiliaryLoss &loss, Value scores,
                              Value shares) {
  const ExpertSpec &experts = *cells.spec.experts;
  const int64_t groups = loss.numGroups, rows = experts.getNumLossRows();
  scores = meanOverGroups(cells, scores, groups, names.meanScores);
  shares = meanOverGroups(cells, shares, groups, names.meanShares);
  if (int64_t neighbours = loss.numSharedRows; neighbours > 1) {
    SmallVector<int64_t> together = {rows / neighbours, neighbours, groups};
    scores = cells.reshape(scores, together, names.meanScores);
    shares = cells.reshape(shares, together, names.meanShares);
    shares = addMean(cells, shares, 1, names.meanShares);
    together[1] = 1;
    shares = cells.reshape(shares, together, names.meanShares);
  }
  Value products = cells.multiply(scores, shares, names.lossProduct);
  auto axes = llvm::to_vector(
      llvm::seq<int64_t>(0, static_cast<int64_t>(getShape(products).size())));
  Value sum = cells.reduceSum(products, axes, names.lossMean);
  auto size = static_cast<double>(experts.numExperts);
  double mean = static_cast<double>(rows) * static_cast<double>(groups);
  return cells.scale(sum, loss.factor * size * size / mean, names.lossFactor);
}

/// Returns the mean square of ln(sum of exp(product)). The maximum is not
/// subtracted first.
static Value addZLoss(CellBuilder &cells, Value products) {
  const ExpertSpec &experts = *cells.spec.experts;
  CellBuilder::Cell cell(cells, "router.router.z_loss_func");
  Value value = cells.cast(products, DType::F32, "cast");
  value = cells.create<ExpOp>("exp", value.getType(), value).getResult();
  value = cells.reduceSum(value, {2}, "sum_ops");
  value = cells.create<LogOp>("ln", value.getType(), value).getResult();
  value = cells.multiply(value, value, "square");
  value = cells.reduceSum(value, {0, 1}, "mean_ops");
  double tokens = static_cast<double>(experts.numRows) *
                  static_cast<double>(experts.rowLength);
  return cells.scale(value, experts.router.zLossFactor / tokens, "mul");
}

Value addRouterLoss(CellBuilder &cells, const RouterNames &names,
                    Value products, Value scores, Value shares) {
  const ExpertSpec &experts = *cells.spec.experts;
  const RouterSpec &router = experts.router;
  Value sum;
  auto add = [&](Value loss) {
    sum = sum ? cells.add(sum, loss, names.addLoss) : loss;
  };
  if (!router.losses.empty()) {
    auto shape = getLossShape(experts, /*perToken=*/1);
    const int64_t tokens = static_cast<int64_t>(shape.size()) - 1;
    shape.push_back(experts.numExperts);
    if (getShape(scores) != ArrayRef(shape))
      scores = cells.reshape(scores, shape, names.meanScores);
    scores = addMean(cells, scores, tokens, names.meanScores);
    scores = cells.cast(scores, DType::F32, names.cast);
    for (const AuxiliaryLoss &loss : router.losses)
      add(addAuxiliaryLoss(cells, names, loss, scores, shares));
  }
  if (router.zLossFactor != 0.0)
    add(addZLoss(cells, products));
  return sum;
}

} // namespace mf
