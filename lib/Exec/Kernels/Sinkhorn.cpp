//===- Sinkhorn.cpp - Matrices with sums of 1 -----------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "Factories.h"
#include "SinkhornMatrix.h"
#include "SpecChecker.h"

namespace mf {
namespace {

/// One matrix, with what its gradient reads.
class SinkhornStates {
public:
  SinkhornStates(int64_t size, int64_t iterations, float epsilon)
      : matrix(size, iterations, epsilon), size(size),
        quotients(matrix.getNumDivisions() * size * size),
        divisors(matrix.getNumDivisions() * size) {}

  void run(const float *input, float *output) {
    matrix.start(input);
    for (int64_t i = 0; i < matrix.getNumDivisions(); ++i)
      matrix.divide(i, divisors.data());
    std::copy(matrix.get().begin(), matrix.get().end(), output);
  }

  void runBackward(const float *outputGradient, const float *input,
                   float *inputGradient) {
    matrix.start(input);
    for (int64_t i = 0; i < matrix.getNumDivisions(); ++i) {
      matrix.divide(i, &divisors[i * size]);
      std::copy(matrix.get().begin(), matrix.get().end(),
                &quotients[i * size * size]);
    }
    matrix.startBackward(outputGradient);
    for (int64_t i = matrix.getNumDivisions(); i-- > 0;)
      matrix.undo(i, &quotients[i * size * size], &divisors[i * size]);
    matrix.finishBackward(inputGradient);
  }

private:
  SinkhornMatrix matrix;
  const int64_t size;
  std::vector<float> quotients, divisors;
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
        SinkhornStates matrix(size, iterations, epsilon);
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
                          [](SinkhornStates &matrix,
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
                          [](SinkhornStates &matrix,
                             const KernelOperands &operands, int64_t offset) {
                            matrix.runBackward(
                                getFloats(operands.inputs[0], offset),
                                getFloats(operands.inputs[1], offset),
                                getFloats(operands.outputs[0], offset));
                          });
}

} // namespace mf
