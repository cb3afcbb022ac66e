//===- RowKernels.cpp - Softmax and gated units over rows -----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "Factories.h"
#include "RowLoops.h"

namespace mf {

KernelOrError makeSoftmax(const KernelSpec &spec, SpecChecker &checker) {
  checker.requireFloatInput(0);
  checker.requireInputRank(0, 1);
  checker.requireOutput(0, spec.inputs[0]);
  if (llvm::Error error = checker.takeError())
    return error;
  return makeRowKernel(spec.inputs[0], [type = spec.inputs[0].type](
                                           const KernelOperands &operands,
                                           int64_t columns, int64_t begin,
                                           int64_t size) {
    const int64_t offset = begin * columns;
    runSoftmaxRows(type, at(operands.inputs[0], type, offset),
                   at(operands.outputs[0], type, offset), size, columns);
  });
}

KernelOrError makeSoftmaxBackward(const KernelSpec &spec,
                                  SpecChecker &checker) {
  checker.requireFloatInput(0);
  checker.requireInputRank(0, 1);
  checker.requireInput(1, spec.inputs[0]);
  checker.requireOutput(0, spec.inputs[0]);
  if (llvm::Error error = checker.takeError())
    return error;
  return makeRowKernel(spec.inputs[0], [type = spec.inputs[0].type](
                                           const KernelOperands &operands,
                                           int64_t columns, int64_t begin,
                                           int64_t size) {
    const int64_t offset = begin * columns;
    runSoftmaxBackwardRows(type, at(operands.inputs[0], type, offset),
                           at(operands.inputs[1], type, offset),
                           at(operands.outputs[0], type, offset), size,
                           columns);
  });
}

namespace {

/// Returns the shape of the result for an input that has gate and value in its
/// last dimension or, if the result has one dimension fewer, in the two rows
/// before it.
TensorShape getHalf(SpecChecker &checker, const KernelSpec &spec, size_t index,
                    size_t resultRank) {
  checker.requireFloatInput(index);
  checker.requireInputRank(index, 1);
  if (checker.hasFailed())
    return {};
  TensorShape half = spec.inputs[index];
  const size_t rank = half.dims.size();
  if (resultRank + 1 == rank) {
    checker.require(rank >= 2 && half.dims[rank - 2] == 2,
                    "input " + llvm::Twine(index) + " is " + toString(half) +
                        ", expected two rows in its last dimensions: gate and "
                        "value");
    if (rank >= 2)
      half.dims.erase(half.dims.end() - 2);
    return half;
  }
  checker.require(half.dims.back() % 2 == 0,
                  "input " + llvm::Twine(index) + " is " + toString(half) +
                      ", expected an even last dimension: gate and value "
                      "side by side");
  half.dims.back() /= 2;
  return half;
}

} // namespace

KernelOrError makeSwiGlu(const KernelSpec &spec, SpecChecker &checker) {
  checker.requireOutput(0,
                        getHalf(checker, spec, 0, spec.outputs[0].dims.size()));
  if (llvm::Error error = checker.takeError())
    return error;
  return makeRowKernel(spec.outputs[0], [type = spec.outputs[0].type](
                                            const KernelOperands &operands,
                                            int64_t columns, int64_t begin,
                                            int64_t size) {
    runSwiGluRows(type, at(operands.inputs[0], type, begin * 2 * columns),
                  at(operands.outputs[0], type, begin * columns), size,
                  columns);
  });
}

KernelOrError makeSwiGluGrad(const KernelSpec &spec, SpecChecker &checker) {
  checker.requireInput(0,
                       getHalf(checker, spec, 1, spec.inputs[0].dims.size()));
  checker.requireOutput(0, spec.inputs[1]);
  if (llvm::Error error = checker.takeError())
    return error;
  return makeRowKernel(spec.inputs[0], [type = spec.inputs[0].type](
                                           const KernelOperands &operands,
                                           int64_t columns, int64_t begin,
                                           int64_t size) {
    runSwiGluGradRows(type, at(operands.inputs[0], type, begin * columns),
                      at(operands.inputs[1], type, begin * 2 * columns),
                      at(operands.outputs[0], type, begin * 2 * columns), size,
                      columns);
  });
}

} // namespace mf
