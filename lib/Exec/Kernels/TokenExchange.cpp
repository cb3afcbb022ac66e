//===- TokenExchange.cpp - Tokens between the ranks of a group ------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The exchange of expert parallelism if one rank has the rows of all. It is the
// reference for the collective, and the kernel of a program whose groups are
// whole.
//
//===----------------------------------------------------------------------===//

#include "ElementTypes.h"
#include "ElementwiseLoops.h"
#include "ExpertRows.h"
#include "Factories.h"
#include "Tiles.h"
#include <cstring>
#include <limits>

namespace mf {
namespace {

struct ExchangeShape {
  DType type = DType::F32;
  int64_t groups = 1, ranks = 1, experts = 1;
  /// Rows of a source and of a destination.
  int64_t rowsFrom = 1, rowsTo = 1;
  int64_t width = 1;
};

/// The rows that a destination receives from one source, as indices into all
/// rows.
struct Delivery {
  int64_t from, to, size;
};

/// The rows that the destinations of all groups receive.
class Deliveries {
public:
  Deliveries(const ExchangeShape &shape, const float *send,
             const float *receive)
      : shape(shape), send(send), receive(receive) {}

  /// Lists the rows of one destination in order. Returns false if there are too
  /// few, or if sources and destination do not agree.
  bool list(int64_t group, int64_t destination,
            std::vector<Delivery> &deliveries) const {
    int64_t taken = 0;
    for (int64_t source = 0; source < shape.ranks; ++source) {
      const int64_t size = sum(send, group, source, destination);
      int64_t begin = 0;
      for (int64_t before = 0; before < destination; ++before)
        begin = saturatingAdd(begin, sum(send, group, source, before));
      if (size != sum(receive, group, destination, source) ||
          saturatingAdd(begin, size) > shape.rowsFrom ||
          saturatingAdd(taken, size) > shape.rowsTo)
        return false;
      deliveries.push_back(
          {(group * shape.ranks + source) * shape.rowsFrom + begin, taken,
           size});
      taken += size;
    }
    return true;
  }

private:
  static constexpr int64_t most = int64_t{1} << 62;

  static int64_t saturatingAdd(int64_t a, int64_t b) {
    return std::min(most, a + b);
  }

  /// Returns the sum of the counts of one pair of ranks over the experts.
  int64_t sum(const float *counts, int64_t group, int64_t rank,
              int64_t other) const {
    counts +=
        ((group * shape.ranks + rank) * shape.ranks + other) * shape.experts;
    int64_t rows = 0;
    for (int64_t expert = 0; expert < shape.experts; ++expert)
      rows = saturatingAdd(rows, readRowCount(counts[expert], most));
    return rows;
  }

  const ExchangeShape &shape;
  const float *send, *receive;
};

struct ExchangeTokensKernel {
  ExchangeShape shape;
  float fill;

  void operator()(const KernelOperands &operands, ThreadPool &pool) const {
    const Deliveries all(shape, operands.getInput<float>(1),
                         operands.getInput<float>(2));
    std::vector<std::vector<Delivery>> deliveries(shape.groups * shape.ranks);
    std::vector<bool> suffices;
    for (size_t rank = 0; rank < deliveries.size(); ++rank)
      suffices.push_back(all.list(static_cast<int64_t>(rank) / shape.ranks,
                                  static_cast<int64_t>(rank) % shape.ranks,
                                  deliveries[rank]));
    const Tiles tiles = tileRows(shape.rowsTo, shape.width);
    pool.parallelFor(
        shape.groups * shape.ranks * tiles.count, [&](int64_t tile) {
          const int64_t rank = tile / tiles.count;
          const Tiles::Range rows = tiles[tile % tiles.count];
          void *to = at(operands.outputs[0], shape.type,
                        rank * shape.rowsTo * shape.width);
          if (!suffices[rank])
            return writeRows(to, rows, std::numeric_limits<float>::quiet_NaN());
          deliver(operands.inputs[0], deliveries[rank], rows, to);
        });
  }

  void writeRows(void *to, Tiles::Range rows, float value) const {
    constexpr int64_t runSize = 256;
    const std::vector<float> run(runSize, value);
    const int64_t end = (rows.begin + rows.size) * shape.width;
    for (int64_t i = rows.begin * shape.width; i < end; i += runSize)
      runCastLoop(DType::F32, shape.type, run.data(), at(to, shape.type, i),
                  std::min(runSize, end - i));
  }

  void deliver(const void *from, llvm::ArrayRef<Delivery> deliveries,
               Tiles::Range rows, void *to) const {
    int64_t done = rows.begin;
    for (const Delivery &delivery : deliveries) {
      const int64_t end =
          std::min(delivery.to + delivery.size, rows.begin + rows.size);
      if (end <= done)
        continue;
      std::memcpy(at(to, shape.type, done * shape.width),
                  at(from, shape.type,
                     (delivery.from + done - delivery.to) * shape.width),
                  (end - done) * shape.width * getBytes(shape.type));
      done = end;
    }
    writeRows(to, {done, rows.begin + rows.size - done}, fill);
  }
};

} // namespace

KernelOrError makeExchangeTokens(const KernelSpec &spec, SpecChecker &checker) {
  ExchangeShape shape;
  double fill = 0;
  const TensorShape &x = spec.inputs[0], &send = spec.inputs[1],
                    &out = spec.outputs[0];
  checker.requireFloatInput(0);
  checker.require(x.dims.size() == 4 && out.dims.size() == 4,
                  "input 0 is " + toString(x) + " and output 0 " +
                      toString(out) +
                      ", expected groups, ranks, rows and columns");
  checker.require(send.dims.size() == 4,
                  "input 1 is " + toString(send) +
                      ", expected groups, ranks, ranks and experts");
  if (!checker.hasFailed()) {
    shape = {x.type,    x.dims[0],   x.dims[1], send.dims[3],
             x.dims[2], out.dims[2], x.dims[3]};
    const TensorShape counts{
        DType::F32, {shape.groups, shape.ranks, shape.ranks, shape.experts}};
    checker.requireInput(1, counts);
    checker.requireInput(2, counts);
    checker.requireOutput(
        0, {x.type, {shape.groups, shape.ranks, shape.rowsTo, shape.width}});
    fill = checker.getDouble("fill");
  }
  if (llvm::Error error = checker.takeError())
    return error;
  return makeFunctionKernel(
      ExchangeTokensKernel{shape, static_cast<float>(fill)});
}

} // namespace mf
