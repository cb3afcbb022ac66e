//===- ExpandSteps.h - Kernels that run as one, one by one ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_PASSES_CANN_EXPANDSTEPS_H
#define MF_PASSES_CANN_EXPANDSTEPS_H

#include "dialects/ascend/AscendDialect.h"

namespace mf::passes {

/// Counts what expandSteps has replaced.
struct ExpandedSteps {
  /// The number of launches that were replaced.
  int64_t launches = 0;
  /// The number of launches that replace them.
  int64_t steps = 0;
  /// The size of all new buffers for the values between steps, in bytes.
  int64_t bufferBytes = 0;
};

/// Replaces each launch of a kernel that runs several steps as one, such as
/// mfChain, by one launch for each step, and adds buffers for the values
/// between them. A call that records events behind instructions of a routine
/// still records them behind the same work. A launch stays as it is if its last
/// step could not write to the launch's output, because it reads that memory
/// too.
ExpandedSteps expandSteps(ascend::ProgramOp program);

} // namespace mf::passes

#endif // MF_PASSES_CANN_EXPANDSTEPS_H
