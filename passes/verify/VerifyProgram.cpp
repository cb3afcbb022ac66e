//===- VerifyProgram.cpp - Proofs about planned programs ------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Program/Decoder.h"
#include "mf/Program/Verifier.h"
#include "mlir/IR/Remarks.h"
#include "mlir/IR/Threading.h"
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
    // A pass manager may run the pass again.
    hasFailed = false;
    FailureOr<DecodedProgram> decoded = decodeProgram(getOperation());
    if (failed(decoded))
      return signalPassFailure();
    // Reports the first error of each stage, whether the ranks wait for each
    // other, and, if there are no such errors, whether their programs match.
    for (llvm::Error &error : verifyStages(decoded->program))
      report(std::move(error), *decoded);
    report(verifyProgress(decoded->program), *decoded);
    if (ranks && !hasFailed)
      report(verifyDistribution(decoded->program), *decoded);
    if (!hasFailed)
      report(verifyComputation(decoded->program), *decoded);
    if (!hasFailed)
      remarkProof(decoded->program);
  }

private:
  /// Stages have separate memories, so they are verified independently.
  std::vector<llvm::Error> verifyStages(const Program &program) {
    std::vector<std::optional<llvm::Error>> errors(program.stages.size());
    parallelFor(&getContext(), 0, errors.size(), [&](size_t stage) {
      errors[stage].emplace(verifyMemory(program, program.stages[stage]));
    });
    std::vector<llvm::Error> found;
    for (std::optional<llvm::Error> &error : errors)
      found.push_back(std::move(*error));
    return found;
  }

  void remarkProof(const Program &program) {
    int64_t instructions = 0;
    for (const StageProgram &stage : program.stages)
      instructions += countInstructions(stage);
    remark::analysis(getOperation().getLoc(),
                     remark::RemarkOpts::name("Proof").category("verify"))
        << remark::add(ranks ? "memory, order, progress and ranks are proven"
                             : "memory, order and progress are proven")
        << remark::metric("stages", program.stages.size())
        << remark::metric("instructions", instructions);
  }

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
