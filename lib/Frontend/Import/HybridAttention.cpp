//===- HybridAttention.cpp - Window, entries and their indexer ------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// DeepSeek-V4's attention. As single operators it gathers the keys of each
// query. Queries are [batch, sequence, heads, width] here, and keys [batch,
// sequence, keys, width]. Fused kernels read keys where they are, [batch,
// sequence, width].
//
//===----------------------------------------------------------------------===//

#include "BodyLayer.h"
#include <cmath>

using namespace mlir;
using namespace mf::ir;

namespace mf {

/// Tables that all layers share: the cosines and sines of the tokens of layers
/// with entries, and of entries, whose tables have the ratio in their names;
/// the number of a query plus that of a place in its window, of the whole
/// sequence and of a block of it; a row of zeros for each sample and block;
/// and the Hadamard matrix of indexers.
static constexpr llvm::StringLiteral entryCosineTable = "entry_freqs_cos",
                                     entrySineTable = "entry_freqs_sin",
                                     windowTable = "window_places",
                                     blockTable = "block_window_places",
                                     entryTable = "entry_ends",
                                     sampleTable = "sample_zeros",
                                     queryNormTable = "query_norm_ones",
                                     hadamardTable = "hadamard";

/// Added to the scores of keys that a query does not see.
static constexpr double unseenScore = -1e30;

static int64_t getWindow(const ModelSpec &spec) {
  return std::min(spec.hybrid->window, spec.sequenceLength);
}

/// Returns the blocks of a sequence, one for each rank that shares it. The keys
/// that a query sees are in its block and in the one before.
static int64_t getNumBlocks(const ModelSpec &spec) {
  const int64_t blocks = spec.ranks.contextParallel;
  const bool fits = spec.sequenceLength % blocks == 0 &&
                    getWindow(spec) - 1 <= spec.sequenceLength / blocks;
  return fits ? blocks : 1;
}

/// Returns the name of a table for entries of a ratio.
static std::string getEntryTable(StringRef table, int64_t ratio) {
  return (table + "_" + Twine(ratio)).str();
}

static int64_t getRatio(const ModelSpec &spec, int64_t layer) {
  return spec.hybrid->ratios[static_cast<size_t>(layer)];
}

bool hasIndexerLoss(const ModelSpec &spec, int64_t index) {
  if (!spec.hybrid)
    return false;
  const HybridAttentionSpec &hybrid = *spec.hybrid;
  const int64_t ratio = getRatio(spec, index);
  return hybrid.hasIndexer(ratio) &&
         hybrid.getNumEntries(ratio, spec.sequenceLength) > 0;
}

void addHybridTables(ModelOp model, const ModelSpec &spec) {
  const HybridAttentionSpec &hybrid = *spec.hybrid;
  MLIRContext *context = model.getContext();
  OpBuilder builder(context);
  builder.setInsertionPointToEnd(&model.getBody().front());
  const int64_t length = spec.sequenceLength;
  auto add = [&](StringRef symbol, ArrayRef<int64_t> shape, DType type,
                 InitAttr init, const Cuts &cuts = {}) {
    ParameterTraits traits;
    traits.frozen = true;
    traits.cuts = cuts;
    createParameter(builder, model.getLoc(), symbol,
                    RankedTensorType::get(shape, getFloatType(context, type)),
                    init, traits);
  };
  // Row i is of position i * `step`.
  auto addRotary = [&](StringRef symbol, InitKind kind, int64_t rows,
                       int64_t step) {
    const RotarySpec &rotary = hybrid.entryRotary;
    add(symbol, {rows, rotary.size}, spec.rotaryType,
        InitAttr::get(context, kind, APFloat(rotary.base),
                      APFloat(static_cast<double>(step)), APFloat(1.0),
                      builder.getF64ArrayAttr(rotary.frequencies)));
  };
  auto getSum = [&](double row, double column) {
    return InitAttr::get(context, InitKind::IndexSum, row, column);
  };
  if (!hybrid.isFused) {
    add(windowTable, {length, getWindow(spec)}, DType::F32, getSum(1, 1));
    const int64_t blocks = getNumBlocks(spec);
    if (blocks > 1)
      add(blockTable, {length / blocks, getWindow(spec)}, DType::F32,
          getSum(1, 1));
    add(sampleTable, {spec.microBatchSize, blocks, 1}, DType::F32,
        InitAttr::get(context, InitKind::Zeros, 0.0), {{"dp"}, {}, {}});
  }
  add(queryNormTable, {spec.headSize}, DType::F32,
      InitAttr::get(context, InitKind::Ones, 0.0));
  bool hasEntries = false, hasIndexer = false;
  for (int64_t ratio : {int64_t(4), int64_t(128)}) {
    if (!llvm::is_contained(hybrid.ratios, ratio))
      continue;
    hasIndexer |= hybrid.hasIndexer(ratio);
    const int64_t count = hybrid.getNumEntries(ratio, length);
    hasEntries = true;
    if (count == 0)
      continue;
    if (!hybrid.isFused)
      add(getEntryTable(entryTable, ratio), {length, count}, DType::F32,
          getSum(1, -static_cast<double>(ratio)));
    addRotary(getEntryTable(entryCosineTable, ratio), InitKind::RotaryCos,
              count, ratio);
    addRotary(getEntryTable(entrySineTable, ratio), InitKind::RotarySin, count,
              ratio);
  }
  if (hasEntries) {
    addRotary(entryCosineTable, InitKind::RotaryCos, length, 1);
    addRotary(entrySineTable, InitKind::RotarySin, length, 1);
  }
  if (hasIndexer)
    add(hadamardTable, {hybrid.indexSize, hybrid.indexSize}, DType::F32,
        InitAttr::get(context, InitKind::Hadamard, 0.0));
}

namespace {

/// What a query's entries are to attention.
struct Entries {
  /// For single operators, [batch, sequence, entries of a query, width], and
  /// what is added to their scores: [batch or nothing, sequence, 1, entries of
  /// a query].
  Value keys, mask;
  /// For fused kernels, all entries, [batch, entries, width], and the indices
  /// of those that are chosen, or null.
  Value all, indices;
  /// Of an indexer: its scores of these entries, [batch, sequence, entries of a
  /// query], and 1 where they are visible, else 0. Null without one.
  Value indexScores, seen;
};

class HybridAttentionBuilder {
public:
  explicit HybridAttentionBuilder(CellBuilder &cells)
      : cells(cells), spec(cells.spec), hybrid(*spec.hybrid),
        batch(spec.microBatchSize), length(spec.sequenceLength),
        heads(spec.numHeads), width(spec.headSize), blocks(getNumBlocks(spec)),
        ratio(getRatio(spec, cells.layerIndex)),
        numEntries(hybrid.getNumEntries(ratio, length)) {}

