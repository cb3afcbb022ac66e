//===- LightningIndexer.cpp - The entries with the largest scores ---------===//
// SPDX-License-Identifier: Apache-2.0

#include "BlockSums.h"
#include "Factories.h"
#include "SelectionLoops.h"

namespace mf {
namespace {

/// The gradients go through the products that are above 0, which are computed
/// again for the entries that were chosen.
struct LightningIndexerGradKernel {
  HybridShape shape;

  void operator()(const KernelOperands &operands, ThreadPool &pool) const {
    const BlockSums sums(shape, shape.entries * shape.width);
    sums.run(operands.workspace, pool, [&](int64_t query, float *own) {
      runQuery(operands, query, own);
    });
    for (int64_t sample = 0; sample < shape.batch; ++sample) {
      const int64_t size = shape.entries * shape.width;
      sums.addUp(operands.workspace, pool, sample, 0, size, shape.type,
                 at(operands.outputs[1], shape.type, sample * size));
    }
  }

  void runQuery(const KernelOperands &operands, int64_t query,
                float *own) const {
    const int64_t heads = shape.heads, width = shape.width,
                  sample = query / shape.queries;
    const auto *gradients = operands.getInput<float>(0) + query * shape.chosen;
    const auto *indices = operands.getInput<int32_t>(4) + query * shape.chosen;
    WideRows queries(shape.type, width), key(queries), weights(shape.type, 1);
    queries.take(operands.inputs[1], query * heads, heads);
    weights.take(operands.inputs[3], query * heads, heads);
    std::vector<float> dq(heads * width), dWeights(heads);
    for (int64_t i = 0; i < shape.chosen; ++i) {
      if (indices[i] < 0 || indices[i] >= shape.entries)
        continue;
      key.take(operands.inputs[2], sample * shape.entries + indices[i], 1);
      for (int64_t head = 0; head < heads; ++head) {
        float product = 0;
        runRowProducts(DType::F32, queries.get(head), key.get(0), &product, 1,
                       width);
        if (!(product > 0))
          continue;
        dWeights[head] += gradients[i] * product;
        const float slope = gradients[i] * *weights.get(head);
        addScaled(slope, key.get(0), &dq[head * width], width);
        addScaled(slope, queries.get(head), own + indices[i] * width, width);
      }
    }
    runCastLoop(DType::F32, shape.type, dq.data(),
                at(operands.outputs[0], shape.type, query * heads * width),
                heads * width);
    runCastLoop(DType::F32, shape.type, dWeights.data(),
                at(operands.outputs[2], shape.type, query * heads), heads);
  }
};

/// The queries that share the conversion of an indexer's keys.
constexpr int64_t queriesPerTile = 16;

/// Scores the entries that a query sees, and stores the best of them.
void chooseEntries(const HybridShape &shape, const KernelOperands &operands,
                   int64_t query, const WideRows &keys, float unseen) {
  const int64_t heads = shape.heads, chosen = shape.chosen;
  const int64_t seen = getNumSeen(getPosition(shape, operands, query),
                                  shape.ratio, shape.entries);
  auto *values = operands.getOutput<float>(0) + query * chosen;
  auto *indices = operands.getOutput<int32_t>(1) + query * chosen;
  WideRows queries(shape.type, shape.width), weights(shape.type, 1);
  queries.take(operands.inputs[0], query * heads, heads);
  weights.take(operands.inputs[2], query * heads, heads);
  std::vector<float> scores(seen);
  for (int64_t head = 0; head < heads; ++head)
    for (int64_t entry = 0; entry < seen; ++entry) {
      float product = 0;
      runRowProducts(DType::F32, queries.get(head), keys.get(entry), &product,
                     1, shape.width);
      // Not the maximum with 0, which would hide a NaN.
      scores[entry] += *weights.get(head) * (product <= 0 ? 0 : product);
    }
  const int64_t count = std::min(chosen, seen);
  std::vector<SortedElement> best(count);
  if (count > 0)
    runTopkLoop(DType::F32, scores.data(), seen, best.data(), count);
  for (int64_t i = 0; i < chosen; ++i) {
    values[i] = i < count ? scores[best[i].index] : unseen;
    indices[i] = i < count ? static_cast<int32_t>(best[i].index) : -1;
  }
}

} // namespace

KernelOrError makeLightningIndexer(const KernelSpec &spec,
                                   SpecChecker &checker) {
  HybridShape shape;
  readQuery(spec, 0, checker, shape);
  shape.entries = readRows(spec, 1, checker, shape);
  shape.ratio = checker.getInt("ratio");
  shape.chosen = checker.getInt("k");
  checker.require(shape.chosen >= 1 && shape.chosen <= shape.entries,
                  "attribute 'k' is not from 1 to the number of entries");
  checker.requireInput(2,
                       {shape.type, {shape.batch, shape.queries, shape.heads}});
  readFirst(spec, 3, checker, shape);
  checker.requireOutput(0, shape.getChosen(DType::F32));
  checker.requireOutput(1, shape.getChosen(DType::I32));
  const auto unseen = static_cast<float>(checker.getDouble("unseen"));
  if (llvm::Error error = checker.takeError())
    return error;
  const Tiles tiles(shape.queries, queriesPerTile);
  return makeTiledKernel(
      Tiles(shape.batch * tiles.count, 1),
      [shape, tiles, unseen](const KernelOperands &operands, int64_t number,
                             int64_t) {
        const int64_t sample = number / tiles.count;
        WideRows keys(shape.type, shape.width);
        keys.take(operands.inputs[1], sample * shape.entries, shape.entries);
        auto [begin, size] = tiles[number % tiles.count];
        for (int64_t i = begin; i < begin + size; ++i)
          chooseEntries(shape, operands, sample * shape.queries + i, keys,
                        unseen);
      });
}

KernelOrError makeLightningIndexerGrad(const KernelSpec &spec,
                                       SpecChecker &checker) {
  HybridShape shape;
  readQuery(spec, 1, checker, shape);
  shape.entries = readRows(spec, 2, checker, shape);
  readChosen(spec, 4, checker, shape);
  const TensorShape weights = {shape.type,
                               {shape.batch, shape.queries, shape.heads}};
  checker.requireInput(0, shape.getChosen(DType::F32));
  checker.requireInput(3, weights);
  checker.requireOutput(0, shape.getQuery());
  checker.requireOutput(1, shape.getRows(shape.entries));
  checker.requireOutput(2, weights);
  if (llvm::Error error = checker.takeError())
    return error;
  return makeFunctionKernel(LightningIndexerGradKernel{shape});
}

} // namespace mf
