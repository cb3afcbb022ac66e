//===- GradientFactors.h - Scalar factors of gradients ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_EXEC_KERNELS_GRADIENTFACTORS_H
#define MF_LIB_EXEC_KERNELS_GRADIENTFACTORS_H

#include "SpecChecker.h"
#include "mf/Exec/Kernels/Kernel.h"
#include "llvm/ADT/SmallVector.h"

namespace mf {

/// The factors of gradients: a kernel's inputs from `first` on.
class Factors {
public:
  Factors(const KernelOperands &operands, size_t first) {
    for (size_t i = first; i < operands.inputs.size(); ++i)
      values.push_back(*static_cast<const float *>(operands.inputs[i]));
  }

  operator llvm::ArrayRef<float>() const { return values; }

private:
  llvm::SmallVector<float, 2> values;
};

inline TensorShape getScalar() { return {DType::F32, {}}; }

inline void requireScalars(SpecChecker &checker, const KernelSpec &spec,
                           size_t first) {
  for (size_t i = first; i < spec.inputs.size(); ++i)
    checker.requireInput(i, getScalar());
}

} // namespace mf

#endif // MF_LIB_EXEC_KERNELS_GRADIENTFACTORS_H