  HybridResult build(Value input) {
    CellBuilder::Cell cell(cells, "self_attention");
    Value latent = addNorm("q_layernorm", addLinear("linear_q_down_proj", input,
                                                    hybrid.queryRank));
    Value query = addLinear("linear_q_up_proj", latent, heads * width);
    query = cells.reshape(query, {batch, length, heads, width}, "reshape");
    const Turn turn = getTurn({length, 1});
    query = rotate(normalizeHeads(query), turn);
    Value keyValue =
        addNorm("kv_layernorm", addLinear("linear_kv_proj", input, width));
    // Keys are rotated as one head, by the tables of the queries.
    keyValue = rotate(
        cells.reshape(keyValue, {batch, length, 1, width}, "reshape"), turn);
    keyValue = cells.reshape(keyValue, {batch, length, width}, "reshape");
    HybridResult result;
    Value attended;
    {
      CellBuilder::Cell core(cells, "core_attention");
      kernel = getKernel();
      if (spec.documentEnd)
        starts = cells.addDocumentStarts();
      if (numEntries > 0)
        addEntries(input, latent);
      CellBuilder::KernelScope scope(cells, kernel);
      // What the indexer's probabilities are compared with.
      Value shares;
      if (hybrid.isFused) {
        attended = attendFused(query, keyValue, shares);
      } else {
        Value entryProducts;
        attended = attend(query, addWindow(keyValue), entryProducts);
        if (hasIndexerLoss(spec, cells.layerIndex))
          shares = addHeadShares(entryProducts);
      }
      if (shares)
        result.loss = addIndexerLoss(shares);
    }
    // Back by the query's position, so that values depend on distances alone.
    const Turn back = {turn.cosine, cells.negate(turn.sine, "neg")};
    result.hidden = addOutput(rotate(attended, back, " of the output"));
    return result;
  }

private:
  /// All ranks have all heads, which share the keys.
  Value addLinear(StringRef name, Value input, int64_t size) {
    CellBuilder::Cell linear(cells, name);
    LinearTraits traits;
    traits.axes.clear();
    return cells.addLinear(input, size, traits);
  }

  Value addNorm(StringRef name, Value value) {
    CellBuilder::Cell norm(cells, name);
    return cells.addNorm(value);
  }

  /// Divides each head by the root of its mean square. The operator computes in
  /// fp32, so that neither queries nor their norm are in memory in fp32.
  Value normalizeHeads(Value query) {
    return cells
        .create<RmsNormOp>("query_norm", query,
                           cells.getParameter(queryNormTable), spec.normEpsilon)
        .getResult();
  }

