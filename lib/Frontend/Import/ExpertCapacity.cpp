//===- ExpertCapacity.cpp - Experts with a limited number of places -------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// MoEV2 with TopkRouterV2: each expert has `capacity` places in each row, and
// choices without a free place are dropped. Places are computed in fp32, which
// is exact for them.
//
//===----------------------------------------------------------------------===//

#include "ExpertLayer.h"

using namespace mlir;
using namespace mf::ir;

namespace mf {

namespace {

/// The place of each choice and the token of each place.
struct Places {
  Value dispatch; ///< [rows, experts * capacity]: 1 + token, or 0 for an empty
                  ///< place
  Value combine;  ///< [rows, tokens * k], of (capacity + 1) places per expert
  Value kept;     ///< [rows, tokens, k]: 1 or 0
};

class PlaceBuilder {
public:
  explicit PlaceBuilder(CellBuilder &cells)
      : cells(cells), experts(*cells.spec.experts),
        byToken(experts.capacity->byToken), capacity(experts.capacity->places),
        rows(experts.numRows), tokens(experts.rowLength),
        numChosen(experts.router.numChosen),
        numChoices(experts.getNumChoices()) {}

  Places build(Value chosen) {
    Value flat = flatten(chosen);
    Value mask = cells.create<OneHotOp>("onehot_2d", flat, experts.numExperts)
                     .getResult();
    Value places = numberWithinExperts(mask);
    Value base = cells.scale(cells.cast(flat, DType::F32, "cast"),
                             static_cast<double>(capacity + 1), "mul_2d_1d");
    Value combine = restore(cells.add(base, places, "add_2d"));
    Places result;
    result.kept = compare(restore(places), Comparison::Greater, 0.0, "gt");
    combine = cells.castToIndex(combine, "cast");
    result.combine = cells.reshape(combine, {rows, numChoices}, "reshape");
    result.dispatch = findTokens(mask, places);
    return result;
  }

private:
  Value compare(Value value, Comparison comparison, double with,
                StringRef leaf) {
    return cells.compare(value, comparison, with, leaf);
  }

  /// Reshapes [rows, tokens, k] to [rows, choices], in the order in which
  /// choices are assigned places.
  Value flatten(Value chosen) {
    if (!byToken)
      chosen = cells.transpose(chosen, {0, 2, 1}, "transpose_3d");
    return cells.reshape(chosen, {rows, numChoices}, "reshape");
  }

  Value restore(Value flat) {
    if (byToken)
      return cells.reshape(flat, {rows, tokens, numChosen}, "reshape");
    flat = cells.reshape(flat, {rows, numChosen, tokens}, "reshape");
    return cells.transpose(flat, {0, 2, 1}, "transpose_3d");
  }

  /// Returns the place of each choice in its expert, starting with 1, or 0 for
  /// the other experts. `mask` marks the experts of choices: [rows, choices,
  /// experts].
  Value numberWithinExperts(Value mask) {
    Value places =
        cells.multiply(cells.cumsum(mask, 1, "cumsum"), mask, "mul_3d");
    Value within = compare(places, Comparison::Less,
                           static_cast<double>(capacity + 1), "less");
    places = cells.multiply(places, within, "mul_3d");
    return cells.reduceSum(places, {2}, "reduce_sum");
  }

  /// For each expert, returns its choices in ascending order, followed by
  /// numbers that are too large for a choice: [rows, experts, choices].
  Value sortChoices(Value mask, Value places) {
    const double safe = 2.0 * static_cast<double>(numChoices);
    Value selected = cells.transpose(mask, {0, 2, 1}, "transpose_3d");
    // 0, 1, ... of each row; MindSpore Transformers has a table of them.
    Value numbers = compare(places, Comparison::AtLeast, 0.0, "slice_range");
    numbers = cells.cumsum(numbers, 1, "slice_range");
    numbers = cells.addScalar(numbers, -1.0, "slice_range");
    numbers = cells.reshape(numbers, {rows, 1, numChoices}, "reshape");
    Value large = cells.addScalar(numbers, safe, "add_range");
    Value others = compare(selected, Comparison::Less, 1.0, "sub_range");
    Value raw = cells.add(cells.multiply(selected, numbers, "mul_range"),
                          cells.multiply(others, large, "mul_range"), "add_3d");
    return cells.create<SortOp>("sort_range", raw).getValues();
  }

