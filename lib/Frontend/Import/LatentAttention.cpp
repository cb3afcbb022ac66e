//===- LatentAttention.cpp - Latents, heads and their attention -----------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// DeepSeek-V2's multi-head latent attention, as in the training class.
//
//===----------------------------------------------------------------------===//

#include "BodyLayer.h"
#include <numeric>

using namespace mlir;
using namespace mf::ir;

namespace mf {

namespace {

using Part = ParameterPart;

/// The values that are projected from the layer's input, [batch, sequence,
/// width]; without a latent for queries, `query` has the queries themselves.
struct Latents {
  Value query, keyValue, rotaryKey;
};

/// Heads, each [batch, heads, sequence, size].
struct LatentHeads {
  Value plainQuery, rotaryQuery, plainKey, value;
};

/// The square root of threshold / largest multiplies each part of a head so
/// often: the plain part and the one that rotates of queries, the plain part of
/// keys and the values.
constexpr int64_t queryRoots[] = {1, 2}, keyValueRoots[] = {1, 0};

class LatentAttentionBuilder {
public:
  explicit LatentAttentionBuilder(CellBuilder &cells)
      : cells(cells), spec(cells.spec), latent(*spec.latent),
        names(cells.names.latent) {}

  Value build(Value input) {
    CellBuilder::Cell cell(cells, cells.names.attention.cell);
    if (latent.keepsLargestLogits)
      largestLogits = cells.addLargestLogits(names.largestLogits);
    Latents latents = addLatents(input);
    LatentHeads parts = addUpProjections(latents);
    AttentionHeads heads;
    heads.query = cells.concatLast(
        {parts.plainQuery, rotate(parts.rotaryQuery)}, names.join);
    heads.key = cells.concatLast(
        {parts.plainKey, addRotaryKeys(latents.rotaryKey)}, names.join);
    heads.value = parts.value;
    Value result = spec.usesFlashAttention
                       ? addFlash(heads)
                       : addScores(cells, heads, latent.scale);
    result = cells.transpose(result, {0, 2, 1, 3}, names.mergeTranspose);
    result = cells.reshape(
        result,
        {spec.microBatchSize, spec.sequenceLength, spec.getAttendedSize()},
        names.mergeReshape);
    CellBuilder::Cell linear(cells, cells.getCell(Part::AttentionOutput));
    LinearTraits traits;
    traits.cutsInputs = true;
    return cells.addLinear(result, spec.hiddenSize, traits);
  }

private:
  Value addLinear(Value input, StringRef name, int64_t size,
                  ArrayRef<StringRef> axes, const Matrices &matrices = {},
                  ArrayRef<int64_t> roots = {}) {
    CellBuilder::Cell linear(cells, name);
    LinearTraits traits;
    traits.matrices = matrices;
    if (largestLogits && !roots.empty())
      traits.logitClip = {largestLogits.getParam(),
                          SmallVector<int64_t, 2>(roots)};
    traits.axes.assign(axes.begin(), axes.end());
    return cells.addLinear(input, size, traits);
  }

  SmallVector<Value> addParts(Value together, ArrayRef<int64_t> widths) {
    SmallVector<Value> parts;
    int64_t start = 0;
    for (int64_t width : widths) {
      parts.push_back(cells.sliceLast(together, start, width, names.split));
      start += width;
    }
    return parts;
  }

  /// These projections are not sharded on ranks that shard heads: all heads use
  /// the latents.
  Latents addLatents(Value input) {
    const int64_t keyValueWidth = latent.keyValueRank;
    const int64_t queryWidth = latent.queryRank.value_or(getQuerySize());
    if (latent.layout == LatentLayout::DownTogether) {
      SmallVector<int64_t> widths = {queryWidth, keyValueWidth,
                                     latent.rotarySize};
      Matrices matrices = {0, widths, {}};
      // Queries without a latent are separate for each head.
      if (!latent.queryRank)
        matrices = {0,
                    {latent.plainSize, latent.rotarySize},
                    {keyValueWidth, latent.rotarySize}};
      // The Cell has the same name then.
      const std::string cell =
          findCell(cells.family.cells.layer, cells.facts | Fact::LatentQuery,
                   {Part::QueryDown, Part::KeyValueDown, Part::KeyRope},
                   cells.names.attention.cell);
      Value all = addLinear(
          input, cell,
          std::accumulate(widths.begin(), widths.end(), int64_t(0)), {},
          matrices, latent.queryRank ? ArrayRef<int64_t>() : queryRoots);
      SmallVector<Value> parts = addParts(all, widths);
      return {parts[0], parts[1], parts[2]};
    }
    Latents result;
    result.query =
        latent.queryRank
            ? addLinear(input, cells.getCell(Part::QueryDown), queryWidth, {})
            : addLinear(
                  input, cells.getCell({Part::QueryNope, Part::QueryRope}),
                  queryWidth, {"mp"},
                  {0, {latent.plainSize, latent.rotarySize}, {}}, queryRoots);
    const std::string down = cells.getCell({Part::KeyValueDown, Part::KeyRope});
    if (!down.empty()) {
      SmallVector<int64_t> widths = {keyValueWidth, latent.rotarySize};
      Value both = addLinear(input, down, keyValueWidth + latent.rotarySize, {},
                             {0, widths, {}});
      SmallVector<Value> parts = addParts(both, widths);
      result.keyValue = parts[0];
      result.rotaryKey = parts[1];
      return result;
    }
    result.rotaryKey =
        addLinear(input, cells.getCell(Part::KeyRope), latent.rotarySize, {});
    result.keyValue =
        addLinear(input, cells.getCell(Part::KeyValueDown), keyValueWidth, {});
    return result;
  }