  /// Each group of heads has a projection of its own, and all groups together
  /// have another one.
  Value addOutput(Value attended) {
    const int64_t groups = hybrid.outputGroups, rank = hybrid.outputRank,
                  size = heads * width / groups;
    // Rows of a rank follow one another.
    const int64_t replicas = spec.ranks.dataParallel, parts = getNumParts(),
                  samples = batch / replicas, tokens = length / parts;
    Value rows = cells.reshape(
        attended, {replicas, samples, parts, tokens, groups, size}, "reshape");
    rows = cells.transpose(rows, {4, 0, 2, 1, 3, 5}, "transpose");
    rows = cells.reshape(rows, {groups, batch * length, size}, "reshape");
    Value weight =
        cells.addParameter("linear_o_group_proj", {groups * rank, size},
                           spec.paramType, cells.getWeightInit(size, rank), {});
    weight = cells.cast(weight, spec.computeType, "cast");
    weight = cells.reshape(weight, {groups, rank, size}, "reshape");
    rows = multiplyMatrices(rows, weight, true, "o_group_matmul");
    rows = cells.reshape(rows, {groups, replicas, parts, samples, tokens, rank},
                         "reshape");
    rows = cells.transpose(rows, {1, 3, 2, 4, 0, 5}, "transpose");
    rows = cells.reshape(rows, {batch, length, groups * rank}, "reshape");
    return addLinear("linear_proj", rows, spec.hiddenSize);
  }

  // Rotation.
  struct Turn {
    Value cosine, sine;
  };

  /// Returns cosines and sines, [positions, 1.., rotated dimensions], with the
  /// dimensions `positions`.
  Turn getTurn(ArrayRef<int64_t> positions) {
    auto get = [&](StringRef table) {
      SmallVector<int64_t> shape(positions);
      shape.push_back(hybrid.rotarySize);
      return cells.reshape(cells.getParameter(table), shape,
                           "rotary_pos_emb.reshape");
    };
    const bool hasEntries = ratio > 1;
    return {get(hasEntries ? entryCosineTable : rotaryCosineTable),
            get(hasEntries ? entrySineTable : rotarySineTable)};
  }

  /// Returns the turn of entries, each that of its first token. Entries have
  /// tables of their own, because ranks cut them in other places than tokens.
  Turn getEntryTurn() {
    return {cells.getParameter(getEntryTable(entryCosineTable, ratio)),
            cells.getParameter(getEntryTable(entrySineTable, ratio))};
  }

  /// Rotates neighbouring pairs of the last dimensions. The trainer keeps the
  /// rotated dimensions in the type of the tables.
  Value rotate(Value value, const Turn &turn, StringRef use = "") {
    CellBuilder::Cell cell(cells, "apply_rotary_emb");
    const int64_t size = getShape(value).back(), turned = hybrid.rotarySize;
    TrainerKernel rotation;
    rotation.keptBytes = llvm::product_of(getShape(value)) / size * turned /
                         spec.ranks.dataParallel / spec.ranks.contextParallel *
                         getBytes(spec.rotaryType);
    CellBuilder::KernelScope scope(cells, cells.getKernel(rotation, use));
    // The operator computes in fp32, and takes tables of its input's type or
    // fp32.
    auto getTable = [&](Value table) {
      return spec.rotaryType == spec.computeType
                 ? table
                 : cells.cast(table, DType::F32, "cast");
    };
    return cells
        .create<RotaryPositionEmbeddingOp>(
            "rope", value, getTable(turn.cosine), getTable(turn.sine),
            /*interleaved=*/true, /*start=*/size - turned)
        .getResult();
  }

  // Keys.
  /// Returns rows [batch, sequence, count, width] by their places, [batch,
  /// sequence * count], or blocks of rows by the places in each block.
  Value gather(Value rows, Value places, int64_t count) {
    const int64_t size = getShape(rows).back();
    rows = cells.create<GatherRowsOp>("gather", rows, places).getResult();
    return cells.reshape(rows, {batch, length, count, size}, "reshape");
  }

  /// Returns [batch, blocks, rows of a block, ...] of [batch, rows, ...].
  Value splitBlocks(Value rows) {
    SmallVector<int64_t> shape(getShape(rows));
    shape[1] /= blocks;
    shape.insert(shape.begin() + 1, blocks);
    return cells.reshape(rows, shape, "reshape");
  }

