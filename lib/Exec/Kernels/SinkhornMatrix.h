//===- SinkhornMatrix.h - One matrix with sums of 1 -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Has the bits of the softmaxes, sums and quotients that are the kernel on
// CANN: gradients by the streams' weights may cancel but for rounding.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_EXEC_KERNELS_SINKHORNMATRIX_H
#define MF_LIB_EXEC_KERNELS_SINKHORNMATRIX_H

#include "ReduceLoops.h"
#include "RowLoops.h"
#include <algorithm>
#include <vector>

namespace mf {

/// Sinkhorn's iterations on one matrix of `size` rows. Divisions are by columns
/// and by rows in turn, the first and the last by columns.
class SinkhornMatrix {
public:
  SinkhornMatrix(int64_t size, int64_t iterations, float epsilon)
      : size(size), numDivisions(2 * std::max<int64_t>(iterations, 1) - 1),
        epsilon(epsilon), current(size * size), products(size * size),
        probabilities(size * size) {}

  int64_t getNumDivisions() const { return numDivisions; }
  int64_t getNumElements() const { return size * size; }
  /// Returns the matrix, or its gradient.
  const std::vector<float> &get() const { return current; }

  /// Makes the softmax of each row, plus epsilon.
  void start(const float *input) {
    runSoftmaxRows(DType::F32, input, probabilities.data(), size, size);
    for (size_t i = 0; i < current.size(); ++i)
      current[i] = probabilities[i] + epsilon;
  }
  /// Takes what `start` made.
  void restart(const float *started) {
    for (size_t i = 0; i < current.size(); ++i) {
      probabilities[i] = started[i] - epsilon;
      current[i] = started[i];
    }
  }

  /// Divides by the sums of rows or columns, which are stored in `sums`.
  void divide(int64_t division, float *sums) {
    for (int64_t group = 0; group < size; ++group) {
      sums[group] = getSum(current, isByColumn(division), group) + epsilon;
      for (int64_t i = 0; i < size; ++i)
        current[getPlace(isByColumn(division), group, i)] /= sums[group];
    }
  }

  void startBackward(const float *gradient) {
    std::copy(gradient, gradient + size * size, current.begin());
  }

  /// Turns the gradient of a division's result into that of its operand: (d -
  /// sum of d * quotient) / divisor.
  void undo(int64_t division, const float *quotient, const float *sums) {
    for (size_t i = 0; i < products.size(); ++i)
      products[i] = current[i] * quotient[i];
    for (int64_t group = 0; group < size; ++group) {
      const float sum = getSum(products, isByColumn(division), group);
      for (int64_t i = 0; i < size; ++i) {
        float &gradient = current[getPlace(isByColumn(division), group, i)];
        gradient = (gradient - sum) / sums[group];
      }
    }
  }

  /// Turns the gradient of what `start` makes into that of its input.
  void finishBackward(float *inputGradient) {
    runSoftmaxBackwardRows(DType::F32, current.data(), probabilities.data(),
                           inputGradient, size, size);
  }

private:
  static bool isByColumn(int64_t division) { return division % 2 == 0; }
  int64_t getPlace(bool byColumn, int64_t group, int64_t member) const {
    return byColumn ? member * size + group : group * size + member;
  }

  /// Returns the sum of a row or column.
  float getSum(const std::vector<float> &matrix, bool byColumn,
               int64_t group) const {
    const float *first = &matrix[getPlace(byColumn, group, 0)];
    if (!byColumn)
      return sumRow(size, [&](int64_t begin, int64_t count) {
        return runSumLoop(DType::F32, first + begin, count);
      });
    float sum = 0;
    for (int64_t row = 0; row < size; ++row)
      sum += first[row * size];
    return sum;
  }

  const int64_t size, numDivisions;
  const float epsilon;
  std::vector<float> current, products, probabilities;
};

} // namespace mf

#endif // MF_LIB_EXEC_KERNELS_SINKHORNMATRIX_H
