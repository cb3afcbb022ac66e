//===- HybridAttentionGrad.cpp - Gradients over window and entries --------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Scores are computed again from the operands, and probabilities p from the
// kept logarithm of their sums. With dp = dout row, delta = out dout and ds =
// p * (dp - delta):
//   dq += scale * ds row,  drow += p dout + scale * ds q,
//   dsink -= exp(sink - log sum) * delta.
//
//===----------------------------------------------------------------------===//

#include "BlockSums.h"
#include "Factories.h"

namespace mf {
namespace {

struct HybridAttentionGradKernel {
  HybridShape shape;
  /// The input of the entries, if there are any.
  size_t entries;

  void operator()(const KernelOperands &operands, ThreadPool &pool) const {
    // The sums of the rows, and then those of the sinks.
    const BlockSums sums(shape, shape.getNumRows() * shape.width + shape.heads);
    sums.run(operands.workspace, pool, [&](int64_t query, float *own) {
      runQuery(operands, query, own);
    });
    const int64_t width = shape.width, sinks = shape.getNumRows() * width;
    // Sinks are first: the sums of rows change those of the first block.
    for (int64_t head = 0; head < shape.heads; ++head)
      operands.getOutput<float>(2)[head] =
          sums.addUp(operands.workspace, sinks + head);
    for (int64_t sample = 0; sample < shape.batch; ++sample) {
      auto add = [&](size_t output, int64_t first, int64_t rows) {
        sums.addUp(
            operands.workspace, pool, sample, first * width, rows * width,
            shape.type,
            at(operands.outputs[output], shape.type, sample * rows * width));
      };
      add(1, 0, shape.keys);
      if (shape.entries > 0)
        add(3, shape.keys, shape.entries);
    }
  }

  void runQuery(const KernelOperands &operands, int64_t query,
                float *own) const {
    SeenRows rows(shape);
    rows.find(operands.inputs[2], findInput(operands, entries),
              findInput<const int32_t>(operands, entries + 1),
              getPosition(shape, operands, query), query);
    const int64_t first = query * shape.heads, width = shape.width;
    WideRows queries(shape.type, width), out(queries), gradients(queries);
    queries.take(operands.inputs[1], first, shape.heads);
    out.take(operands.inputs[4], first, shape.heads);
    gradients.take(operands.inputs[0], first, shape.heads);
    std::vector<float> probabilities(rows.size()), slopes(rows.size()),
        dq(width);
    for (int64_t head = 0; head < shape.heads; ++head) {
      const float *q = queries.get(head), *dout = gradients.get(head);
      const float logSum = operands.getInput<float>(5)[first + head];
      float delta = 0;
      runRowProducts(DType::F32, out.get(head), dout, &delta, 1, width);
      rows.multiply(q, shape.scale, probabilities.data());
      runExponentials(DType::F32, probabilities.data(), logSum,
                      probabilities.data(), rows.size());
      rows.multiply(dout, 1, slopes.data());
      std::fill(dq.begin(), dq.end(), 0.0f);
      for (int64_t i = 0; i < rows.size(); ++i) {
        const float slope =
            shape.scale * (probabilities[i] * (slopes[i] - delta));
        float *row = own + rows.getPlace(i) * width;
        addScaled(slope, rows.get(i), dq.data(), width);
        addScaled(probabilities[i], dout, row, width);
        addScaled(slope, q, row, width);
      }
      runCastLoop(DType::F32, shape.type, dq.data(),
                  at(operands.outputs[0], shape.type, (first + head) * width),
                  width);
      float share = 0;
      runExponentials(DType::F32, operands.getInput<float>(3) + head, logSum,
                      &share, 1);
      own[shape.getNumRows() * width + head] -= share * delta;
    }
  }
};

} // namespace

KernelOrError makeHybridAttentionGrad(const KernelSpec &spec,
                                      SpecChecker &checker) {
  HybridShape shape;
  const size_t entries = readSeen(spec, 1, 6, checker, shape);
  checker.requireInput(0, shape.getQuery());
  checker.requireInput(3, {DType::F32, {shape.heads}});
  checker.requireInput(4, shape.getQuery());
  checker.requireInput(5, shape.getLogSum());
  checker.requireOutput(0, shape.getQuery());
  checker.requireOutput(1, shape.getKeys());
  checker.requireOutput(2, {DType::F32, {shape.heads}});
  checker.require(spec.outputs.size() == (shape.entries > 0 ? 4 : 3),
                  "expected a gradient of the entries if there are entries");
  if (!checker.hasFailed() && shape.entries > 0)
    checker.requireOutput(3, shape.getRows(shape.entries));
  if (llvm::Error error = checker.takeError())
    return error;
  return makeFunctionKernel(HybridAttentionGradKernel{shape, entries});
}

} // namespace mf
