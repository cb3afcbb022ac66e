//===- Sinkhorn.cpp - Matrices with sums of 1 -----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Has the bits of the softmaxes, sums and quotients that are the kernel on
// CANN: gradients by the streams' weights may cancel but for rounding.
//

#include "Factories.h"
#include "FunctionKernel.h"
#include "ReduceLoops.h"
#include "RowLoops.h"
#include "SpecChecker.h"
#include <vector>

namespace mf {
namespace {

/// The iterations on one matrix of `size` rows.
class SinkhornMatrix {
public:
  SinkhornMatrix(int64_t size, int64_t iterations, float epsilon)
      : size(size), numDivisions(2 * std::max<int64_t>(iterations, 1) - 1),
        epsilon(epsilon), probabilities(size * size), current(size * size),
        products(size * size), quotients(numDivisions * size * size),
        divisors(numDivisions * size) {}

  void run(const float *input, float *output) {
    start(input);
    for (int64_t division = 0; division < numDivisions; ++division)
      divide(isByColumn(division), divisors.data());
    std::copy(current.begin(), current.end(), output);
  }

  void runBackward(const float *outputGradient, const float *input,
                   float *inputGradient) {
    start(input);
    for (int64_t division = 0; division < numDivisions; ++division) {
      divide(isByColumn(division), getDivisors(division));
      std::copy(current.begin(), current.end(), getQuotients(division));
    }
    std::copy(outputGradient, outputGradient + size * size, current.begin());
    for (int64_t division = numDivisions - 1; division >= 0; --division)
      undo(isByColumn(division), getQuotients(division), getDivisors(division));
    runSoftmaxBackwardRows(DType::F32, current.data(), probabilities.data(),
                           inputGradient, size, size);
  }

private:
  /// The first division is by columns, then rows and columns take turns.
  static bool isByColumn(int64_t division) { return division % 2 == 0; }
  float *getDivisors(int64_t division) { return &divisors[division * size]; }
  float *getQuotients(int64_t division) {
    return &quotients[division * size * size];
  }
  int64_t getPlace(bool byColumn, int64_t group, int64_t member) const {
    return byColumn ? member * size + group : group * size + member;
  }

  /// The softmax of each row, plus epsilon.
  void start(const float *input) {
    runSoftmaxRows(DType::F32, input, probabilities.data(), size, size);
    for (size_t i = 0; i < current.size(); ++i)
      current[i] = probabilities[i] + epsilon;
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

  void divide(bool byColumn, float *sums) {
    for (int64_t group = 0; group < size; ++group) {
      sums[group] = getSum(current, byColumn, group) + epsilon;
      for (int64_t i = 0; i < size; ++i)
        current[getPlace(byColumn, group, i)] /= sums[group];
    }
  }

  /// Turns the gradient of a division's result into that of its operand: (d -
  /// sum of d * quotient) / divisor.
  void undo(bool byColumn, const float *quotient, const float *sums) {
    for (size_t i = 0; i < products.size(); ++i)
      products[i] = current[i] * quotient[i];
    for (int64_t group = 0; group < size; ++group) {
      const float sum = getSum(products, byColumn, group);
      for (int64_t i = 0; i < size; ++i) {
        float &gradient = current[getPlace(byColumn, group, i)];
        gradient = (gradient - sum) / sums[group];
      }
    }
  }

  const int64_t size, numDivisions;
  const float epsilon;
  std::vector<float> probabilities, current, products, quotients, divisors;
};

/// Checks that all operands are square matrices in f32, and returns the number
/// of rows of one.
int64_t checkMatrices(const KernelSpec &spec, SpecChecker &checker) {
  checker.requireInputRank(0, 2);
  checker.requireInputType(0, DType::F32);
  for (size_t i = 1; i < spec.inputs.size(); ++i)
    checker.requireInput(i, spec.inputs[0]);
  checker.requireOutput(0, spec.inputs[0]);
  if (checker.hasFailed())
    return 1;
  const auto &dims = spec.inputs[0].dims;
  checker.require(dims.back() == dims[dims.size() - 2],
                  "input 0 is " + toString(spec.inputs[0]) +
                      ", expected square matrices in the last two dimensions");
  checker.require(checker.getInt("iterations") >= 0,
                  "attribute 'iterations' is negative");
  return dims.back();
}

template <typename Function>
std::unique_ptr<Kernel> makeMatrixKernel(const KernelSpec &spec, int64_t size,
                                         const SpecChecker &checker,
                                         Function function) {
  const int64_t count = spec.inputs[0].getNumElements() / (size * size);
  return makeTiledKernel(
      tileRows(count, size * size),
      [size, function, iterations = checker.getInt("iterations"),
       epsilon = static_cast<float>(checker.getDouble("epsilon"))](
          const KernelOperands &operands, int64_t begin, int64_t number) {
        SinkhornMatrix matrix(size, iterations, epsilon);
        for (int64_t i = begin; i < begin + number; ++i)
          function(matrix, operands, i * size * size);
      });
}

float *getFloats(void *base, int64_t offset) {
  return static_cast<float *>(base) + offset;
}

} // namespace

KernelOrError makeSinkhorn(const KernelSpec &spec, SpecChecker &checker) {
  const int64_t size = checkMatrices(spec, checker);
  if (llvm::Error error = checker.takeError())
    return error;
  return makeMatrixKernel(spec, size, checker,
                          [](SinkhornMatrix &matrix,
                             const KernelOperands &operands, int64_t offset) {
                            matrix.run(getFloats(operands.inputs[0], offset),
                                       getFloats(operands.outputs[0], offset));
                          });
}

KernelOrError makeSinkhornBackward(const KernelSpec &spec,
                                   SpecChecker &checker) {
  const int64_t size = checkMatrices(spec, checker);
  if (llvm::Error error = checker.takeError())
    return error;
  return makeMatrixKernel(spec, size, checker,
                          [](SinkhornMatrix &matrix,
                             const KernelOperands &operands, int64_t offset) {
                            matrix.runBackward(
                                getFloats(operands.inputs[0], offset),
                                getFloats(operands.inputs[1], offset),
                                getFloats(operands.outputs[0], offset));
                          });
}

} // namespace mf
