//===- HybridRows.h - The keys that a query sees ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Hybrid attention: queries [batch, queries, heads, width], and keys and
// entries [batch, rows, width] that all heads share. Keys may also be [batch,
// blocks, rows, width]: those of each block of tokens behind the keys of the
// window that are before the block. A place is the number of a row of keys, or
// that of an entry plus the number of these rows.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_EXEC_KERNELS_HYBRIDROWS_H
#define MF_LIB_EXEC_KERNELS_HYBRIDROWS_H

#include "AttentionLoops.h"
#include "ElementwiseLoops.h"
#include "ReduceLoops.h"
#include "RowLoops.h"
#include "SpecChecker.h"
#include "Tiles.h"
#include <optional>
#include <vector>

namespace mf {

struct HybridShape {
  DType type = DType::F32;
  int64_t batch = 1, queries = 1, heads = 1, width = 1;
  /// The rows of keys of a sample, the entries, and the entries that are chosen
  /// for a query; 0 if there are none.
  int64_t keys = 0, entries = 0, chosen = 0;
  /// The blocks of tokens whose keys are apart; 0 if all are together.
  int64_t blocks = 0;
  int64_t window = 0, ratio = 0;
  float scale = 1;
  /// The input with the position of the first query, which is 0 without one.
  std::optional<size_t> first;

  int64_t getNumQueries() const { return batch * queries; }
  int64_t getNumRows() const { return keys + entries; }
  /// Returns the queries of a sample that add to the same sums.
  Tiles getBlocks() const {
    const int64_t blocks = getNumQueryBlocks(queries);
    return {queries, (queries + blocks - 1) / blocks};
  }

  TensorShape getQuery() const {
    return {type, {batch, queries, heads, width}};
  }
  TensorShape getLogSum() const {
    return {DType::F32, {batch, queries, heads}};
  }
  TensorShape getChosen(DType of) const {
    return {of, {batch, queries, chosen}};
  }
  TensorShape getRows(int64_t rows) const {
    return {type, {batch, rows, width}};
  }
  TensorShape getKeys() const {
    if (blocks == 0)
      return getRows(keys);
    return {type, {batch, blocks, keys / blocks, width}};
  }

  /// Returns the row of the key of a query at a position, and how many keys up
  /// to this one the query sees.
  std::pair<int64_t, int64_t> findWindow(int64_t query,
                                         int64_t position) const {
    if (blocks == 0) {
      const int64_t last = std::min(position, keys - 1);
      return {last, last - std::max<int64_t>(0, position - window + 1) + 1};
    }
    const int64_t rows = keys / blocks, tokens = rows - window + 1,
                  block = query / (queries / blocks);
    if (position < 0)
      return {0, 0};
    return {block * rows + window - 1 + position % tokens,
            std::min(window, position + 1)};
  }
};

/// Reads the sizes of queries, input `index`.
inline void readQuery(const KernelSpec &spec, size_t index,
                      SpecChecker &checker, HybridShape &shape) {
  checker.requireFloatInput(index);
  if (checker.hasFailed())
    return;
  const TensorShape &query = spec.inputs[index];
  checker.require(query.dims.size() == 4,
                  "input " + llvm::Twine(index) + " is " + toString(query) +
                      ", expected [batch, queries, heads, width]");
  if (checker.hasFailed())
    return;
  shape.type = query.type;
  shape.batch = query.dims[0];
  shape.queries = query.dims[1];
  shape.heads = query.dims[2];
  shape.width = query.dims[3];
}

/// Returns the number of rows of keys or entries, input `index`.
inline int64_t readRows(const KernelSpec &spec, size_t index,
                        SpecChecker &checker, const HybridShape &shape) {
  checker.requireInputRank(index, 3);
  if (checker.hasFailed())
    return 0;
  const int64_t rows = spec.inputs[index].dims[1];
  checker.requireInput(index, shape.getRows(rows));
  return rows;
}

/// Reads the position of the first query, input `index`, if the kernel has it.
/// Returns the number of the next input.
inline size_t readFirst(const KernelSpec &spec, size_t index,
                        SpecChecker &checker, HybridShape &shape) {
  if (!checker.hasInput("firstQuery"))
    return index;
  shape.first = index;
  checker.requireInput(index, {DType::I32, {1}});
  return index + 1;
}

/// Reads the sizes of keys, input `index`, of which a query sees a window.
inline void readKeys(const KernelSpec &spec, size_t index, SpecChecker &checker,
                     HybridShape &shape) {
  if (checker.hasFailed() || spec.inputs[index].dims.size() != 4) {
    shape.keys = readRows(spec, index, checker, shape);
    return;
  }
  const TensorShape &keys = spec.inputs[index];
  shape.blocks = keys.dims[1];
  shape.keys = keys.dims[1] * keys.dims[2];
  checker.requireInput(index, shape.getKeys());
  if (checker.hasFailed())
    return;
  // Queries of more than one block are all of theirs, one after another.
  const int64_t blocks = shape.blocks,
                tokens = keys.dims[2] - (shape.window - 1);
  checker.require(
      blocks > 0 && tokens > 0 &&
          (shape.first && blocks == 1 ? shape.queries <= tokens
                                      : shape.queries % blocks == 0 &&
                                            shape.queries / blocks == tokens),
      "input " + llvm::Twine(index) + " is " + toString(keys) +
          ", expected blocks of " + llvm::Twine(shape.window - 1) +
          " keys and a token for each query of " + llvm::Twine(shape.queries));
}

/// Reads the number of chosen entries of a query, input `index`.
inline void readChosen(const KernelSpec &spec, size_t index,
                       SpecChecker &checker, HybridShape &shape) {
  checker.requireInputRank(index, 3);
  if (checker.hasFailed())
    return;
  shape.chosen = spec.inputs[index].dims.back();
  checker.requireInput(index, shape.getChosen(DType::I32));
}

/// Reads what a query sees, and the factor of scores. Queries and keys are
/// inputs `query` and the next; the position of the first query, entries and
/// the chosen ones are optional, from input `last` on. Returns the number of
/// the entries' input.
inline size_t readSeen(const KernelSpec &spec, size_t query, size_t last,
                       SpecChecker &checker, HybridShape &shape) {
  readQuery(spec, query, checker, shape);
  shape.window = checker.getInt("window");
  shape.ratio = checker.getInt("ratio");
  shape.scale = static_cast<float>(checker.getDouble("scale"));
  checker.require(shape.window >= 1, "attribute 'window' is below 1");
  const size_t entries = readFirst(spec, last, checker, shape);
  readKeys(spec, query + 1, checker, shape);
  checker.require(shape.ratio >= 0, "attribute 'ratio' is negative");
  if (spec.inputs.size() > entries)
    shape.entries = readRows(spec, entries, checker, shape);
  if (spec.inputs.size() > entries + 1)
    readChosen(spec, entries + 1, checker, shape);
  return entries;
}

/// Returns the number of entries that a query at a position sees. All tokens of
/// an entry are at most at the position.
inline int64_t getNumSeen(int64_t position, int64_t ratio, int64_t entries) {
  return position < 0 || ratio < 1 ? 0
                                   : std::min(entries, (position + 1) / ratio);
}

/// Returns the address of an input, or null if there is none.
template <typename T = const void>
T *findInput(const KernelOperands &operands, size_t index) {
  return index < operands.inputs.size()
             ? static_cast<T *>(operands.inputs[index])
             : nullptr;
}

/// Returns the position of a query, whose number counts those of all samples.
inline int64_t getPosition(const HybridShape &shape,
                           const KernelOperands &operands, int64_t query) {
  const int64_t row = query % shape.queries;
  return shape.first ? *operands.getInput<int32_t>(*shape.first) + row : row;
}

/// Rows of a tensor in fp32.
class WideRows {
public:
  WideRows(DType type, int64_t width) : type(type), width(width) {}

