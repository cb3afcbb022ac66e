//===- Cumsum.cpp - Sums up to each element -------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "Factories.h"
#include "FunctionKernel.h"
#include "ReduceLoops.h"

namespace mf {

/// Whole cache lines, and few enough that rows of experts make several strips.
static constexpr int64_t sumsPerStrip = 64;

KernelOrError makeCumsum(const KernelSpec &spec, SpecChecker &checker) {
  checker.requireFloatInput(0);
  const int64_t axis = checker.getAxis("axis", spec.inputs[0].dims.size());
  checker.requireOutput(0, spec.inputs[0]);
  if (llvm::Error error = checker.takeError())
    return error;
  const TensorShape &x = spec.inputs[0];
  const int64_t length = x.dims[axis];
  int64_t inner = 1;
  for (size_t i = axis + 1; i < x.dims.size(); ++i)
    inner *= x.dims[i];
  const int64_t outer = x.getNumElements() / (length * inner);
  const Tiles strips(inner, sumsPerStrip);
  // A tile is a strip of neighbouring sums, from the first element of the axis
  // to the last; or whole rows, if the axis is the last one. Short ones are
  // grouped to be worth a thread's while.
  return makeTiledKernel(
      tileRows(outer * strips.count, length * std::min(inner, sumsPerStrip)),
      [strips, length, inner, type = x.type](const KernelOperands &operands,
                                             int64_t begin, int64_t size) {
        for (int64_t i = begin; i < begin + size; ++i) {
          auto [first, width] = strips[i % strips.count];
          const int64_t start = i / strips.count * length * inner + first;
          runCumsumLoop(type, at(operands.inputs[0], type, start),
                        at(operands.outputs[0], type, start), length, inner,
                        width);
        }
      });
}

} // namespace mf