  /// 1 + the token of each place, 0 for an empty one: [rows, experts *
  /// capacity].
  Value findTokens(Value mask, Value places) {
    const double safe = 2.0 * static_cast<double>(numChoices);
    int64_t filled = std::min(capacity, numChoices);
    Value choices =
        cells.sliceLast(sortChoices(mask, places), 0, filled, "slice");
    Value isChoice = compare(choices, Comparison::Less, safe, "less");
    Value token = byToken ? cells.floorDivide(choices, numChosen, "mod")
                          : cells.remainder(choices, tokens, "mod");
    token = cells.addScalar(token, 1.0, "add_one");
    token = cells.multiply(token, isChoice, "mul_3d");
    if (filled < capacity)
      token = cells
                  .create<PadOp>("concat_3d", token, ArrayRef<int64_t>{0, 0, 0},
                                 ArrayRef<int64_t>{0, 0, capacity - filled})
                  .getResult();
    token = cells.castToIndex(token, "cast");
    return cells.reshape(token, {rows, experts.numExperts * capacity},
                         "reshape");
  }

  CellBuilder &cells;
  const ExpertSpec &experts;
  const bool byToken;
  const int64_t capacity, rows, tokens, numChosen, numChoices;
};

} // namespace

//===----------------------------------------------------------------------===//
// Experts
//===----------------------------------------------------------------------===//

/// Returns the axes of ranks that shard whole experts.
static SmallVector<StringRef, 2> getExpertAxes(const ExpertSpec &experts) {
  SmallVector<StringRef, 2> axes;
  if (experts.numParts > 1)
    axes.push_back("ep");
  if (experts.capacity->sharesWhole)
    axes.push_back("mp");
  return axes;
}

/// Multiplies tokens [experts, places of all rows, in] with the weights of
/// their experts, stored as [experts, out, in]. Model-parallel ranks shard the
/// outputs or, with `cutsInputs`, the inputs.
static Value addExpertLinear(CellBuilder &cells, PartList parts, Value tokens,
                             int64_t outSize, bool cutsInputs,
                             const Matrices &matrices = {}) {
  const ModelSpec &spec = cells.spec;
  const ExpertSpec &experts = *spec.experts;
  CellBuilder::Cell cell(cells, cells.getCell(parts));
  ParameterTraits traits;
  traits.cuts.resize(3);
  traits.cuts[0] = getExpertAxes(experts);
  if (experts.capacity->cutsExperts)
    traits.cuts[cutsInputs ? 2 : 1] = {"mp"};
  traits.matrices = matrices;
  Value weight = cells.addParameter(
      "weight", {experts.numExperts, outSize, getShape(tokens).back()},
      spec.paramType, cells.getInit(InitKind::Normal, experts.initializerRange),
      traits);
  weight = cells.cast(weight, spec.computeType, "cast");
  Value result =
      cells.create<MatmulOp>("matmul", tokens, weight, false, true).getResult();
  if (!cutsInputs || !experts.capacity->hasBias)
    return result;
  // If ranks sum the outputs of an expert, places are already sharded by rows
  // when the bias is added, so each rank adds the biases of all experts.
  // Otherwise the rank of the expert adds its bias.
  ParameterTraits biasTraits;
  biasTraits.parallelOptimizer = false;
  if (!experts.capacity->cutsExperts) {
    biasTraits.cuts.resize(4);
    biasTraits.cuts[1] = traits.cuts[0];
  }
  Value bias = cells.addParameter("bias", {1, experts.numExperts, 1, outSize},
                                  spec.paramType,
                                  cells.getInit(InitKind::Zeros), biasTraits);
  bias = cells.cast(bias, spec.computeType, "cast");
  bias = cells.reshape(bias, {experts.numExperts, 1, outSize}, "reshape");
  return cells.add(result, bias, "bias_add");
}

/// As addExpertFeedForward, with gate and up as one weight. A model-parallel
/// rank has the gates of its neurons, followed by their ups.
static Value addConcatenatedFeedForward(CellBuilder &cells, Value tokens) {
  const ExpertSpec &experts = *cells.spec.experts;
  const int64_t blocks = experts.capacity->gateUpBlocks;
  const FeedForwardNames &names = cells.names.feedForward;
  const int64_t size = experts.width / blocks;
  Value both = addExpertLinear(
      cells, {ParameterPart::ExpertGate, ParameterPart::ExpertUp}, tokens,
      2 * experts.width, false, {0, {size, size}, {}});
  SmallVector<int64_t> shape(getShape(both)), inBlocks = shape;
  shape.back() = experts.width;
  inBlocks.back() = blocks;
  inBlocks.push_back(2 * size);
  if (blocks > 1)
    both = cells.reshape(both, inBlocks, names.split);
  auto getHalf = [&](int64_t index) {
    Value half = cells.sliceLast(both, index * size, size, names.split);
    return blocks > 1 ? cells.reshape(half, shape, names.split) : half;
  };
  Value gate = getHalf(0), up = getHalf(1);
  gate =
      cells.create<SiluOp>(names.concatenatedActivation, gate.getType(), gate)
          .getResult();
  Value product = cells.multiply(gate, up, names.multiply);
  return addExpertLinear(cells, ParameterPart::ExpertDown, product,
                         cells.spec.hiddenSize, true);
}

/// Returns down(silu(gate(x)) * up(x)) for the places of each expert.
static Value addExpertFeedForward(CellBuilder &cells, Value tokens) {
  const StringRef fused = getFusedSwiglu(cells);
  int64_t width = cells.spec.experts->width;
  CellBuilder::Cell cell(cells, "ffn");
  if (cells.spec.experts->capacity->gateUpBlocks > 0)
    return addConcatenatedFeedForward(cells, tokens);
  Value gate =
      addExpertLinear(cells, ParameterPart::ExpertGate, tokens, width, false);
  gate = cells
             .create<SiluOp>(fused.empty() ? "w1.activation.silu" : fused,
                             gate.getType(), gate)
             .getResult();
  Value up =
      addExpertLinear(cells, ParameterPart::ExpertUp, tokens, width, false);
  Value product = cells.multiply(gate, up, fused.empty() ? "mul" : fused);
  return addExpertLinear(cells, ParameterPart::ExpertDown, product,
                         cells.spec.hiddenSize, true);
}

Value addCapacityExperts(CellBuilder &cells, Value tokens,
                         const Choice &choice) {
  const ExpertSpec &experts = *cells.spec.experts;
  const int64_t rows = experts.numRows, num = experts.numExperts;
  const int64_t capacity = experts.capacity->places;
  const int64_t hidden = cells.spec.hiddenSize;
  auto addRow = [&](Value value, size_t axis, StringRef leaf) {
    SmallVector<int64_t> low(getShape(value).size(), 0), high = low;
    low[axis] = 1;
    return cells.create<PadOp>(leaf, value, low, high).getResult();
  };
  Places places;
  Value gates, sent;
  {
    CellBuilder::Cell cell(cells, "router.router");
    places = PlaceBuilder(cells).build(choice.experts);
    Value kept = cells.cast(places.kept, experts.router.type, "cast");
    gates = cells.multiply(choice.gates, kept, "mul_3d");
    // Empty places of experts read a row of zeros.
    sent = cells
               .create<GatherRowsOp>("dispatch_gather",
                                     addRow(tokens, 1, "concat_3d"),
                                     places.dispatch)
               .getResult();
  }
  if (experts.router.normalizesKept)
    gates = divideBySum(cells, cells.names.experts.capacityRouter, gates);
  sent = cells.reshape(sent, {rows, num, capacity, hidden}, "reshape");
  sent = cells.transpose(sent, {1, 0, 2, 3}, "transpose_mp1");
  sent = cells.reshape(sent, {num, rows * capacity, hidden}, "reshape");
  Value made = addExpertFeedForward(cells, sent);
  made = cells.reshape(made, {num, rows, capacity, hidden}, "reshape");
  made = cells.transpose(made, {1, 0, 2, 3}, "transpose_mp2");

  CellBuilder::Cell cell(cells, "router.router");
  // Dropped choices read a row of zeros too, one for each expert.
  made = addRow(made, 2, "concat");
  made = cells.reshape(made, {rows, num * (capacity + 1), hidden}, "reshape");
  Value back =
      cells.create<GatherRowsOp>("combine_gather", made, places.combine)
          .getResult();
  return addWeighedSum(cells, back, gates, "cast", "reshape",
                       "mul_router_coeff", "sum_router_coeff");
}

} // namespace mf
