//===- LaunchNumbers.h - Events of calls, renumbered -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_DIALECTS_ASCEND_LAUNCHNUMBERS_H
#define MF_DIALECTS_ASCEND_LAUNCHNUMBERS_H

#include "dialects/ascend/AscendDialect.h"

namespace mf::ascend {

/// Updates the launches after which a call records its events, when launches of
/// its routine were added or removed. A call names them by their numbers, which
/// start at 1; `numbers` has the new number for each old one, and 0 for 0.
/// Events that get the same number become one, and the call a new operation.
void renumberRecords(CallOp call, llvm::ArrayRef<int64_t> numbers);

} // namespace mf::ascend

#endif // MF_DIALECTS_ASCEND_LAUNCHNUMBERS_H
