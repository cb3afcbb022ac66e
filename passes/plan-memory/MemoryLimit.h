//===- MemoryLimit.h - Limit of a stage's device memory ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_PASSES_PLAN_MEMORY_MEMORYLIMIT_H
#define MF_PASSES_PLAN_MEMORY_MEMORYLIMIT_H

#include "dialects/ascend/AscendDialect.h"
#include <optional>

namespace mf::passes {

/// The value of an option `hbm` that disables the limit, including that of the
/// program.
inline constexpr llvm::StringLiteral noMemoryLimit = "none";

/// Returns the bytes of device memory of a rank: `hbm`, a size such as 54GB or
/// noMemoryLimit, or the program's hbm_limit_bytes if `hbm` is empty; none for
/// no limit. Emits an error on `program` if `hbm` is neither.
mlir::FailureOr<std::optional<int64_t>>
getMemoryLimit(ascend::ProgramOp program, llvm::StringRef hbm);

} // namespace mf::passes

#endif // MF_PASSES_PLAN_MEMORY_MEMORYLIMIT_H
