//===- CastOnce.cpp - Parameters converted once per step ------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mlir/IR/Remarks.h"
#include "passes/Passes.h"
#include "passes/PrintedPlan.h"
#include "passes/cast/CastPlan.h"
#include "passes/cast/ParameterCasts.h"
#include "passes/plan-memory/MemoryLimit.h"
#include "passes/plan-memory/StageProblem.h"

namespace mf::passes {
#define GEN_PASS_DEF_CASTONCE
#include "passes/Passes.h.inc"
} // namespace mf::passes

using namespace mlir;
using namespace mf;
using namespace mf::passes;

namespace {

/// The fraction of the free memory that copies may use. The margin lets the
/// planner find offsets for all buffers, because arenas are slightly larger
/// than the live bytes.
constexpr double usableShare = 0.99;

struct CastOncePass
    : mf::passes::PrintingPass<mf::passes::impl::CastOnceBase<CastOncePass>> {
  using PrintingPass::PrintingPass;

  void runOnOperation() override {
    // Without --cast-once the pass only reports what it would do.
    if (!apply && !printPlan && !getContext().getRemarkEngine())
      return;
    ascend::ProgramOp program = getOperation();
    std::vector<ParameterCasts> casts = findParameterCasts(program);
    if (casts.empty())
      return;
    std::vector<ConvertedParameter> parameters;
    for (ParameterCasts &entry : casts)
      parameters.push_back(describe(entry));
    std::optional<int64_t> room;
    if (apply && failed(getRoom(program, room)))
      return signalPassFailure();
    const CastPlan plan = planCasts(parameters, room);
    if (printPlan)
      printCasts(parameters, plan, PrintedPlan(program).os());
    emitRemark(program, plan);
    if (!apply)
      return;
    std::vector<ParameterCasts> chosen;
    for (size_t index : plan.copied)
      chosen.push_back(casts[index]);
    convertOnce(program, chosen);
  }

private:
  static ConvertedParameter describe(ParameterCasts &casts) {
    ConvertedParameter described;
    described.name = casts.parameter.getSymName();
    described.casts = casts.runs;
    described.bytesKept = casts.converted.getBytes();
    described.bytesMoved =
        described.bytesKept +
        cast<ascend::BufferType>(casts.parameter.getType()).getBytes();
    return described;
  }

  /// Returns the memory between the stage's peak and its limit; none without a
  /// limit.
  LogicalResult getRoom(ascend::ProgramOp program,
                        std::optional<int64_t> &room) {
    FailureOr<std::optional<int64_t>> limit = getMemoryLimit(program, hbm);
    if (failed(limit))
      return failure();
    if (!*limit)
      return success();
    FailureOr<program::UnplannedStage> decoded =
        program::decodeUnplanned(program);
    if (failed(decoded))
      return failure();
    StageProblem stage(*decoded);
    // ascend-plan-memory reports the error.
    if (stage.getBrokenSlot())
      return success();
    if (llvm::Error error = stage.getDevice().check()) {
      llvm::consumeError(std::move(error));
      return success();
    }
    const auto usable =
        static_cast<int64_t>(static_cast<double>(**limit) * usableShare);
    room = std::max<int64_t>(usable - stage.getDevice().maxLive().bytes, 0);
    return success();
  }

  void emitRemark(ascend::ProgramOp program, const CastPlan &plan) {
    if (plan.castsSaved == 0 && plan.withoutRoom == 0)
      return;
    remark::RemarkOpts options = remark::RemarkOpts::name("CastOnce")
                                     .category("cast")
                                     .function(program.getSymName());
    const auto copied = static_cast<int64_t>(plan.copied.size());
    auto add = [&](auto &&said) {
      said << remark::metric("parameters", copied)
           << remark::metric("conversions saved", plan.castsSaved)
           << remark::metric("bytes kept", plan.bytesKept)
           << remark::metric("bytes not moved", plan.bytesSaved);
      if (plan.withoutRoom > 0)
        said << remark::metric("parameters without room", plan.withoutRoom);
    };
    if (!apply)
      return add(remark::missed(program.getLoc(), options) << remark::add(
                     "stage {0} converts parameters wherever they are read; "
                     "cast-once would save",
                     program.getStage()));
    if (copied == 0)
      return add(remark::missed(program.getLoc(), options) << remark::add(
                     "stage {0} has no memory left for converted parameters",
                     program.getStage()));
    add(remark::passed(program.getLoc(), options) << remark::add(
            "stage {0} converts parameters once per step", program.getStage()));
  }
};

} // namespace
