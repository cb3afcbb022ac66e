//===- HyperConnection.h - A site of residual streams -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_EXEC_KERNELS_HYPERCONNECTION_H
#define MF_LIB_EXEC_KERNELS_HYPERCONNECTION_H

#include "ReduceLoops.h"
#include "SpecChecker.h"
#include "Tiles.h"

namespace mf {

/// The sizes of the two parts of a site. The streams of a token are side by
/// side in one row.
struct SiteShape {
  DType type = DType::F32;
  /// The streams, and the elements of each.
  int64_t count = 1, hidden = 1;
  int64_t batch = 1, length = 1;
  /// The halves of iterations, which are saved one behind the other.
  int64_t halves = 2;
  float least = 0, epsilon = 0;

  int64_t getNumTokens() const { return batch * length; }
  int64_t getWidth() const { return count * hidden; }
  int64_t getNumNumbers() const { return count * (count + 2); }
  /// Returns the factor of a token's number: that of reads, shares or matrices.
  int64_t getPart(int64_t number) const {
    return std::min<int64_t>(number / count, 2);
  }
  /// Returns the tiles of tokens that are computed independently.
  Tiles getTiles() const { return tileRows(getNumTokens(), getWidth()); }

  TensorShape getStreams() const { return {type, {batch, length, getWidth()}}; }
  TensorShape getHidden() const { return {type, {batch, length, hidden}}; }
  TensorShape getWeight() const {
    return {DType::F32, {getNumNumbers(), getWidth()}};
  }
  TensorShape getBias() const { return {DType::F32, {getNumNumbers()}}; }
  TensorShape getRows() const { return {DType::F32, {batch, length}}; }
  TensorShape getShares() const { return {DType::F32, {batch, length, count}}; }
  TensorShape getNumbers() const {
    return {DType::F32, {batch, length, getNumNumbers()}};
  }
  TensorShape getMatrices() const {
    return {DType::F32, {batch, length, count, count}};
  }
  TensorShape getSums() const {
    return {DType::F32, {halves, batch, length, count}};
  }
  TensorShape getSavedMatrices() const {
    return {DType::F32, {halves, batch, length, count, count}};
  }
};

/// Reads the sizes of streams, input `index`, of which there are `count`.
inline void readStreams(const KernelSpec &spec, size_t index, int64_t count,
                        SpecChecker &checker, SiteShape &shape) {
  checker.requireFloatInput(index);
  checker.requireInputRank(index, 3);
  if (checker.hasFailed())
    return;
  const TensorShape &streams = spec.inputs[index];
  checker.require(streams.dims.size() == 3 && count >= 1 &&
                      streams.dims.back() % count == 0,
                  "input " + llvm::Twine(index) + " is " + toString(streams) +
                      ", expected [batch, sequence, streams * hidden] of " +
                      llvm::Twine(count) + " streams");
  if (checker.hasFailed())
    return;
  shape.type = streams.type;
  shape.count = count;
  shape.hidden = streams.dims.back() / count;
  shape.batch = streams.dims[0];
  shape.length = streams.dims[1];
}

/// Reads what mixes streams: the streams, the matrices, the layer's result and
/// its shares, which are inputs in this order from `first` on.
inline void readMixing(const KernelSpec &spec, size_t first,
                       SpecChecker &checker, SiteShape &shape) {
  checker.requireInputRank(first + 3, 1);
  if (!checker.hasFailed())
    readStreams(spec, first, spec.inputs[first + 3].dims.back(), checker,
                shape);
  if (!checker.hasFailed()) {
    checker.requireInput(first + 1, shape.getMatrices());
    checker.requireInput(first + 2, shape.getHidden());
    checker.requireInput(first + 3, shape.getShares());
  }
}

} // namespace mf

#endif // MF_LIB_EXEC_KERNELS_HYPERCONNECTION_H
