//===- MemoryLimit.h - Limit of a stage's device memory ---------*- C++ -*-===//

#ifndef MF_PASSES_PLAN_MEMORY_MEMORYLIMIT_H
#define MF_PASSES_PLAN_MEMORY_MEMORYLIMIT_H

#include "dialects/ascend/AscendDialect.h"
#include <optional>

namespace mf::passes {

/// The value of an option `hbm` for memory without a limit, whatever the
/// program's limit.
inline constexpr llvm::StringLiteral noMemoryLimit = "none";

/// Bytes of device memory of a rank: `hbm`, a size as 54GB or noMemoryLimit, or
/// the program's hbm_limit_bytes if that is empty; none for no limit. An error
/// on `program` if `hbm` is neither.
mlir::FailureOr<std::optional<int64_t>>
getMemoryLimit(ascend::ProgramOp program, llvm::StringRef hbm);

} // namespace mf::passes

#endif // MF_PASSES_PLAN_MEMORY_MEMORYLIMIT_H
