//===- ExpertRows.cpp - Ranges of rows of experts -------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "ExpertRows.h"
#include "llvm/Support/ErrorHandling.h"
#include <algorithm>
#include <numeric>

namespace mf {

ExpertShape readExpertShape(const KernelSpec &spec, SpecChecker &checker) {
  ExpertShape shape;
  const TensorShape &x = spec.inputs[0], &counts = spec.inputs[2];
  shape.operandType = x.type;
  shape.resultType = spec.outputs[0].type;
  checker.requireFloatInput(0);
  checker.requireInputType(1, x.type);
  if (shape.resultType != DType::F32)
    checker.requireOutputType(0, x.type);
  checker.require(x.dims.size() == 4,
                  "input 0 is " + toString(x) +
                      ", expected groups, ranks, rows and columns");
  checker.require(counts.dims.size() == 3, "input 2 is " + toString(counts) +
                                               ", expected groups, ranks and "
                                               "experts");
  if (checker.hasFailed())
    return shape;
  shape.groups = x.dims[0];
  shape.ranks = x.dims[1];
  shape.rows = x.dims[2];
  shape.in = x.dims[3];
  shape.experts = counts.dims[2];
  checker.requireInput(
      2, {DType::F32, {shape.groups, shape.ranks, shape.experts}});
  return shape;
}

int64_t readRowCount(float count, int64_t most) {
  // The condition is written such that it holds for NaN.
  if (!(count >= 1))
    return 0;
  return static_cast<double>(count) < static_cast<double>(most)
             ? static_cast<int64_t>(count)
             : most;
}

ExpertRowTable::ExpertRowTable(const ExpertShape &shape, const float *counts)
    : shape(shape) {
  rows.reserve(shape.groups * shape.ranks * shape.experts);
  for (int64_t part = 0; part < shape.groups * shape.ranks; ++part) {
    int64_t taken = 0;
    for (int64_t expert = 0; expert < shape.experts; ++expert) {
      const int64_t size = readRowCount(*counts++, shape.rows - taken);
      rows.push_back({part * shape.rows + taken, size});
      taken += size;
    }
  }
}

ExpertRows ExpertRowTable::getRest(int64_t group, int64_t rank) const {
  const ExpertRows last = get(group, rank, shape.experts - 1);
  const int64_t begin = last.begin + last.size;
  return {begin, (group * shape.ranks + rank + 1) * shape.rows - begin};
}

void runExpertTiles(ExpertOrder order, llvm::ArrayRef<int64_t> tileCounts,
                    ThreadPool &pool,
                    llvm::function_ref<void(size_t, int64_t)> run) {
  if (order == ExpertOrder::OneByOne) {
    for (size_t product = 0; product < tileCounts.size(); ++product)
      pool.parallelFor(tileCounts[product],
                       [&](int64_t tile) { run(product, tile); });
    return;
  }
  std::vector<int64_t> ends(tileCounts.size());
  std::partial_sum(tileCounts.begin(), tileCounts.end(), ends.begin());
  pool.parallelFor(ends.empty() ? 0 : ends.back(), [&](int64_t tile) {
    const auto end = std::upper_bound(ends.begin(), ends.end(), tile);
    const auto product = static_cast<size_t>(end - ends.begin());
    run(product, tile - (*end - tileCounts[product]));
  });
}

bool multipliesDirectly(DType operandType, DType resultType) {
  ProductSpec probe;
  probe.m = probe.n = probe.k = 64;
  probe.a = probe.b = {64, 1};
  probe.cStride = 64;
  probe.operandType = operandType;
  probe.resultType = resultType;
  return getDirectProduct(probe) != nullptr;
}

const Product &ProductCache::get(const ProductSpec &spec) const {
  const std::vector<int64_t> key = {spec.m,
                                    spec.n,
                                    spec.k,
                                    spec.a.rowStride,
                                    spec.a.columnStride,
                                    spec.b.rowStride,
                                    spec.b.columnStride,
                                    spec.cStride,
                                    static_cast<int64_t>(spec.resultType),
                                    spec.accumulate ? 1 : 0};
  std::lock_guard<std::mutex> lock(mutex);
  std::shared_ptr<const Product> &product = products[key];
  if (!product)
    product = getProduct(spec);
  if (!product)
    llvm::report_fatal_error("cannot make a matrix product");
  return *product;
}

} // namespace mf
