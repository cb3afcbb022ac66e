//===- FuseElementwise.cpp - Chains of elementwise kernels as one ---------===//
// SPDX-License-Identifier: Apache-2.0

#include "mlir/IR/Remarks.h"
#include "passes/Passes.h"
#include "passes/PrintedPlan.h"
#include "passes/fuse-elementwise/RoutineChains.h"
#include "llvm/ADT/StringMap.h"

namespace mf::passes {
#define GEN_PASS_DEF_FUSEELEMENTWISE
#include "passes/Passes.h.inc"
} // namespace mf::passes

using namespace mlir;
using namespace mf;
using namespace mf::passes;

namespace {

struct FuseElementwisePass
    : mf::passes::PrintingPass<
          mf::passes::impl::FuseElementwiseBase<FuseElementwisePass>> {
  using PrintingPass::PrintingPass;

  void runOnOperation() override {
    ascend::ProgramOp program = getOperation();
    llvm::StringMap<SmallVector<ascend::CallOp>> calls;
    program.walk(
        [&](ascend::CallOp call) { calls[call.getRoutine()].push_back(call); });
    std::vector<ChainKind> kinds;
    for (auto routine : program.getBody().getOps<ascend::RoutineOp>()) {
      RoutineChains chains(routine, calls[routine.getSymName()]);
      const ChainPlan plan = planChains(chains.getGraph());
      addKinds(kinds, plan.getKinds());
      chains.apply(plan);
    }
    for (const ChainKind &kind : kinds)
      emitRemark(program, kind);
    if (printPlan && !kinds.empty()) {
      PrintedPlan text(program);
      text.os() << "stage " << program.getStage() << ": chains\n";
      printKinds(kinds, text.os());
    }
  }

private:
  static void emitRemark(ascend::ProgramOp program, const ChainKind &kind) {
    remark::passed(program.getLoc(),
                   remark::RemarkOpts::name("Chain").category("fuse").function(
                       program.getSymName()))
        << remark::add("{0} run as one kernel", kind.kernels)
        << remark::metric("chains", kind.chains)
        << remark::metric("launches joined", kind.launches)
        << remark::metric("buffer bytes gone", kind.bytesGone)
        << remark::metric("bytes not moved", kind.bytesUnmoved);
  }
};

} // namespace
