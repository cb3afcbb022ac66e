//===- Softmax.cpp - Softmax over the last dimension ----------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "Factories.h"
#include "FunctionKernel.h"
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

} // namespace mf
