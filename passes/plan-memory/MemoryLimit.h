//===- MemoryLimit.h - The device memory that a stage may have -*- C++ -*-===//

#ifndef MF_PASSES_PLAN_MEMORY_MEMORYLIMIT_H
#define MF_PASSES_PLAN_MEMORY_MEMORYLIMIT_H

#include "dialects/ascend/AscendDialect.h"

namespace mf::passes {

/// Bytes of device memory of a rank: `hbm`, a size as 54GB, or the program's
/// hbm_limit_bytes if that is empty; 0 for no limit. An error on `program` if
/// `hbm` is no size.
mlir::FailureOr<int64_t> getMemoryLimit(ascend::ProgramOp program,
                                        llvm::StringRef hbm);

} // namespace mf::passes

#endif // MF_PASSES_PLAN_MEMORY_MEMORYLIMIT_H
