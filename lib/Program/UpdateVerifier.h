//===- UpdateVerifier.h - A step on terms ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_PROGRAM_UPDATEVERIFIER_H
#define MF_LIB_PROGRAM_UPDATEVERIFIER_H

#include "ChunkRun.h"
#include "llvm/Support/Error.h"

namespace mf::program {

/// Proves that a step with a certificate leaves what the certificate says: the
/// parameters, state and reports that the update computes from the gradients,
/// and everything else unchanged. FrameVerifier proves what calls on frames add
/// to gradients. This function proves that nothing else writes them in between,
/// and that these calls get the gradient of losses. `statics` are the terms
/// before the first of these calls.
llvm::Error verifyStep(const Program &program, const StageProgram &stage,
                       const StaticTerms &statics);

} // namespace mf::program

#endif // MF_LIB_PROGRAM_UPDATEVERIFIER_H
