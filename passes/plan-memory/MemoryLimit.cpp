//===- MemoryLimit.cpp - The device memory that a stage may have ----------===//

#include "passes/plan-memory/MemoryLimit.h"
#include "mf/Config/MemorySize.h"

using namespace mlir;

FailureOr<int64_t> mf::passes::getMemoryLimit(ascend::ProgramOp program,
                                              llvm::StringRef hbm) {
  if (hbm.empty())
    return program.getHbmLimitBytes().value_or(0);
  if (std::optional<int64_t> bytes = parseMemorySize(hbm))
    return *bytes;
  program.emitOpError("got hbm=")
      << hbm << "; expected a size such as 54GB, 59.5GB or bytes";
  return failure();
}