  /// Returns the last `count` rows of the block before each block of `parts`,
  /// and `fill` before the first one. Ranks gather these rows alone.
  Value takeBefore(Value parts, int64_t count, int64_t fill) {
    StringRef leaf = "halo";
    const int64_t rows = getShape(parts)[2];
    Value last = cells.slice(parts, 2, rows - count, count, leaf);
    // Ranks do not exchange blocks that are split for parts of another
    // dimension.
    SmallVector<int64_t> shape(getShape(last));
    SmallVector<Type> types;
    for (int64_t number : {blocks - 1, int64_t(1)}) {
      shape[1] = number;
      types.push_back(cast<RankedTensorType>(last.getType()).clone(shape));
    }
    auto split = cells.create<SplitOp>(
        leaf, types, last, Builder(last.getContext()).getI64IntegerAttr(1),
        StringAttr(), RecomputeKindAttr(), SwapAttr());
    return pad(split.getParts().front(), 1, 1, 0, fill, leaf);
  }

  /// Returns [batch, blocks, rows, ...] with the rows of `before` in front.
  /// They are put behind first: the first operand of a concatenation says which
  /// blocks a rank has, and of `before` it has all.
  Value putBefore(Value before, Value own) {
    const int64_t numBefore = getShape(before)[2], numOwn = getShape(own)[2];
    auto join = [&](Value first, Value second) {
      return cells
          .create<ConcatOp>("halo", ValueRange{first, second}, /*axis=*/2)
          .getResult();
    };
    Value behind = join(own, before);
    return join(cells.slice(behind, 2, numOwn, numBefore, "halo"),
                cells.slice(behind, 2, 0, numOwn, "halo"));
  }

  /// Returns the keys that queries of a block see, [batch, blocks, keys,
  /// width], or all keys if there is one block.
  Value addHalo(Value keyValue) {
    if (blocks == 1)
      return keyValue;
    keyValue = splitBlocks(keyValue);
    const int64_t before = getWindow(spec) - 1;
    return before > 0 ? putBefore(takeBefore(keyValue, before, 0), keyValue)
                      : keyValue;
  }

  /// Returns the row of a table [sequence, columns] of the token with which the
  /// document of each token starts: [batch, sequence, columns].
  Value takeStarts(StringRef table, StringRef leaf) {
    Value rows = cells.getParameter(table);
    auto type = cast<RankedTensorType>(rows.getType())
                    .clone({batch, length, getShape(rows).back()});
    return cells.create<EmbeddingOp>(leaf, type, ValueRange{rows, starts})
        .getResult();
  }

  Value addWindow(Value keyValue) {
    const int64_t window = getWindow(spec);
    // The number of the first place that a query of the first token sees.
    const double first = blocks > 1 ? 0 : 1.0 - static_cast<double>(window);
    StringRef table = blocks > 1 ? blockTable : windowTable;
    keyValue = addHalo(keyValue);
    const int64_t count = length / blocks * window;
    Value places =
        cells.reshape(cells.getParameter(table), {count}, "window_places");
    places = cells.addScalar(places, first, "window_places");
    Value all =
        cells
            .create<RepeatOp>("window_places", cells.getParameter(sampleTable),
                              /*axis=*/2, count)
            .getResult();
    places = cells.add(all, places, "window_places");
    if (blocks == 1)
      places = cells.reshape(places, {batch, count}, "window_places");
    return gather(keyValue, cells.castToIndex(places, "window_places"), window);
  }

  /// Hides the places before the first token of the sequence, or of the
  /// document: [batch or nothing, sequence, 1, window].
  Value addWindowMask() {
    const int64_t window = getWindow(spec);
    Value places = cells.getParameter(windowTable);
    if (starts) {
      // The number of the query in its document, plus that of the place.
      Value first = cells.slice(places, 0, 0, 1, "window_mask");
      Value rows =
          cells.negate(takeStarts(windowTable, "window_mask"), "window_mask");
      places = cells.add(cells.add(rows, places, "window_mask"), first,
                         "window_mask");
    }
    Value hidden =
        cells.compare(places, Comparison::Less, static_cast<double>(window) - 1,
                      "window_mask");
    SmallVector<int64_t> shape = {length, 1, window};
    if (starts)
      shape.insert(shape.begin(), batch);
    return cells.reshape(cells.scale(hidden, unseenScore, "window_mask"), shape,
                         "window_mask");
  }

  /// Returns 1 where a query sees an entry, all of whose tokens are not behind
  /// it and in its document, else 0: [batch or nothing, sequence, entries].
  Value addEntrySight() {
    // Query p sees entry g if p - g * ratio is at least ratio - 1.
    const std::string table = getEntryTable(entryTable, ratio);
    Value sight = cells.compare(cells.getParameter(table), Comparison::AtLeast,
                                static_cast<double>(ratio) - 1, "entry_mask");
    if (!starts)
      return sight;
    // Where the document starts minus where the entry does.
    Value before = takeStarts(table, "entry_mask");
    Value own = cells.compare(before, Comparison::Less, 0.5, "entry_mask");
    return cells.multiply(own, sight, "entry_mask");
  }

