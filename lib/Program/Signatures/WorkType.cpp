//===- WorkType.cpp - The element type of a kernel's work -----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Program/Signatures/WorkType.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"

namespace mf {

DType getWorkType(const KernelSpec &spec) {
  const llvm::ArrayRef<TensorShape> operands =
      spec.inputs.empty() ? spec.outputs : spec.inputs;
  if (operands.empty())
    return DType::F32;
  return llvm::max_element(operands,
                           [](const TensorShape &a, const TensorShape &b) {
                             return a.getBytes() < b.getBytes();
                           })
      ->type;
}

} // namespace mf