  /// Takes the rows [first, first + count) of a tensor.
  void take(const void *base, int64_t first, int64_t count) {
    rows.resize(count * width);
    runCastLoop(type, DType::F32, at(base, type, first * width), rows.data(),
                count * width);
  }
  const float *get(int64_t row) const { return &rows[row * width]; }

private:
  DType type;
  int64_t width;
  std::vector<float> rows;
};

/// The keys and entries that one query sees, in fp32.
class SeenRows {
public:
  explicit SeenRows(const HybridShape &shape) : shape(shape) {}

  /// Finds those of query `query` of all samples, which is at `position`.
  /// `entries` and `indices` may be null.
  void find(const void *keys, const void *entries, const int32_t *indices,
            int64_t position, int64_t query) {
    const int64_t sample = query / shape.queries;
    places.clear();
    const auto [last, count] =
        shape.findWindow(query % shape.queries, position);
    for (int64_t i = 1; i <= count; ++i)
      places.push_back(last - count + i);
    const auto numKeys = static_cast<int64_t>(places.size());
    const int64_t seen = getNumSeen(position, shape.ratio, shape.entries);
    if (indices) {
      for (int64_t i = 0; i < shape.chosen; ++i) {
        const int64_t entry = indices[query * shape.chosen + i];
        if (entry >= 0 && entry < seen)
          places.push_back(shape.keys + entry);
      }
    } else {
      for (int64_t entry = 0; entry < seen; ++entry)
        places.push_back(shape.keys + entry);
    }
    rows.resize(places.size() * shape.width);
    for (size_t i = 0; i < places.size(); ++i) {
      const bool isKey = static_cast<int64_t>(i) < numKeys;
      const int64_t row = isKey
                              ? sample * shape.keys + places[i]
                              : sample * shape.entries + places[i] - shape.keys;
      runCastLoop(shape.type, DType::F32,
                  at(isKey ? keys : entries, shape.type, row * shape.width),
                  &rows[i * shape.width], shape.width);
    }
  }

  int64_t size() const { return static_cast<int64_t>(places.size()); }
  int64_t getPlace(int64_t i) const { return places[i]; }
  const float *get(int64_t i) const { return &rows[i * shape.width]; }

  /// Computes the products of a query's head with all rows.
  void multiply(const float *vector, float factor, float *products) const {
    for (int64_t i = 0; i < size(); ++i) {
      runRowProducts(DType::F32, vector, get(i), products + i, 1, shape.width);
      products[i] *= factor;
    }
  }

private:
  const HybridShape &shape;
  std::vector<int64_t> places;
  std::vector<float> rows;
};

} // namespace mf

#endif // MF_LIB_EXEC_KERNELS_HYBRIDROWS_H
