//===- IndexOperators.h - Arithmetic of indices -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_TEST_SUPPORT_HOSTCANN_OPERATORS_INDEXOPERATORS_H
#define MF_TEST_SUPPORT_HOSTCANN_OPERATORS_INDEXOPERATORS_H

#include "OperatorCall.h"

namespace mf::hostcann {

/// Ends the first phase of `out` = self - other of integers, which no kernel of
/// the emulated device computes. The call has these operands in this order.
aclnnStatus makeIntegerDifference(OperatorCall &call, const aclTensor &self,
                                  const aclTensor &other, const aclTensor &out);

} // namespace mf::hostcann

#endif // MF_TEST_SUPPORT_HOSTCANN_OPERATORS_INDEXOPERATORS_H