  /// Returns the group before each group of [batch, entries, ...], and `fill`
  /// before the first one.
  Value takeGroupsBefore(Value groups, int64_t fill) {
    if (blocks == 1)
      return cells.slice(pad(groups, 1, 1, 0, fill, "pad"), 1, 0, numEntries,
                         "slice");
    const SmallVector<int64_t> shape(getShape(groups));
    Value own = splitBlocks(groups);
    Value before = takeBefore(own, 1, fill);
    if (const int64_t others = numEntries / blocks - 1; others > 0)
      before = putBefore(before, cells.slice(own, 2, 0, others, "slice"));
    return cells.reshape(before, shape, "reshape");
  }

  /// Returns entries of `size`, [batch, entries, size]: a mean of the vectors
  /// of their tokens, with weights that sum to 1 in each channel.
  Value compress(Value input, StringRef name, int64_t size) {
    CellBuilder::Cell cell(cells, name);
    const bool overlaps = ratio == HybridAttentionSpec::indexedRatio;
    const int64_t channels = overlaps ? 2 * size : size;
    auto split = [&](Value value) {
      if (numEntries * ratio < length)
        value = cells.slice(value, 1, 0, numEntries * ratio, "slice");
      value =
          cells.reshape(value, {batch, numEntries, ratio, channels}, "reshape");
      return cells.cast(value, DType::F32, "cast");
    };
    Value vectors = split(addLinear("linear_wkv", input, channels));
    Value scores = split(addLinear("linear_wgate", input, channels));
    Value places = cells.addParameter("ape", {ratio, channels}, DType::F32,
                                      cells.getWeightInit(channels, ratio), {});
    scores = cells.add(scores, places, "add");
    // The group before has the first channels, and the own group the others.
    auto overlap = [&](Value value, int64_t fill) {
      Value own = cells.sliceLast(value, size, size, "slice");
      Value before = cells.sliceLast(value, 0, size, "slice");
      before = takeGroupsBefore(before, fill);
      return cells.create<ConcatOp>("cat", ValueRange{before, own}, /*axis=*/2)
          .getResult();
    };
    if (overlaps) {
      // Far below all scores; its exponential is 0.
      constexpr int64_t lowest = -1000000000;
      vectors = overlap(vectors, 0);
      scores = overlap(scores, lowest);
    }
    vectors = cells.transpose(vectors, {0, 1, 3, 2}, "transpose");
    scores = cells.transpose(scores, {0, 1, 3, 2}, "transpose");
    Value weights = cells.create<SoftmaxOp>("softmax", scores.getType(), scores)
                        .getResult();
    Value pooled =
        cells.reduceSum(cells.multiply(vectors, weights, "mul"), {3}, "sum");
    pooled = addNorm("norm", cells.cast(pooled, spec.computeType, "cast"));
    return rotate(pooled, getEntryTurn());
  }

  void addEntries(Value input, Value latent) {
    Value all = compress(input, "compressor", width);
    if (hybrid.hasIndexer(ratio))
      return chooseEntries(all, input, latent);
    CellBuilder::KernelScope scope(cells, kernel);
    entries.emplace();
    entries->all = all;
    if (hybrid.isFused)
      return;
    entries->keys =
        cells
            .create<RepeatOp>(
                "gather",
                cells.reshape(all, {batch, 1, numEntries, width}, "reshape"),
                /*axis=*/1, length)
            .getResult();
    Value hidden = cells.addScalar(addEntrySight(), -1.0, "entry_mask");
    SmallVector<int64_t> shape = {length, 1, numEntries};
    if (starts)
      shape.insert(shape.begin(), batch);
    entries->mask = cells.reshape(
        cells.scale(hidden, -unseenScore, "entry_mask"), shape, "entry_mask");
  }

