//===- VerifyProgram.cpp - Proofs about planned programs ------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Program/Verifier.h"
#include "mlir/IR/Remarks.h"
#include "mlir/IR/Threading.h"
#include "mlir/IR/Verifier.h"
#include "passes/DecodedModule.h"
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
  explicit VerifyProgramPass(mf::passes::ProofHandler handler)
      : handler(std::move(handler)) {}

  void runOnOperation() override {
    markAllAnalysesPreserved();
    // Decoding relies on what verifiers of operators promise.
    if (failed(verify(getOperation())))
      return signalPassFailure();
    const DecodedProgram *decoded =
        getAnalysis<mf::passes::DecodedModule>().get();
    if (!decoded)
      return signalPassFailure();
    ProofOptions options;
    options.ranks = ranks;
    auto forEachStage = [&](size_t count, function_ref<void(size_t)> verify) {
      parallelFor(&getContext(), 0, count, verify);
    };
    options.forEachStage = forEachStage;
    llvm::Expected<ProgramProof> proof = prove(decoded->program, options);
    if (!proof)
      return report(proof.takeError(), *decoded);
    remarkProof(decoded->program, *proof);
    if (handler)
      handler(proof->describe());
  }

private:
  void remarkProof(const Program &program, const ProgramProof &proof) {
    int64_t instructions = 0;
    for (const StageProgram &stage : program.stages)
      instructions += static_cast<int64_t>(countInstructions(stage));
    remark::analysis(getOperation().getLoc(),
                     remark::RemarkOpts::name("Proof").category("verify"))
        << remark::add("{0}", proof.explain())
        << remark::metric("stages", program.stages.size())
        << remark::metric("instructions", instructions);
  }

  void report(llvm::Error error, const DecodedProgram &decoded) {
    llvm::handleAllErrors(std::move(error), [&](const LocatedError &located) {
      decoded.emit(located);
    });
    signalPassFailure();
  }

  mf::passes::ProofHandler handler;
};

} // namespace

std::unique_ptr<Pass> mf::passes::createVerifyProgram(ProofHandler handler) {
  return std::make_unique<VerifyProgramPass>(std::move(handler));
}
