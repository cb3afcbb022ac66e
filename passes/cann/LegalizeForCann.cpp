//===- LegalizeForCann.cpp - What CANN needs, before memory is planned ----===//
// SPDX-License-Identifier: Apache-2.0

#include "dialects/ascend/AscendDialect.h"
#include "mlir/IR/Remarks.h"
#include "passes/Passes.h"
#include "passes/PrintedPlan.h"
#include "passes/cann/CannPlan.h"
#include "passes/cann/ExpandSteps.h"

namespace mf::passes {
#define GEN_PASS_DEF_LEGALIZEFORCANN
#include "passes/Passes.h.inc"
} // namespace mf::passes

using namespace mlir;
using namespace mf;
using namespace mf::passes;

namespace {

struct LegalizeForCannPass
    : mf::passes::PrintingPass<
          mf::passes::impl::LegalizeForCannBase<LegalizeForCannPass>> {
  using PrintingPass::PrintingPass;

  void runOnOperation() override {
    ascend::ProgramOp program = getOperation();
    const ExpandedSteps expanded = expandSteps(program);
    SmallVector<ascend::LaunchOp> launches;
    std::vector<LaunchForCann> described;
    program.walk([&](ascend::LaunchOp launch) {
      if (std::optional<KernelSpec> spec = launch.getKernelSpec()) {
        launches.push_back(launch);
        described.push_back({std::move(*spec), getWorkspaceBytes(launch)});
      }
    });
    const CannPlan plan = planForCann(described);
    for (const PlannedWorkspace &planned : plan.workspaces)
      setWorkspace(launches[planned.launch], planned.bytes);
    emitRemark(program, expanded);
    emitRemarks(program, plan);
    if (printPlan)
      print(program, expanded, plan);
  }

private:
  /// Returns the bytes of a launch's workspace, or 0 if it has none.
  static int64_t getWorkspaceBytes(ascend::LaunchOp launch) {
    Value workspace = launch.getWorkspace();
    return workspace ? cast<ascend::BufferType>(workspace.getType()).getBytes()
                     : 0;
  }

  /// Gives a launch a new workspace, and erases the buffer of its previous one
  /// if nothing else uses that. The buffer consists of words of 32 bits, like
  /// the workspaces that the lowering makes.
  static void setWorkspace(ascend::LaunchOp launch, int64_t bytes) {
    OpBuilder builder(launch);
    const auto words =
        RankedTensorType::get({(bytes + 3) / 4}, builder.getI32Type());
    auto made = ascend::AllocOp::create(
        builder, launch.getLoc(),
        ascend::BufferType::get(builder.getContext(), words,
                                ascend::Space::Hbm),
        ascend::RegionAttr(), IntegerAttr());
    Value before = launch.getWorkspace();
    launch.getWorkspaceMutable().assign(made);
    Operation *maker = before ? before.getDefiningOp() : nullptr;
    if (maker && maker->use_empty())
      maker->erase();
  }

  static remark::RemarkOpts getOptions(ascend::ProgramOp program,
                                       StringRef name) {
    return remark::RemarkOpts::name(name).category("cann").function(
        program.getSymName());
  }

  static void print(ascend::ProgramOp program, const ExpandedSteps &expanded,
                    const CannPlan &plan) {
    PrintedPlan text(program);
    text.os() << "stage " << program.getStage() << ": on CANN\n";
    if (expanded.launches > 0)
      text.os() << "  " << expanded.launches
                << " launches with steps: " << expanded.steps << " launches, "
                << expanded.bufferBytes << " bytes of buffers between them\n";
    printCannPlan(plan, text.os());
  }

  static void emitRemark(ascend::ProgramOp program,
                         const ExpandedSteps &expanded) {
    if (expanded.launches > 0)
      remark::passed(program.getLoc(), getOptions(program, "CannSteps"))
          << remark::add("kernels that run as one are launched one by one")
          << remark::metric("launches", expanded.launches)
          << remark::metric("steps", expanded.steps)
          << remark::metric("buffer bytes", expanded.bufferBytes);
  }

  static void emitRemarks(ascend::ProgramOp program, const CannPlan &plan) {
    for (const KernelOnCann &kernel : plan.kernels)
      if (kernel.changed > 0)
        remark::passed(program.getLoc(), getOptions(program, "CannWorkspace"))
            << remark::add("{0} has {1} in its workspace", kernel.name,
                           kernel.temporaries)
            << remark::metric("launches", kernel.changed)
            << remark::metric("most bytes", kernel.bytes);
    for (const MissingKernel &kernel : plan.missing)
      remark::missed(program.getLoc(), getOptions(program, "CannKernel"))
          << (kernel.refusal.empty()
                  ? remark::add("CANN has no counterpart of {0}", kernel.name)
                  : remark::add("{0}: {1}", kernel.name, kernel.refusal))
          << remark::metric("launches", kernel.launches);
  }
};

} // namespace
