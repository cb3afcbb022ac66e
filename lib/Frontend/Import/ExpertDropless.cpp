//===- ExpertDropless.cpp - Experts that process all of their tokens ------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// MoEV3 and mcore: tokens are sorted by expert, exchanged among the ranks of
// the experts, and multiplied with the weights of each expert.
//
//===----------------------------------------------------------------------===//

#include "ExpertLayer.h"

using namespace mlir;
using namespace mf::ir;

namespace mf {

namespace {

/// Tokens on their way, in the order of their experts.
struct SortedTokens {
  Value rows; ///< [rows, choices, hidden]
  Value ids;  ///< The experts of the rows: [rows, choices], fp32.
  Value
      counts; ///< The number of choices of each expert: [rows, experts], fp32.
};

class DroplessBuilder {
public:
  DroplessBuilder(CellBuilder &cells, const DroplessNames &names)
      : cells(cells), names(names), spec(cells.spec), experts(*spec.experts),
        dropless(*experts.dropless), numRows(experts.numRows),
        numChoices(experts.getNumChoices()), numParts(experts.numParts),
        numGroups(numRows / numParts), numOwn(experts.numExperts / numParts) {}

  Value build(Value tokens, const Choice &choice) {
    SortedTokens sorted = sortByExpert(tokens, choice.experts);
    Value order;
    if (dropless.safeTokens)
      order = addZeroTokens(sorted);
    Value rows = runExperts(sorted);
    if (order)
      rows = removeZeroTokens(rows, order);
    rows = gather(rows, places, names.gatherBack);
    return addWeighedSum(cells, rows, choice.gates, names.cast, names.reshape,
                         names.weigh, names.sum);
  }

private:
  // Called before and after the exchange.
  SortedTokens sortByExpert(Value tokens, Value chosen) {
    const int64_t k = experts.router.numChosen, length = experts.rowLength;
    Value flat = cells.transpose(chosen, {0, 2, 1}, names.transposeChoices);
    flat = cells.reshape(flat, {numRows, numChoices}, names.reshape);
    Value keys = cells.cast(flat, DType::F32, names.cast);
    auto sort = cells.create<SortOp>(names.sort, keys);

    SortedTokens sorted;
    sorted.ids = sort.getValues();
    Value token = cells.cast(sort.getIndices(), DType::F32, names.cast);
    token = cells.remainder(token, length, names.remainder);
    sorted.rows =
        gather(tokens, cells.castToIndex(token, names.cast), names.gather);
    Value onehot =
        cells.create<OneHotOp>(names.oneHot, flat, experts.numExperts)
            .getResult();
    sorted.counts = cells.reduceSum(onehot, {1}, names.oneHot);

    places = invert(sort.getIndices(), names.sort);
    places = cells.reshape(places, {numRows, k, length}, names.reshape);
    places = cells.transpose(places, {0, 2, 1}, names.transposePlaces);
    places = cells.reshape(places, {numRows, numChoices}, names.reshape);
    return sorted;
  }

  /// Sorts a zero token for each expert in before the expert's tokens. Returns
  /// the order.
  Value addZeroTokens(SortedTokens &sorted) {
    // 0, 1, ... up to the number of experts, in each row.
    Value ids =
        cells.compare(sorted.counts, Comparison::AtLeast, 0.0, names.safeIds);
    ids = cells.cumsum(ids, 1, names.safeIds);
    ids = cells.addScalar(ids, -1.0, names.safeIds);
    ids = cells.concatLast({ids, sorted.ids}, names.safeIds);
    auto sort = cells.create<SortOp>(names.safeSort, ids);
    // Rows with a negative index are zeros.
    Value source = cells.cast(sort.getIndices(), DType::F32, names.cast);
    source = cells.addScalar(source, -static_cast<double>(experts.numExperts),
                             names.safeGather);
    sorted.rows = gather(sorted.rows, cells.castToIndex(source, names.cast),
                         names.safeGather);
    sorted.ids = sort.getValues();
    sorted.counts = cells.addScalar(sorted.counts, 1.0, names.safeCounts);
    return sort.getIndices();
  }

  Value removeZeroTokens(Value rows, Value order) {
    rows = gather(rows, invert(order, names.safeSort), names.safeGather);
    return cells
        .create<SliceOp>(
            names.safeSlice, rows, ArrayRef<int64_t>{0, experts.numExperts, 0},
            ArrayRef<int64_t>{numRows, numChoices, spec.hiddenSize})
        .getResult();
  }