  Value addNorm(Value value, ParameterPart part) {
    if (!latent.hasNorms)
      return value;
    CellBuilder::Cell cell(cells, cells.getCell(part));
    return cells.addNorm(value);
  }

  /// Heads of `sizes`, by one projection if there is one, or by one for each.
  SmallVector<Value> addHeads(Value from, PartList parts,
                              ArrayRef<int64_t> sizes,
                              ArrayRef<int64_t> roots) {
    SmallVector<Value> heads;
    if (const std::string joint = cells.getCell(parts); !joint.empty()) {
      const int64_t width =
          std::accumulate(sizes.begin(), sizes.end(), int64_t(0));
      Value flat = addLinear(from, joint, spec.numHeads * width, {"mp"},
                             {0, SmallVector<int64_t>(sizes), {}}, roots);
      return splitHeads(flat, sizes);
    }
    for (auto [part, size] : llvm::zip_equal(parts.get(), sizes)) {
      Value flat =
          addLinear(from, cells.getCell(part), spec.numHeads * size, {"mp"});
      heads.append(splitHeads(flat, {size}));
    }
    return heads;
  }

  /// Splits [batch, sequence, heads * sum of `sizes`] into one value per size,
  /// each [batch, heads, sequence, size].
  SmallVector<Value> splitHeads(Value flat, ArrayRef<int64_t> sizes) {
    const int64_t width =
        std::accumulate(sizes.begin(), sizes.end(), int64_t(0));
    Value heads = cells.reshape(
        flat, {spec.microBatchSize, spec.sequenceLength, spec.numHeads, width},
        names.reshape);
    SmallVector<Value> parts = {heads};
    if (sizes.size() > 1)
      parts = addParts(heads, sizes);
    for (Value &part : parts)
      part = cells.transpose(part, {0, 2, 1, 3}, names.transpose);
    return parts;
  }

  LatentHeads addUpProjections(const Latents &latents) {
    SmallVector<int64_t> querySizes = {latent.plainSize, latent.rotarySize};
    SmallVector<Value> query;
    if (latent.queryRank)
      query =
          addHeads(addNorm(latents.query, Part::QueryDownNorm),
                   {Part::QueryNope, Part::QueryRope}, querySizes, queryRoots);
    else
      query = splitHeads(latents.query, querySizes);
    SmallVector<Value> keyValue =
        addHeads(addNorm(latents.keyValue, Part::KeyValueDownNorm),
                 {Part::KeyNope, Part::ValueUp},
                 {latent.plainSize, latent.valueSize}, keyValueRoots);
    return {query[0], query[1], keyValue[0], keyValue[1]};
  }

  /// In the weights of the mcore graph, dimensions that are rotated as a pair
  /// are adjacent. The even ones are moved before the odd ones.
  Value rotate(Value heads) {
    if (spec.rotary.movesPairs) {
      SmallVector<int64_t> shape(getShape(heads));
      SmallVector<int64_t> pairs = shape;
      pairs.back() /= 2;
      pairs.push_back(2);
      Value paired = cells.reshape(heads, pairs, names.pairReshape);
      shape.back() /= 2;
      SmallVector<Value> halves;
      for (int64_t half : {0, 1})
        halves.push_back(
            cells.reshape(cells.sliceLast(paired, half, 1, names.pairSlice),
                          shape, names.pairReshape));
      heads = cells.concatLast(halves, names.pairConcat);
    }
    return addRotary(cells, heads, names.rotary);
  }

  /// Returns the rotated part of the keys, which all heads share, repeated for
  /// each head.
  Value addRotaryKeys(Value rotaryKey) {
    Value one = cells.reshape(
        rotaryKey,
        {spec.microBatchSize, 1, spec.sequenceLength, latent.rotarySize},
        names.reshape);
    auto tile = [&](Value value) {
      return cells
          .create<RepeatOp>(names.tile, value, /*axis=*/1, spec.numHeads)
          .getResult();
    };
    return latent.rotatesCopies ? rotate(tile(one)) : tile(rotate(one));
  }

  /// Values are padded with zeros to the width of keys, so the result has
  /// padding, too.
  Value addFlash(const AttentionHeads &heads) {
    Value value = heads.value;
    const int64_t room = latent.getKeySize() - latent.valueSize;
    const bool pads = latent.padsValues && room > 0;
    if (pads) {
      SmallVector<int64_t> low(4, 0), high(4, 0);
      high.back() = room;
      value = cells.create<PadOp>(names.padValue, value, low, high).getResult();
    }
    Value result = cells.addFlashAttention(
        heads.query, heads.key, value, latent.scale, /*slopes=*/{}, names.flash,
        largestLogits ? largestLogits.getResult() : Value());
    return pads ? cells.sliceLast(result, 0, latent.valueSize, names.cutResult)
                : result;
  }

  int64_t getQuerySize() const { return spec.numHeads * latent.getKeySize(); }

  CellBuilder &cells;
  const ModelSpec &spec;
  const LatentAttentionSpec &latent;
  const LatentNames &names;
  /// The statistic of the largest logit of each head; null where nothing reads
  /// it.
  GetParamOp largestLogits;
};

} // namespace

Value addLatentAttention(CellBuilder &cells, Value input) {
  return LatentAttentionBuilder(cells).build(input);
}

} // namespace mf
