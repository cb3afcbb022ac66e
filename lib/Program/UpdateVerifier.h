//===- UpdateVerifier.h - A step on terms ----------------------*- C++ -*-===//

#ifndef MF_LIB_PROGRAM_UPDATEVERIFIER_H
#define MF_LIB_PROGRAM_UPDATEVERIFIER_H

#include "ChunkRun.h"
#include "llvm/Support/Error.h"

namespace mf::program {

/// Proves of a stage whose step has a certificate that it leaves what that
/// says: the parameters, state and reports that the update makes of the
/// gradients, and all else as it was. Another proof shows what calls on frames
/// add to gradients; this one, that nothing comes between them, and that they
/// get the gradient of losses. `statics` are those before the first such call.
llvm::Error verifyStep(const Program &program, const StageProgram &stage,
                       const StaticTerms &statics);

} // namespace mf::program

#endif // MF_LIB_PROGRAM_UPDATEVERIFIER_H