  // The Morph.
  /// Applies the experts to [rows, choices, hidden], sorted by expert.
  Value runExperts(const SortedTokens &sorted) {
    StringRef leaf = names.morph;
    SmallVector<int64_t> shape(getShape(sorted.rows));
    const int64_t sent = shape[1], hidden = shape[2];
    const int64_t room = numParts == 1 ? sent : getExpertRoom(experts, sent);
    Value rows =
        cells.reshape(sorted.rows, {numGroups, numParts, sent, hidden}, leaf);
    Value ids = cells.reshape(sorted.ids, {numGroups, numParts, sent, 1}, leaf);
    Value send = cells.reshape(sorted.counts,
                               {numGroups, numParts, numParts, numOwn}, leaf);
    Value receive =
        numParts == 1 ? send : cells.transpose(send, {0, 2, 1, 3}, leaf);

    rows = exchange(rows, send, receive, room, 0.0);
    // Places after the last received row get an id that is sorted to the end.
    ids = exchange(ids, send, receive, room,
                   static_cast<double>(experts.numExperts));
    ids = cells.reshape(ids, {numGroups, numParts, room}, leaf);
    Value order = cells.create<SortOp>(leaf, ids).getIndices();
    rows = gather(rows, order, leaf);
    Value counts = cells.reduceSum(receive, {2}, leaf);
    rows = multiplyByExpert(rows, counts);
    rows = gather(rows, invert(order, leaf), leaf);
    rows = exchange(rows, receive, send, sent, 0.0);
    return cells.reshape(rows, shape, leaf);
  }

  Value exchange(Value value, Value send, Value receive, int64_t room,
                 double fill) {
    if (numParts == 1)
      return value;
    return cells
        .create<ExchangeTokensOp>(names.morph, value, send, receive, room, fill)
        .getResult();
  }

  /// Returns down(silu(gate(x)) * up(x)) for [groups, ranks, rows, hidden]. The
  /// columns of the gate precede those of the up projection.
  Value multiplyByExpert(Value rows, Value counts) {
    const int64_t width = experts.width, hidden = spec.hiddenSize;
    StringRef leaf = names.morph;
    Value both =
        cells
            .create<ExpertMatmulOp>(
                leaf, rows,
                addWeight({ParameterPart::ExpertGate, ParameterPart::ExpertUp},
                          hidden, 2 * width, {1, {width, width}, {}}),
                counts)
            .getResult();
    Value gate = cells.sliceLast(both, 0, width, leaf);
    Value up = cells.sliceLast(both, width, width, leaf);
    Value product;
    if (spec.activationLimit) {
      product = cells.addLimitedProduct(gate, up, leaf, leaf);
    } else {
      gate = cells.create<SiluOp>(leaf, gate.getType(), gate).getResult();
      product = cells.multiply(gate, up, leaf);
    }
    return cells
        .create<ExpertMatmulOp>(
            leaf, product, addWeight(ParameterPart::ExpertDown, width, hidden),
            counts)
        .getResult();
  }

  /// Adds a weight of each expert, [experts, in, out], and returns it as
  /// [ranks, experts of a rank, in, out].
  Value addWeight(PartList parts, int64_t in, int64_t out,
                  const Matrices &matrices = {}) {
    ParameterTraits traits;
    traits.matrices = matrices;
    traits.cuts.resize(3);
    if (numParts > 1)
      traits.cuts[0] = {"ep"};
    Value weight = cells.addParameter(
        cells.getCell(parts), {experts.numExperts, in, out}, spec.paramType,
        cells.getInit(InitKind::Normal, experts.initializerRange), traits);
    weight = cells.cast(weight, spec.computeType, names.castWeight);
    return cells.reshape(weight, {numParts, numOwn, in, out}, names.morph);
  }

  /// Returns the inverse of the permutation that a sort applied.
  Value invert(Value order, StringRef sort) {
    Value keys = cells.cast(order, DType::F32, names.cast);
    return cells.create<SortOp>(sort, keys).getIndices();
  }
  Value gather(Value rows, Value order, StringRef leaf) {
    return cells.create<GatherRowsOp>(leaf, rows, order).getResult();
  }

  CellBuilder &cells;
  const DroplessNames &names;
  const ModelSpec &spec;
  const ExpertSpec &experts;
  const DroplessSpec &dropless;
  /// numRows is the product of numGroups and numParts, the ranks of a group.
  /// Each rank has numOwn experts.
  const int64_t numRows, numChoices, numParts, numGroups, numOwn;
  /// The places of a token's choices in sorted order: [rows, tokens * k].
  Value places;
};

} // namespace

Value addDroplessExperts(CellBuilder &cells, const DroplessNames &names,
                         Value tokens, const Choice &choice) {
  return DroplessBuilder(cells, names).build(tokens, choice);
}

} // namespace mf
