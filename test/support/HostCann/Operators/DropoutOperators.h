//===- DropoutOperators.h - Masks of bits -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_TEST_SUPPORT_HOSTCANN_OPERATORS_DROPOUTOPERATORS_H
#define MF_TEST_SUPPORT_HOSTCANN_OPERATORS_DROPOUTOPERATORS_H

#include "OperatorCall.h"

namespace mf::hostcann {

/// Adds a mask with one bit for each element of a tensor of these sizes.
/// Returns the number of the operand, and the mask's shape for kernels.
std::pair<size_t, TensorShape> readBitMask(OperatorCall &call,
                                           const aclTensor *mask,
                                           llvm::StringRef operand,
                                           llvm::ArrayRef<int64_t> sizes);

} // namespace mf::hostcann

#endif // MF_TEST_SUPPORT_HOSTCANN_OPERATORS_DROPOUTOPERATORS_H
