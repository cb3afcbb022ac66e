//===- Attention.cpp - Projections, rotary embedding and scores -----------===//
// SPDX-License-Identifier: Apache-2.0

#include "BodyLayer.h"
#include <cmath>
#include <numeric>

using namespace mlir;
using namespace mf::ir;

namespace mf {

//===----------------------------------------------------------------------===//
// Rotary embedding
//===----------------------------------------------------------------------===//

/// Computes x cos + rotate(x) sin, where rotate swaps the halves of x and
/// negates the first one.
static Value rotateHalves(CellBuilder &cells, Value heads, Value cosine,
                          Value sine, const RotaryNames &names) {
  CellBuilder::Cell cell(cells, names.cell);
  int64_t half = cells.spec.rotary.size / 2;
  Value first = cells.sliceLast(heads, 0, half, names.slice);
  Value second = cells.sliceLast(heads, half, half, names.slice);
  Value swapped = cells.concatLast({cells.negate(second, names.negate), first},
                                   names.concat);
  return cells.add(cells.multiply(heads, cosine, names.multiply),
                   cells.multiply(swapped, sine, names.multiply), names.add);
}

/// Rotates the first `rotary.size` dimensions as complex numbers, of which
/// adjacent elements are the real and the imaginary part: multiplies them by
/// cos + i sin. The other dimensions are unchanged.
static Value rotatePairs(CellBuilder &cells, Value heads, Value cosine,
                         Value sine, const RotaryNames &names) {
  CellBuilder::Cell cell(cells, names.cell);
  int64_t size = cells.spec.rotary.size, half = size / 2;
  int64_t rest = cells.spec.headSize - size;
  SmallVector<int64_t> shape(getShape(heads));
  auto withLast = [&](std::initializer_list<int64_t> last) {
    SmallVector<int64_t> result(shape.begin(), shape.end() - 1);
    result.append(last);
    return result;
  };

  Value rotated =
      rest == 0 ? heads : cells.sliceLast(heads, 0, size, names.reshape);
  Value pairs = cells.reshape(rotated, withLast({half, 2}), names.reshape);
  auto getPart = [&](int64_t index) {
    Value part = cells.sliceLast(pairs, index, 1, names.slice);
    return cells.reshape(part, withLast({half}), names.reshape);
  };
  Value real = getPart(0), imaginary = getPart(1);
  // The tables repeat the half of frequencies.
  cosine = cells.sliceLast(cosine, 0, half, names.slice);
  sine = cells.sliceLast(sine, 0, half, names.slice);
  auto multiply = [&](Value lhs, Value rhs) {
    return cells.multiply(lhs, rhs, names.multiply);
  };
  Value newReal = cells.add(
      multiply(real, cosine),
      cells.negate(multiply(imaginary, sine), names.negate), names.subtract);
  Value newImaginary =
      cells.add(multiply(imaginary, cosine), multiply(real, sine), names.add);
  Value stacked = cells.concatLast(
      {cells.reshape(newReal, withLast({half, 1}), names.reshape),
       cells.reshape(newImaginary, withLast({half, 1}), names.reshape)},
      names.stack);
  Value result = cells.reshape(stacked, withLast({size}), names.reshape);
  if (rest == 0)
    return result;
  Value passed = cells.sliceLast(heads, size, rest, names.slice);
  return cells.concatLast({result, passed}, names.concat);
}

/// Returns rows of a table of positions, [batch, 1, sequence, rotary size].
static Value selectRows(CellBuilder &cells, Value table, Value positions) {
  const int64_t batch = cells.spec.microBatchSize;
  const int64_t length = cells.spec.sequenceLength;
  const int64_t size = cells.spec.rotary.size;
  Value rows = cells
                   .create<EmbeddingOp>(
                       "rotary_emb.stride_slice",
                       cast<RankedTensorType>(table.getType())
                           .clone(ArrayRef<int64_t>{batch, length, size}),
                       ValueRange{table, positions})
                   .getResult();
  return cells.reshape(rows, {batch, 1, length, size}, "rotary_emb.squeeze");
}

/// Rotates each half of a head of queries and keys as if it were a whole head:
/// the first half by the position in the sample's prefix, the second half by
/// the position after the prefix.
static void addPrefixRotary(CellBuilder &cells, AttentionHeads &heads,
                            const RotaryNames &names) {
  const ModelSpec &spec = cells.spec;
  Value tokens = cells.getTokens();
  auto positions = cells.create<PrefixPositionsOp>(
      "rotary_emb.squeeze", tokens.getType(), tokens.getType(), tokens,
      *spec.prefixEnd, StringAttr(), RecomputeKindAttr(), SwapAttr());
  heads.behindPrefix = positions.getBehind();
  SmallVector<Value, 2> cosines, sines;
  for (Value half : {positions.getWithin(), positions.getBehind()}) {
    cosines.push_back(
        selectRows(cells, cells.getParameter(rotaryCosineTable), half));
    sines.push_back(
        selectRows(cells, cells.getParameter(rotarySineTable), half));
  }
  for (Value *value : {&heads.query, &heads.key}) {
    Value whole = cells.cast(*value, spec.rotaryType, names.cast);
    SmallVector<Value, 2> halves;
    for (auto [index, cosine, sine] : llvm::enumerate(cosines, sines)) {
      const int64_t size = spec.rotary.size;
      Value half = cells.sliceLast(whole, static_cast<int64_t>(index) * size,
                                   size, names.splitHalves);
      halves.push_back(rotateHalves(cells, half, cosine, sine, names));
    }
    *value = cells.cast(cells.concatLast(halves, names.joinHalves),
                        spec.computeType, names.cast);
  }
}

Value addRotary(CellBuilder &cells, Value heads, const RotaryNames &names) {
  const ModelSpec &spec = cells.spec;
  if (spec.rotary.size == 0)
    return heads;
  Value cosine = cells.getParameter(rotaryCosineTable);
  Value sine = cells.getParameter(rotarySineTable);
  Value value = cells.cast(heads, spec.rotaryType, names.cast);
  value = spec.rotary.rotatesPairs
              ? rotatePairs(cells, value, cosine, sine, names)
              : rotateHalves(cells, value, cosine, sine, names);
  return cells.cast(value, spec.computeType, names.cast);
}

//===----------------------------------------------------------------------===//
// Projections
//===----------------------------------------------------------------------===//

/// Returns the axes that shard the heads of keys and values, and thus their
/// weights. Some families copy heads to neighbouring ranks if there are fewer
/// heads than ranks.
static StringRef getKeyValueAxis(const ModelSpec &spec) {
  bool areCopied = getFamily(spec.family).copiesKeyValueHeads &&
                   spec.numKeyValueHeads < spec.ranks.modelParallel;
  return areCopied ? "mp_kv" : "mp";
}

/// Splits the result of a weight that is stored as one: [batch, sequence, key
/// and value heads * sum of `widths`] into one value per width. All values of
/// one head of keys and values are adjacent, so that ranks can shard the heads.
static SmallVector<Value> splitByHead(CellBuilder &cells, Value together,
                                      ArrayRef<int64_t> widths,
                                      StringRef split) {
  const ModelSpec &spec = cells.spec;
  StringRef reshape = cells.names.attention.splitHeads;
  int64_t batch = spec.microBatchSize, length = spec.sequenceLength;
  int64_t heads = spec.numKeyValueHeads;
  int64_t width = std::accumulate(widths.begin(), widths.end(), int64_t(0));
  together = cells.reshape(together, {batch, length, heads, width}, reshape);
  SmallVector<Value> parts;
  int64_t start = 0;
  for (int64_t size : widths) {
    Value part = cells.sliceLast(together, start, size, split);
    parts.push_back(
        cells.reshape(part, {batch, length, heads * size}, reshape));
    start += size;
  }
  return parts;
}

/// Query, key and value, each [batch, sequence, heads * head size].
static AttentionHeads addProjections(CellBuilder &cells, Value input) {
  const ModelSpec &spec = cells.spec;
  const AttentionNames &names = cells.names.attention;
  int64_t querySize = spec.getQuerySize(), keySize = spec.getKeyValueSize();
  auto addLinear = [&](PartList parts, int64_t size, StringRef axis = "mp") {
    CellBuilder::Cell linear(cells, cells.getCell(parts));
    LinearTraits traits;
    traits.hasBias = spec.queryKeyValueBias;
    traits.axes = {axis};
    traits.parallelOptimizer = axis == "mp";
    traits.keepsOwnType = spec.keepsProjectionType;
    return cells.addLinear(input, size, traits);
  };
  int64_t head = spec.headSize;
  switch (spec.projections) {
  case ProjectionLayout::Separate: {
    StringRef axis = getKeyValueAxis(spec);
    Value query = addLinear(ParameterPart::Query, querySize);
    Value key = addLinear(ParameterPart::Key, keySize, axis);
    return {query, key, addLinear(ParameterPart::Value, keySize, axis)};
  }
  case ProjectionLayout::KeyValue: {
    Value query = addLinear(ParameterPart::Query, querySize);
    Value both =
        addLinear({ParameterPart::Key, ParameterPart::Value}, 2 * keySize);
    SmallVector<Value> parts =
        splitByHead(cells, both, {head, head}, names.splitKeyValue);
    return {query, parts[0], parts[1]};
  }
  case ProjectionLayout::QueryKeyValue: {
    Value all = addLinear(
        {ParameterPart::Query, ParameterPart::Key, ParameterPart::Value},
        querySize + 2 * keySize);
    int64_t group = spec.numHeads / spec.numKeyValueHeads;
    SmallVector<Value> parts = splitByHead(
        cells, all, {group * head, head, head}, names.splitQueryKeyValue);
    return {parts[0], parts[1], parts[2]};
  }
  }
  llvm_unreachable("unknown layout");
}

/// Reshapes [batch, sequence, heads * head size] to [batch, heads, sequence,
/// head size]. `norm`, if not empty, is a Cell that normalises each head.
static Value splitHeads(CellBuilder &cells, Value value, int64_t numHeads,
                        StringRef norm) {
  const ModelSpec &spec = cells.spec;
  const AttentionNames &names = cells.names.attention;
  value = cells.reshape(
      value,
      {spec.microBatchSize, spec.sequenceLength, numHeads, spec.headSize},
      names.splitHeads);
  if (!norm.empty()) {
    CellBuilder::Cell cell(cells, norm);
    value = cells.addNorm(value);
  }
  return cells.transpose(value, {0, 2, 1, 3}, names.transposeHeads);
}

//===----------------------------------------------------------------------===//
// Scores
//===----------------------------------------------------------------------===//

static Value addFlashAttention(CellBuilder &cells, const AttentionHeads &heads,
                               double scale) {
  Value slopes;
  if (cells.spec.usesAlibi)
    slopes = cells.getParameter(alibiSlopes);
  return cells.addFlashAttention(heads.query, heads.key, heads.value, scale,
                                 slopes, cells.names.attention.flash);
}

/// Returns the mask that is added to scores.
static Value addMask(CellBuilder &cells, const AttentionHeads &heads) {
  const int64_t length = cells.spec.sequenceLength;
  StringRef leaf = cells.names.attention.scores.mask;
  if (Value behind = heads.behindPrefix) {
    auto type = RankedTensorType::get(
        {cells.spec.microBatchSize, 1, length, length},
        cast<RankedTensorType>(heads.query.getType()).getElementType());
    return cells
        .create<PrefixMaskOp>(leaf, type, behind, APFloat(hiddenScore),
                              StringAttr(), RecomputeKindAttr(), SwapAttr())
        .getMask();
  }
  Value mask = cells.getParameter(causalMaskTable);
  if (cells.spec.prefix)
    return cells.concatLast({cells.getParameter(learnedPrefixMaskTable), mask},
                            leaf);
  return mask;
}

/// Returns a mask for each sample that hides other documents.
static Value addDocumentMask(CellBuilder &cells, Value scores) {
  SmallVector<int64_t> shape(getShape(scores));
  shape[1] = 1;
  auto type = RankedTensorType::get(
      shape, cast<RankedTensorType>(scores.getType()).getElementType());
  return cells
      .create<DocumentMaskOp>("document_mask", type, cells.addDocumentStarts(),
                              APFloat(hiddenScore), StringAttr(),
                              RecomputeKindAttr(), SwapAttr())
      .getMask();
}

Value addScores(CellBuilder &cells, AttentionHeads heads, double scale) {
  const ModelSpec &spec = cells.spec;
  const ScoreNames &names = cells.names.attention.scores;
  int64_t repeats = spec.numHeads / spec.numKeyValueHeads;
  if (repeats > 1) {
    for (Value *value : {&heads.key, &heads.value})
      *value = cells.create<RepeatOp>(names.repeat, *value, /*axis=*/1, repeats)
                   .getResult();
  }
  if (spec.scalesHeads)
    for (Value *value : {&heads.query, &heads.key})
      *value = cells.scale(*value, std::sqrt(scale), names.scaleHeads);
  const auto number = static_cast<double>(cells.layerIndex + 1);
  if (spec.scalesByLayer)
    heads.query = cells.scale(heads.query, scale / number, names.scaleHeads);
  Value scores =
      cells.create<MatmulOp>(names.product, heads.query, heads.key, false, true)
          .getResult();
  if (spec.scalesHeads)
    scores = cells.cast(scores, spec.softmaxType, names.castIn);
  else if (!spec.scalesByLayer)
    scores = cells.scale(scores, scale, names.scale);
  if (spec.usesAlibi)
    scores = cells.add(scores, cells.getParameter(alibiTable), names.alibi);
  scores = cells.add(scores, addMask(cells, heads), names.mask);
  if (spec.documentEnd)
    scores = cells.add(scores, addDocumentMask(cells, scores), names.mask);
  scores = cells.cast(scores, spec.softmaxType, names.castIn);
  if (spec.scalesByLayer)
    scores = cells.scale(scores, number, names.scaleLayer);
  Value weights =
      cells.create<SoftmaxOp>(names.softmax, scores.getType(), scores)
          .getResult();
  weights = cells.cast(weights, spec.computeType, names.castOut);
  weights = cells.drop(weights, spec.dropout.attention, names.dropout);
  return cells.create<MatmulOp>(names.weightedSum, weights, heads.value)
      .getResult();
}

static Value addOutputProjection(CellBuilder &cells, Value merged) {
  const ModelSpec &spec = cells.spec;
  CellBuilder::Cell linear(cells,
                           cells.getCell(ParameterPart::AttentionOutput));
  LinearTraits traits;
  traits.hasBias = spec.attentionOutputBias;
  traits.cutsInputs = true;
  traits.storesInputRows = spec.storesInputRows;
  traits.keepsOwnType = spec.keepsProjectionType;
  if (!cells.names.linearDropout.empty())
    traits.dropout = spec.dropout.hidden;
  return cells.addLinear(merged, spec.hiddenSize, traits);
}

Value addAttention(CellBuilder &cells, Value input) {
  const ModelSpec &spec = cells.spec;
  const AttentionNames &names = cells.names.attention;
  CellBuilder::Cell cell(cells, names.cell);
  AttentionHeads flat = addProjections(cells, input);
  bool hasNorm = spec.normalizesQueryKey;
  AttentionHeads heads;
  heads.query =
      splitHeads(cells, flat.query, spec.numHeads,
                 hasNorm ? cells.getCell(ParameterPart::QueryNorm) : "");
  heads.key = splitHeads(cells, flat.key, spec.numKeyValueHeads,
                         hasNorm ? cells.getCell(ParameterPart::KeyNorm) : "");
  heads.value = splitHeads(cells, flat.value, spec.numKeyValueHeads, "");
  if (spec.rotary.isTwoDimensional) {
    addPrefixRotary(cells, heads, names.rotary);
  } else {
    heads.query = addRotary(cells, heads.query, names.rotary);
    heads.key = addRotary(cells, heads.key, names.rotary);
  }
  if (spec.prefix)
    joinPrefix(cells, cells.getArgument(1), heads);
  double scale = 1.0 / std::sqrt(static_cast<double>(spec.headSize));
  Value result = spec.usesFlashAttention
                     ? addFlashAttention(cells, heads, scale)
                     : addScores(cells, heads, scale);
  result = cells.transpose(result, {0, 2, 1, 3}, names.mergeTranspose);
  result = cells.reshape(
      result, {spec.microBatchSize, spec.sequenceLength, spec.getQuerySize()},
      names.mergeReshape);
  result = addOutputProjection(cells, result);
  return names.dropout.empty()
             ? result
             : cells.drop(result, spec.dropout.hidden, names.dropout);
}

} // namespace mf
