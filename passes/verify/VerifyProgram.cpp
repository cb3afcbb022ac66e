//===- VerifyProgram.cpp - Proofs about planned programs ------------------===//

#include "mf/Program/Decoder.h"
#include "mf/Program/Verifier.h"
#include "passes/Passes.h"

namespace mf::passes {
#define GEN_PASS_DEF_VERIFYPROGRAM
#include "passes/Passes.h.inc"
} // namespace mf::passes

using namespace mlir;
using namespace mf::program;

namespace {

struct VerifyProgramPass
    : mf::passes::impl::VerifyProgramBase<VerifyProgramPass> {
  using VerifyProgramBase::VerifyProgramBase;

  void runOnOperation() override {
    markAllAnalysesPreserved();
    FailureOr<DecodedProgram> decoded = decodeProgram(getOperation());
    if (failed(decoded))
      return signalPassFailure();
    // Each stage's first error, whether the ranks wait for each other, and of
    // programs without such errors whether they belong together.
    for (const StageProgram &stage : decoded->program.stages)
      report(verifyMemory(decoded->program, stage), *decoded);
    report(verifyProgress(decoded->program), *decoded);
    if (ranks && !hasFailed)
      report(verifyDistribution(decoded->program), *decoded);
  }

private:
  void report(llvm::Error error, const DecodedProgram &decoded) {
    llvm::handleAllErrors(std::move(error), [&](const LocatedError &located) {
      InFlightDiagnostic diagnostic =
          emitError(decoded.locations[located.getLocation()])
          << located.getMessage();
      for (const LocatedError::Note &note : located.getNotes())
        diagnostic.attachNote(decoded.locations[note.location]) << note.text;
      hasFailed = true;
      signalPassFailure();
    });
  }

  bool hasFailed = false;
};

} // namespace
