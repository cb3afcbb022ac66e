//===- HybridAttention.cpp - Attention over a window and entries ----------===//
// SPDX-License-Identifier: Apache-2.0

#include "Factories.h"
#include "HybridRows.h"

namespace mf {
namespace {

struct HybridAttentionKernel {
  HybridShape shape;
  /// The input of the entries, if there are any.
  size_t entries;

  void operator()(const KernelOperands &operands, ThreadPool &pool) const {
    pool.parallelFor(shape.getNumQueries(), [&](int64_t query) {
      SeenRows rows(shape);
      rows.find(operands.inputs[1], findInput(operands, entries),
                findInput<const int32_t>(operands, entries + 1),
                getPosition(shape, operands, query), query);
      WideRows heads(shape.type, shape.width);
      heads.take(operands.inputs[0], query * shape.heads, shape.heads);
      std::vector<float> weights(rows.size()), result(shape.width);
      for (int64_t head = 0; head < shape.heads; ++head)
        runHead(operands, rows, heads.get(head), query * shape.heads + head,
                weights, result);
    });
  }

  void runHead(const KernelOperands &operands, const SeenRows &rows,
               const float *query, int64_t row, std::vector<float> &weights,
               std::vector<float> &result) const {
    const float sink = operands.getInput<float>(2)[row % shape.heads];
    rows.multiply(query, shape.scale, weights.data());
    // The sink is in the maximum.
    float largest = sink;
    for (const float score : weights)
      largest = std::max(largest, score);
    runExponentials(DType::F32, weights.data(), largest, weights.data(),
                    rows.size());
    float sum = 0;
    runExponentials(DType::F32, &sink, largest, &sum, 1);
    sum += sumRow(rows.size(), [&](int64_t begin, int64_t count) {
      return runSumLoop(DType::F32, &weights[begin], count);
    });
    std::fill(result.begin(), result.end(), 0.0f);
    for (int64_t i = 0; i < rows.size(); ++i)
      addScaled(weights[i], rows.get(i), result.data(), shape.width);
    runDivideRows(shape.type, result.data(), &sum,
                  at(operands.outputs[0], shape.type, row * shape.width), 1,
                  shape.width);
    float logarithm = 0;
    runUnaryLoop(UnaryOp::Log, DType::F32, &sum, &logarithm, 1, 0);
    operands.getOutput<float>(1)[row] = largest + logarithm;
  }
};

} // namespace

KernelOrError makeHybridAttention(const KernelSpec &spec,
                                  SpecChecker &checker) {
  HybridShape shape;
  const size_t entries = readSeen(spec, 0, 3, checker, shape);
  checker.requireInput(2, {DType::F32, {shape.heads}});
  checker.requireOutput(0, shape.getQuery());
  checker.requireOutput(1, shape.getLogSum());
  if (llvm::Error error = checker.takeError())
    return error;
  return makeFunctionKernel(HybridAttentionKernel{shape, entries});
}

KernelOrError makeEntryShares(const KernelSpec &spec, SpecChecker &checker) {
  HybridShape shape;
  readQuery(spec, 0, checker, shape);
  shape.entries = readRows(spec, 1, checker, shape);
  readChosen(spec, 2, checker, shape);
  shape.scale = static_cast<float>(checker.getDouble("scale"));
  checker.requireInput(3, shape.getLogSum());
  checker.requireOutput(0, shape.getChosen(DType::F32));
  if (llvm::Error error = checker.takeError())
    return error;
  return makeTiledKernel(
      Tiles(shape.getNumQueries(), 1),
      [shape](const KernelOperands &operands, int64_t query, int64_t) {
        const int64_t sample = query / shape.queries;
        const auto *indices =
            operands.getInput<int32_t>(2) + query * shape.chosen;
        const auto *logSum = operands.getInput<float>(3) + query * shape.heads;
        auto *shares = operands.getOutput<float>(0) + query * shape.chosen;
        WideRows heads(shape.type, shape.width), entry(shape.type, shape.width);
        heads.take(operands.inputs[0], query * shape.heads, shape.heads);
        std::vector<float> scores(shape.heads);
        for (int64_t i = 0; i < shape.chosen; ++i) {
          shares[i] = 0;
          if (indices[i] < 0 || indices[i] >= shape.entries)
            continue;
          entry.take(operands.inputs[1], sample * shape.entries + indices[i],
                     1);
          for (int64_t head = 0; head < shape.heads; ++head) {
            runRowProducts(DType::F32, heads.get(head), entry.get(0),
                           &scores[head], 1, shape.width);
            scores[head] = shape.scale * scores[head] - logSum[head];
          }
          runExponentials(DType::F32, scores.data(), 0, scores.data(),
                          shape.heads);
          shares[i] =
              sumRow(shape.heads,
                     [&](int64_t begin, int64_t count) {
                       return runSumLoop(DType::F32, &scores[begin], count);
                     }) /
              static_cast<float>(shape.heads);
        }
      });
}

} // namespace mf