  /// The indexer scores all entries for each query with heads of its own. Only
  /// its loss trains it.
  void chooseEntries(Value all, Value input, Value latent) {
    const int64_t count = std::min(hybrid.numChosen, numEntries),
                  size = hybrid.indexSize, indexHeads = hybrid.indexHeads;
    entries.emplace();
    Value chosen;
    {
      CellBuilder::Cell cell(cells, "indexer");
      input = stop(input, "stop_gradient");
      latent = stop(latent, "stop_gradient");
      auto transform = [&](Value value) {
        Value table = cells.cast(cells.getParameter(hadamardTable),
                                 spec.computeType, "hadamard");
        value = multiplyMatrices(value, table, false, "hadamard");
        return cells.scale(value, 1.0 / std::sqrt(static_cast<double>(size)),
                           "hadamard");
      };
      Value query = addLinear("linear_wq_b", latent, indexHeads * size);
      query =
          cells.reshape(query, {batch, length, indexHeads, size}, "reshape");
      query = transform(rotate(query, getTurn({length, 1})));
      Value key = transform(compress(input, "compressor", size));
      Value shares = addLinear("linear_weights_proj", input, indexHeads);
      shares = cells.scale(
          shares, 1.0 / std::sqrt(static_cast<double>(indexHeads)), "mul");
      shares = cells.scale(shares, 1.0 / std::sqrt(static_cast<double>(size)),
                           "mul");

      CellBuilder::KernelScope scope(cells, kernel);
      if (hybrid.isFused) {
        auto best = cells.create<LightningIndexerOp>("topk", query, key, shares,
                                                     ratio, count, unseenScore);
        entries->all = all;
        entries->indices = best.getIndices();
        entries->indexScores = best.getValues();
        entries->seen = cells.compare(best.getValues(), Comparison::AtLeast,
                                      unseenScore / 2, "chosen_mask");
        return;
      }
      query =
          cells.reshape(query, {batch, length * indexHeads, size}, "reshape");
      Value products =
          multiplyMatrices(cells.cast(query, DType::F32, "cast"),
                           cells.cast(key, DType::F32, "cast"), true, "matmul");
      products = cells.multiply(
          products, cells.compare(products, Comparison::Greater, 0.0, "relu"),
          "relu");
      products = cells.reshape(
          products, {batch, length, indexHeads, numEntries}, "reshape");
      shares = cells.cast(shares, DType::F32, "cast");
      shares = cells.reshape(shares, {batch, length, 1, indexHeads}, "reshape");
      Value scores = multiplyMatrices(shares, products, false, "head_sum");
      scores = cells.reshape(scores, {batch, length, numEntries}, "reshape");
      Value unseen = cells.addScalar(addEntrySight(), -1.0, "entry_mask");
      unseen = cells.scale(unseen, -unseenScore, "entry_mask");
      auto best =
          cells.create<TopKOp>("topk", cells.add(scores, unseen, "add"), count);
      chosen =
          cells.reshape(best.getIndices(), {batch, length * count}, "reshape");
      entries->seen = cells.compare(best.getValues(), Comparison::AtLeast,
                                    unseenScore / 2, "chosen_mask");
      Value hidden =
          cells.scale(cells.addScalar(entries->seen, -1.0, "chosen_mask"),
                      -unseenScore, "chosen_mask");
      entries->indexScores =
          cells.add(cells.multiply(best.getValues(), entries->seen, "mul"),
                    hidden, "add");
      entries->mask =
          cells.reshape(hidden, {batch, length, 1, count}, "reshape");
    }
    CellBuilder::KernelScope scope(cells, kernel);
    entries->keys = gather(all, chosen, count);
  }

  // Attention.
  double getScale() const {
    return 1.0 / std::sqrt(static_cast<double>(width));
  }

  /// Returns the score of each head that belongs to no key.
  Value addSink() {
    return cells.addParameter("attn_sink", {heads}, DType::F32,
                              cells.getInit(InitKind::Zeros), {});
  }

  /// Returns attention's result, and in `shares` those of the chosen entries if
  /// an indexer is trained by them.
  Value attendFused(Value query, Value keyValue, Value &shares) {
    Value all = entries ? entries->all : Value(),
          indices = entries ? entries->indices : Value();
    keyValue = addHalo(keyValue);
    auto attention = cells.create<HybridAttentionOp>(
        "hybrid_attention", query, keyValue, addSink(), all, indices,
        getWindow(spec), entries ? ratio : 0, getScale());
    if (hasIndexerLoss(spec, cells.layerIndex))
      shares = cells
                   .create<EntrySharesOp>("entry_shares", query, all, indices,
                                          attention.getLogSum(), getScale())
                   .getResult();
    return attention.getResult();
  }

  /// Scaled products of queries and keys, [batch, sequence, heads, keys].
  Value addScores(Value query, Value keys) {
    Value scores = multiplyMatrices(query, keys, true, "bmm_qk");
    return cells.scale(scores, getScale(), "mul");
  }

