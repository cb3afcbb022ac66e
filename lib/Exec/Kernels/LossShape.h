//===- LossShape.h - Logits, labels and which rows count ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_EXEC_KERNELS_LOSSSHAPE_H
#define MF_LIB_EXEC_KERNELS_LOSSSHAPE_H

#include "SpecChecker.h"

namespace mf {

/// Logits [rows, columns] and labels [rows]. A label outside of the classes is
/// never used as an index. Such a row does not count, like one with the ignored
/// label.
struct LossShape {
  DType type = DType::F32;
  int64_t rows = 0, columns = 0;
  /// The number of classes in the columns of all ranks.
  int64_t classes = 0;
  int64_t ignoreIndex = -100;

  bool counts(int64_t label) const {
    return label != ignoreIndex && label >= 0 && label < classes;
  }
};

/// Divides a sum over rows by the number of rows that count, as MindSpore
/// Transformers does.
inline float divideByCount(float sum, float count) {
  return sum / (count + 1e-8f);
}

/// Returns the shape of `sums`: [2] for the sums of all ranks, or [1, 2] for
/// those of a rank's own rows. Any other shape returns the former.
inline TensorShape getSumsShape(const TensorShape &sums) {
  TensorShape shape{DType::F32, {2}};
  if (sums.dims.size() == 2)
    shape.dims = {1, 2};
  return shape;
}

/// Returns the shape of the number of rows that count: of all ranks, or of one
/// rank.
inline TensorShape getCountShape(bool isOwn) {
  TensorShape shape{DType::F32, {}};
  if (isOwn)
    shape.dims = {1};
  return shape;
}

/// Checks that inputs `index` and `index` + 1 are logits and labels, and reads
/// their shape and `ignore_index`, -100 if absent as in PyTorch and MindSpore.
/// With `classes` the logits are a part of that many columns. The result is
/// valid only if the checker has not failed.
LossShape readLossShape(const KernelSpec &spec, size_t index,
                        SpecChecker &checker);

} // namespace mf

#endif // MF_LIB_EXEC_KERNELS_LOSSSHAPE_H
