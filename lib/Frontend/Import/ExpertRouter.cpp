//===- ExpertRouter.cpp - Choice of experts for tokens --------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "ExpertLayer.h"

using namespace mlir;
using namespace mf::ir;

namespace mf {

Value divideBySum(CellBuilder &cells, const RouterNames &names, Value values) {
  SmallVector<int64_t> shape(getShape(values));
  int64_t last = static_cast<int64_t>(shape.size()) - 1;
  shape.back() = 1;
  Value sum = cells.reduceSum(values, {last}, names.sum);
  sum = cells.reshape(sum, shape, names.sum);
  sum = cells.addScalar(sum, cells.spec.experts->router.epsilon,
                        names.addEpsilon);
  return cells.create<DivOp>(names.divide, values, sum).getResult();
}

namespace {

class RouterBuilder {
public:
  RouterBuilder(CellBuilder &cells, const RouterNames &names)
      : cells(cells), names(names), experts(*cells.spec.experts),
        router(experts.router) {}

  Choice build(Value tokens, Value byToken) {
    Value products = addProducts(tokens);
    Value scores = addScores(products);
    if (byToken) {
      take(scores, byToken);
    } else {
      choose(scores);
      choice.gates = normalize(choice.gates);
    }
    const bool hasLoss = hasExpertLoss(cells.spec);
    Value shares, lossScores;
    if (!router.losses.empty() || router.recordsLoad) {
      lossScores = getLossScores(scores);
      Value counted = choice.experts;
      if (router.lossesCountScores && (router.bias || router.groups || byToken))
        counted =
            cells.create<TopKOp>(names.choose, lossScores, router.numChosen)
                .getIndices();
      shares = addShares(cells, names, counted);
    }
    if (hasLoss)
      choice.loss = addRouterLoss(cells, names, products, lossScores, shares);
    addStatistics(shares);
    return choice;
  }

private:
  Value addProducts(Value tokens) {
    Value weight;
    {
      CellBuilder::Cell cell(cells, cells.getCell(ParameterPart::Router));
      weight = cells.addParameter(
          "weight", {experts.numExperts, cells.spec.hiddenSize},
          router.weightType,
          cells.getInit(InitKind::Normal, router.initializerRange), {});
    }
    weight = cells.cast(weight, router.type, names.cast);
    tokens = cells.cast(tokens, router.type, names.cast);
    return cells.create<MatmulOp>(names.product, tokens, weight, false, true)
        .getResult();
  }

  Value addScores(Value products) {
    Type type = products.getType();
    switch (router.score) {
    case RouterScore::Softmax:
      return cells.create<SoftmaxOp>(names.activation, type, products)
          .getResult();
    case RouterScore::Sigmoid:
      return cells.create<SigmoidOp>(names.activation, type, products)
          .getResult();
    case RouterScore::SqrtSoftplus:
      return cells.create<SqrtSoftplusOp>(names.activation, type, products)
          .getResult();
    }
    llvm_unreachable("unknown score");
  }

  /// The bias affects the choice of experts but not the gates. It is a
  /// statistic, so gradients do not change it.
  Value addBias(Value scores) {
    if (!router.bias)
      return scores;
    bias = cells.addLoadBias(cells.getCell(ParameterPart::RouterBias),
                             experts.numExperts, *router.bias);
    Value value = cells.cast(bias, router.type, names.cast);
    return cells.add(scores, value, names.addBias);
  }

  /// Scores in the groups that a token may use, 0 or a score below all in
  /// others.
  Value limitToGroups(Value scores) {
    if (!router.groups)
      return scores;
    const RoutingGroups &groups = *router.groups;
    SmallVector<int64_t> flat(getShape(scores));
    int64_t rows = flat[0], length = flat[1];
    StringRef reshape = names.maskGroups;
    Value grouped = cells.reshape(
        scores, {rows, length, groups.num, experts.numExperts / groups.num},
        reshape);
    Value best =
        cells.create<TopKOp>(names.chooseGroups, grouped, groups.numSummed)
            .getValues();
    Value mask = findGroups(cells.reduceSum(best, {3}, names.sumGroup));
    mask = cells.reshape(mask, {rows, length, groups.num, 1}, reshape);
    if (!groups.neverTakesOthers)
      return cells.reshape(cells.multiply(grouped, mask, names.maskGroups),
                           flat, reshape);
    // Below all scores, and in the range of every type.
    constexpr double below = 3e4;
    Value others = cells.addScalar(mask, -1.0, names.maskGroups);
    others = cells.scale(others, below, names.maskGroups);
    return cells.reshape(cells.add(grouped, others, names.maskGroups), flat,
                         reshape);
  }

