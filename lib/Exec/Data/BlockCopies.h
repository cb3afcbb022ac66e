//===- BlockCopies.h - Moving blocks between tensors ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_EXEC_DATA_BLOCKCOPIES_H
#define MF_LIB_EXEC_DATA_BLOCKCOPIES_H

#include "mf/Exec/Data/ParameterNames.h"

namespace mf {

/// Takes neighbouring elements of a block's target: the first one's number in
/// the target's tensor, and their bytes.
using BlockWriter =
    llvm::function_ref<llvm::Error(int64_t, llvm::ArrayRef<uint8_t>)>;

/// Reads `copy` from the source's `bytes`, of type `from`, and passes it to
/// `write` as type `to`, each element once. Holds at most about a million
/// elements.
llvm::Error copyBlock(const BlockCopy &copy, llvm::ArrayRef<uint8_t> bytes,
                      DType from, DType to, BlockWriter write);

} // namespace mf

#endif // MF_LIB_EXEC_DATA_BLOCKCOPIES_H