  /// The softmax has one more column, the sink of each head, whose value is 0.
  Value attend(Value query, Value window, Value &entryProducts) {
    const int64_t numWindow = getShape(window)[2];
    query = cells.cast(query, DType::F32, "cast");
    window = cells.cast(window, DType::F32, "cast");
    Value scores = cells.add(addScores(query, window), addWindowMask(), "add");
    Value entryKeys;
    int64_t numOthers = 0;
    if (entries) {
      entryKeys = cells.cast(entries->keys, DType::F32, "cast");
      numOthers = getShape(entryKeys)[2];
      entryProducts = addScores(query, entryKeys);
      scores = cells.concatLast(
          {scores, cells.add(entryProducts, entries->mask, "add")}, "cat");
    }
    const int64_t keys = numWindow + numOthers;
    Value sink = cells.reshape(addSink(), {heads, 1}, "reshape");
    sink = cells
               .create<PadOp>("sink", sink, ArrayRef<int64_t>{0, keys},
                              ArrayRef<int64_t>{0, 0})
               .getResult();
    scores = cells
                 .create<PadOp>("sink", scores, ArrayRef<int64_t>{0, 0, 0, 0},
                                ArrayRef<int64_t>{0, 0, 0, 1})
                 .getResult();
    scores = cells.add(scores, sink, "sink");
    Value weights = cells.create<SoftmaxOp>("softmax", scores.getType(), scores)
                        .getResult();
    Value result =
        multiplyMatrices(cells.sliceLast(weights, 0, numWindow, "slice"),
                         window, false, "bmm_pv");
    if (entries) {
      Value entryWeights =
          cells.sliceLast(weights, numWindow, numOthers, "slice");
      result = cells.add(
          result, multiplyMatrices(entryWeights, entryKeys, false, "bmm_pv"),
          "add");
    }
    return cells.cast(result, spec.computeType, "cast");
  }

  /// Returns the number of parts of a sequence on ranks that share it; 1 if it
  /// does not divide.
  int64_t getNumParts() const {
    const RankLayout &ranks = spec.ranks;
    const int64_t parts = ranks.contextParallel *
                          (ranks.sequenceParallel ? ranks.modelParallel : 1);
    return length % parts == 0 ? parts : 1;
  }

  /// Returns what the trainer keeps of the core of attention on a rank, which
  /// has all heads, the tokens of its block and the entries of the whole
  /// sequence.
  DictionaryAttr getKernel() const {
    const int64_t samples = batch / spec.ranks.dataParallel,
                  tokens = samples * length / spec.ranks.contextParallel;
    const bool hasIndexer = hybrid.hasIndexer(ratio) && numEntries > 0;
    const int64_t chosen =
        hasIndexer ? std::min(hybrid.numChosen, numEntries) : numEntries;
    const int64_t keys = getWindow(spec) + chosen;
    TrainerKernel core;
    if (hybrid.isFused) {
      // The kernels read queries, keys and entries where they are.
      core.keepsOperands = core.keepsResults = true;
      // The logarithm of each head's sum of exponentials, in fp32.
      core.keptBytes = 4 * tokens * heads;
      if (hasIndexer) {
        // Indices, in 32 bits.
        core.keptBytes += 4 * tokens * hybrid.numChosen;
        // The heads' shares are fp32, two bytes more than those that are read.
        core.keptBytes += 2 * tokens * hybrid.indexHeads;
      }
      // Sums over heads of the probabilities of the window and of the entries.
      core.backwardBytes = 4 * tokens * keys;
      // The workspace: a part for the cores of the chip, and for each token the
      // gradients of its queries and of its key, and a row of scores, in fp32.
      constexpr int64_t coreWorkspace = 200 * 1048576;
      core.backwardBytes +=
          coreWorkspace + 4 * tokens * (heads * width + width + keys);
      return cells.getKernel(core);
    }
    // In fp32, the keys of each query and their transpose.
    const int64_t gathered = 4 * tokens * keys * width;
    core.keptBytes = 2 * gathered;
    // Queries in fp32.
    core.keptBytes += 4 * tokens * heads * width;
    // Exponentials, weights and permuted weights.
    core.keptBytes += 3 * 4 * tokens * heads * keys;
    // The indices of the keys, in 64 bits.
    core.keptBytes += 8 * tokens * keys;
    if (hasIndexer) {
      const int64_t indexHeads = hybrid.indexHeads;
      // Of the indexer, queries, entries and the heads' shares in fp32.
      core.keptBytes += 4 * tokens * indexHeads * hybrid.indexSize +
                        4 * samples * numEntries * hybrid.indexSize +
                        4 * tokens * indexHeads;
      // The products of queries and entries above 0.
      core.keptBytes += 4 * tokens * indexHeads * numEntries;
    }
    if (hasIndexerLoss(spec, cells.layerIndex)) {
      // The two distributions over the chosen entries.
      core.keptBytes += 2 * 4 * tokens * chosen;
      // The products of all queries and entries, in bf16 and in fp32.
      core.forwardBytes = 6 * tokens * heads * numEntries;
    }
    // The keys' gradients from both products, and their sum, in fp32.
    core.backwardBytes = 3 * gathered;
    return cells.getKernel(core);
  }