  /// Returns 1 for the groups [rows, tokens, groups] that a token may use, else
  /// 0.
  Value findGroups(Value groupScores) {
    const RoutingGroups &groups = *router.groups;
    auto best =
        cells.create<TopKOp>(names.chooseGroups, groupScores, groups.numKept);
    if (groups.keepsTies) {
      Value last = cells.sliceLast(best.getValues(), groups.numKept - 1, 1,
                                   names.chooseGroups);
      return cells
          .create<AtLeastOp>(names.compareGroups, groupScores.getType(),
                             groupScores, last, StringAttr(),
                             RecomputeKindAttr(), SwapAttr())
          .getResult();
    }
    Value places = cells
                       .create<OneHotOp>(names.compareGroups, best.getIndices(),
                                         groups.num)
                       .getResult();
    places = cells.cast(places, router.type, names.cast);
    return cells.reduceSum(places, {2}, names.compareGroups);
  }

  /// The gate is the score without the bias.
  void choose(Value scores) {
    Value deciding = limitToGroups(addBias(scores));
    auto best = cells.create<TopKOp>(bias ? names.chooseBiased : names.choose,
                                     deciding, router.numChosen);
    choice.experts = best.getIndices();
    choice.gates = best.getValues();
    if (bias)
      choice.gates = cells
                         .create<GatherElementsOp>(names.gatherGate, scores,
                                                   choice.experts)
                         .getResult();
  }

  /// The choice does not depend on the bias, whose load is counted
  /// nevertheless.
  void take(Value scores, Value chosen) {
    if (router.bias)
      bias = cells.addLoadBias(cells.getCell(ParameterPart::RouterBias),
                               experts.numExperts, *router.bias);
    choice.experts = chosen;
    choice.gates =
        cells.create<GatherElementsOp>(names.gatherGate, scores, chosen)
            .getResult();
    if (router.score != RouterScore::Softmax)
      choice.gates = divideBySum(cells, names, choice.gates);
    if (router.scale != 1.0)
      choice.gates = cells.scale(choice.gates, router.scale, names.scale);
  }

  Value normalize(Value gates) {
    if (router.normalizes && !router.normalizesKept)
      gates = divideBySum(cells, names, gates);
    return router.scale == 1.0 ? gates
                               : cells.scale(gates, router.scale, names.scale);
  }

  Value getLossScores(Value scores) {
    return router.score == RouterScore::Softmax
               ? scores
               : divideBySum(cells, names, scores);
  }

  /// Hands the statistics for the step's end to the parameters that keep them.
  void addStatistics(Value shares) {
    if (bias && router.bias->isUpdated) {
      // Each piece of a sequence counts as much as a whole one.
      int64_t choices =
          experts.numRows / experts.numPieces * experts.getNumChoices();
      choice.gates = cells
                         .create<TrackLoadOp>(
                             names.addBias, choice.gates.getType(),
                             choice.gates, bias, choice.experts, choices,
                             StringAttr(), RecomputeKindAttr(), SwapAttr())
                         .getResult();
    }
    if (!router.recordsLoad)
      return;
    // With a bias, the recorded shares differ from those of the choices.
    std::optional<double> capacityShare;
    if (experts.capacity && !router.bias)
      capacityShare = static_cast<double>(experts.capacity->places) /
                      static_cast<double>(experts.getNumChoices());
    Value statistic =
        cells.addLoadRecord(names.shares, getShape(shares), capacityShare);
    choice.gates =
        cells
            .create<RecordOp>(names.meanShares, choice.gates.getType(),
                              choice.gates, statistic, shares, StringAttr(),
                              RecomputeKindAttr(), SwapAttr())
            .getResult();
  }

  CellBuilder &cells;
  const RouterNames &names;
  const ExpertSpec &experts;
  const RouterSpec &router;
  Value bias;
  Choice choice;
};

} // namespace

Choice addRouter(CellBuilder &cells, const RouterNames &names, Value tokens,
                 Value byToken) {
  return RouterBuilder(cells, names).build(tokens, byToken);
}

} // namespace mf
