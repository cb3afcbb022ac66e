//===- ExpandSteps.h - Kernels that run as one, one by one ------*- C++ -*-===//

#ifndef MF_PASSES_CANN_EXPANDSTEPS_H
#define MF_PASSES_CANN_EXPANDSTEPS_H

#include "dialects/ascend/AscendDialect.h"

namespace mf::passes {

struct ExpandedSteps {
  int64_t launches = 0;
  /// The launches that are there instead.
  int64_t steps = 0;
  /// The bytes of all buffers between them.
  int64_t bufferBytes = 0;
};

/// Replaces each launch that has steps, such as mfChain, by a launch of each of
/// them, with buffers for what is between. Calls record their events behind the
/// same work as before.
ExpandedSteps expandSteps(ascend::ProgramOp program);

} // namespace mf::passes

#endif // MF_PASSES_CANN_EXPANDSTEPS_H