  /// Returns the sum over heads of the probabilities of chosen entries among
  /// the entries, without the window and the sink.
  Value addHeadShares(Value entryProducts) {
    CellBuilder::Cell cell(cells, "unfused_indexer_loss");
    Value target =
        cells.add(stop(entryProducts, "stop_gradient"), entries->mask, "add");
    target = cells.create<SoftmaxOp>("softmax", target.getType(), target)
                 .getResult();
    return cells.reduceSum(target, {2}, "post_head_sum");
  }

  /// Returns how far the probabilities that the indexer's scores make of the
  /// chosen entries are from those of attention, `target` divided by its sums:
  /// the mean over tokens of the sum of t (ln t - ln y).
  Value addIndexerLoss(Value target) {
    CellBuilder::Cell cell(cells, "unfused_indexer_loss");
    StringRef leaf = "loss";
    Value scores = entries->indexScores;
    Type type = scores.getType();
    Value share = divideBySum(target, "div");
    Value own =
        cells.create<SoftmaxOp>("index_softmax", type, scores).getResult();
    auto addLog = [&](Value value) {
      return cells.create<LogOp>("log", type, value).getResult();
    };
    // At least 1e-9.
    Value low = cells.compare(share, Comparison::Less, 1e-9, leaf);
    Value wanted = cells.add(
        cells.multiply(
            share, cells.addScalar(cells.negate(low, leaf), 1.0, leaf), leaf),
        cells.scale(low, 1e-9, leaf), leaf);
    Value distance = cells.add(
        addLog(wanted),
        cells.negate(addLog(cells.addScalar(own, 1e-9, leaf)), leaf), leaf);
    auto addMean = [&](Value value) {
      const double tokens =
          static_cast<double>(batch) * static_cast<double>(length);
      return cells.scale(cells.reduceSum(value, {0, 1, 2}, leaf),
                         hybrid.indexLossFactor / tokens, leaf);
    };
    Value loss = addMean(cells.multiply(share, distance, leaf));
    if (!hybrid.isFused)
      return loss;
    // The fused kernels report this loss, but have the gradient of the sum of p
    // (ln p - ln y), where the p of the heads' mean do not sum to 1. By a
    // score, the gradient is y times the sum of p, minus p.
    SmallVector<int64_t> rows(getShape(target));
    rows.back() = 1;
    Value sum = cells.reshape(cells.reduceSum(target, {2}, leaf), rows, leaf);
    Value slope =
        cells.add(cells.multiply(stop(own, "stop_gradient"), sum, leaf),
                  cells.negate(target, leaf), leaf);
    Value seen = cells.multiply(scores, entries->seen, leaf);
    Value line = addMean(cells.multiply(seen, slope, leaf));
    Value rest =
        cells.add(stop(loss, "stop_gradient"),
                  cells.negate(stop(line, "stop_gradient"), leaf), leaf);
    return cells.add(line, rest, leaf);
  }

  Value stop(Value value, StringRef leaf) {
    return cells.create<StopGradientOp>(leaf, value.getType(), value)
        .getResult();
  }
  Value multiplyMatrices(Value lhs, Value rhs, bool transposes,
                         StringRef leaf) {
    return cells.create<MatmulOp>(leaf, lhs, rhs, false, transposes)
        .getResult();
  }
  Value pad(Value value, size_t dim, int64_t before, int64_t behind,
            int64_t fill, StringRef leaf) {
    SmallVector<int64_t> low(getShape(value).size(), 0), high(low);
    low[dim] = before;
    high[dim] = behind;
    return cells.create<PadOp>(leaf, value, low, high, fill).getResult();
  }

  Value divideBySum(Value values, StringRef leaf) {
    SmallVector<int64_t> shape(getShape(values));
    const auto last = static_cast<int64_t>(shape.size()) - 1;
    shape.back() = 1;
    Value sum =
        cells.reshape(cells.reduceSum(values, {last}, leaf), shape, leaf);
    // At least 1e-12, so that a row without weights stays 0.
    Value low = cells.compare(sum, Comparison::Less, 1e-12, leaf);
    sum = cells.add(sum, cells.scale(low, 1e-12, leaf), leaf);
    return cells.create<DivOp>(leaf, values, sum).getResult();
  }

  CellBuilder &cells;
  const ModelSpec &spec;
  const HybridAttentionSpec &hybrid;
  const int64_t batch, length, heads, width, blocks, ratio, numEntries;
  /// Where the document of each token starts, [batch, sequence]; null without
  /// documents.
  Value starts;
  std::optional<Entries> entries;
  /// The trainer's own way from queries and keys to their result and the loss.
  DictionaryAttr kernel;
};

} // namespace

HybridResult addHybridAttention(CellBuilder &cells, Value input) {
  return HybridAttentionBuilder(cells).build(input);
}

} // namespace mf
