//===- TrainingConfig.cpp - The values of a training YAML -----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Frontend/Config/TrainingConfig.h"
#include "llvm/Support/ErrorHandling.h"

namespace mf {

llvm::StringRef getName(ParallelMode mode) {
  switch (mode) {
  case ParallelMode::StandAlone:
    return "stand_alone";
  case ParallelMode::DataParallel:
    return "data_parallel";
  case ParallelMode::SemiAuto:
    return "semi_auto_parallel";
  case ParallelMode::Auto:
    return "auto_parallel";
  case ParallelMode::Hybrid:
    return "hybrid_parallel";
  }
  llvm_unreachable("unknown mode");
}

int64_t ParallelConfig::getDeviceCount() const {
  // Each is at most 2^31 - 1; a product beyond 64 bits saturates.
  int64_t count = dataParallel;
  for (int64_t factor : {modelParallel, contextParallel, pipelineStage})
    if (__builtin_mul_overflow(count, factor, &count))
      return INT64_MAX;
  return count;
}

} // namespace mf
