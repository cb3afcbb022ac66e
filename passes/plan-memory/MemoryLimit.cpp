//===- MemoryLimit.cpp - Limit of a stage's device memory -----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/plan-memory/MemoryLimit.h"
#include "mf/Frontend/Config/MemorySize.h"

using namespace mlir;

FailureOr<std::optional<int64_t>>
mf::passes::getMemoryLimit(ascend::ProgramOp program, llvm::StringRef hbm) {
  if (hbm == noMemoryLimit)
    return std::optional<int64_t>();
  if (hbm.empty()) {
    std::optional<int64_t> limit;
    if (auto bytes = program.getHbmLimitBytes(); bytes && *bytes > 0)
      limit = static_cast<int64_t>(*bytes);
    return limit;
  }
  if (std::optional<int64_t> bytes = parseMemorySize(hbm))
    return bytes;
  program.emitOpError("got hbm=") << hbm << "; expected " << noMemoryLimit
                                  << " or " << explainMemorySize(hbm);
  return failure();
}
