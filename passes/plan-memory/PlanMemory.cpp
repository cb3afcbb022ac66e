//===- PlanMemory.cpp - Offsets in one arena ------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/plan-memory/PlanMemory.h"
#include "mf/Frontend/Config/MemorySize.h"
#include "mf/Program/Memory/PeakAdvice.h"
#include "mlir/IR/Remarks.h"
#include "passes/plan-memory/StageProblem.h"
#include <map>

namespace mf::passes {
#define GEN_PASS_DEF_PLANMEMORY
#include "passes/Passes.h.inc"
} // namespace mf::passes

using namespace mlir;
using namespace mf;
using mf::passes::StageProblem;

namespace {

constexpr size_t numLargestShown = 10;
constexpr size_t numSavingsShown = 5;

struct PlanMemoryPass : mf::passes::impl::PlanMemoryBase<PlanMemoryPass> {
  using PlanMemoryBase::PlanMemoryBase;
  PlanMemoryPass(const mf::passes::PlanMemoryOptions &options,
                 const memory::StepPlanOptions &effort,
                 mf::passes::MemoryLimitHandler handler,
                 mf::passes::MemoryPlanner planner,
                 mf::passes::MemoryProblemHandler problemHandler)
      : PlanMemoryBase(options), effort(effort), handler(std::move(handler)),
        planner(std::move(planner)), problemHandler(std::move(problemHandler)) {
  }

  void runOnOperation() override {
    ascend::ProgramOp program = getOperation();
    FailureOr<std::optional<int64_t>> limit =
        mf::passes::getMemoryLimit(program, hbm);
    if (failed(limit))
      return signalPassFailure();
    FailureOr<program::UnplannedStage> decoded =
        program::decodeUnplanned(program);
    if (failed(decoded))
      return signalPassFailure();
    StageProblem stage(*decoded, slack);
    if (auto broken = stage.getBrokenSlot()) {
      reportBrokenSlot(*broken);
      return signalPassFailure();
    }
    std::optional<memory::StepPlan> plan =
        planLegally(stage.getDevice(), effort, "device memory");
    if (!plan)
      return signalPassFailure();
    if (problemHandler)
      problemHandler(static_cast<int64_t>(program.getStage()),
                     stage.getDevice());
    std::optional<memory::StepPlan> host =
        planLegally(stage.getHost(), getHostOptions(), "host memory");
    if (!host)
      return signalPassFailure();
    mf::passes::applyPlan(program, stage.getOperations(),
                          {stage.getDevice(), *plan}, {stage.getHost(), *host});
    remark::analysis(program.getLoc(), remark::RemarkOpts::name("MemoryPlan")
                                           .category("memory")
                                           .function(program.getSymName()))
        << remark::add("peak at {0}", stage.describe(plan->bound.moment))
        << remark::metric("arena bytes", plan->arenaSize)
        << remark::metric("max-live bytes", plan->bound.bytes)
        << remark::metric("pinned host bytes", host->arenaSize);
    remarkPackers("device", *plan);
    remarkPackers("host", *host);
    if (*limit && failed(checkLimit(stage, *plan, decoded->stage, **limit)))
      return signalPassFailure();
  }

private:
  memory::StepPlanOptions effort;
  mf::passes::MemoryLimitHandler handler;
  mf::passes::MemoryPlanner planner = memory::planStep;
  mf::passes::MemoryProblemHandler problemHandler;

  /// Returns a plan that is proven to be legal for this problem, or reports an
  /// error and returns none. Overlapping offsets would otherwise only show as
  /// wrong numbers.
  std::optional<memory::StepPlan>
  planLegally(const memory::StepProblem &problem,
              const memory::StepPlanOptions &options, llvm::StringRef space) {
    llvm::Expected<memory::StepPlan> plan = planner(problem, options);
    if (!plan) {
      getOperation().emitOpError("cannot be planned in ")
          << space << ": " << llvm::toString(plan.takeError());
      return std::nullopt;
    }
    if (llvm::Error error = plan->verify(problem)) {
      getOperation().emitOpError("got an illegal plan of ")
          << space << ", which is a mistake of the planner: "
          << llvm::toString(std::move(error));
      return std::nullopt;
    }
    return std::move(*plan);
  }

  /// Says which heuristics and searches found a plan.
  void remarkPackers(llvm::StringRef memory, const memory::StepPlan &plan) {
    ascend::ProgramOp program = getOperation();
    remark::analysis(
        program.getLoc(),
        remark::RemarkOpts::name("Packers").category("memory").function(
            program.getSymName()))
        << remark::add("{0}: {1}", memory, plan.describePackers());
  }

  /// Returns the options for host memory, where each frame is contiguous.
  static memory::StepPlanOptions getHostOptions() {
    memory::StepPlanOptions options;
    options.splitFrames = false;
    return options;
  }

  static void reportBrokenSlot(StageProblem::BrokenSlot broken) {
    ascend::FrameLayoutOp layout = broken.layout;
    layout.emitOpError("expected slot ")
        << broken.slot << " ('"
        << cast<StringAttr>(layout.getNames()[broken.slot]).getValue()
        << "') to be written by one routine and read by a later one";
  }

  /// Compares the limit with what the trainer of the YAML holds if that was
  /// counted, or else with the arena.
  LogicalResult checkLimit(const StageProblem &stage,
                           const memory::StepPlan &plan,
                           const program::StageProgram &program,
                           int64_t limit) {
    if (!program.trainerPeak || limitsProgram) {
      if (plan.arenaSize <= limit)
        return success();
      reportTooLarge(stage, plan, limit);
      return failure();
    }
    const trainer::TrainerMoment &moment = program.trainerPeak->moment;
    if (moment.bytes.getTotal() <= limit)
      return success();
    mf::passes::StageOverflow overflow;
    overflow.stage = static_cast<int64_t>(getOperation().getStage());
    overflow.bytes = moment.bytes.getTotal();
    overflow.limitBytes = limit;
    overflow.isOfTrainer = true;
    overflow.moment = moment.at + " in " + program.trainerPeak->task;
    std::map<std::string, int64_t> categories;
    moment.bytes.visit([&](trainer::TrainerCategory category, int64_t bytes) {
      categories[trainer::getName(category).str()] = bytes;
    });
    overflow.categories = sortBySize(categories);
    overflow.estimates.push_back("mf's own program needs " +
                                 describeMemorySize(plan.arenaSize) +
                                 "; --memory=program limits it instead");
    report(std::move(overflow));
    return failure();
  }

  /// Leaves the error to the handler if there is one, which knows all stages.
  void report(mf::passes::StageOverflow overflow) {
    if (handler)
      return handler(std::move(overflow));
    InFlightDiagnostic error = getOperation().emitError();
    error << overflow.describe();
    for (const std::string &fact : overflow.listFacts())
      error.attachNote() << fact;
  }

  void reportTooLarge(const StageProblem &stage, const memory::StepPlan &plan,
                      int64_t limit) {
    mf::passes::StageOverflow overflow;
    overflow.stage = static_cast<int64_t>(getOperation().getStage());
    overflow.bytes = plan.arenaSize;
    overflow.limitBytes = limit;
    overflow.moment = stage.describe(plan.bound.moment);
    std::vector<memory::LiveBuffer> live =
        stage.getDevice().liveAt(plan.bound.moment);
    std::map<std::string, int64_t> categories;
    for (const memory::LiveBuffer &buffer : live)
      categories[stage.getCategory(buffer)] += buffer.size;
    overflow.categories = sortBySize(categories);
    for (const memory::LiveBuffer &buffer :
         llvm::ArrayRef(live).take_front(numLargestShown))
      overflow.largest.emplace_back(stage.getCategory(buffer) + " " +
                                        llvm::StringRef(buffer.name).str(),
                                    buffer.size);
    addAdvice(memory::adviseOnPeak(stage.getDevice(), limit), overflow);
    report(std::move(overflow));
  }

  static void addAdvice(const memory::PeakAdvice &advice,
                        mf::passes::StageOverflow &overflow) {
    if (advice.persistentBytes > overflow.limitBytes) {
      overflow.estimates.push_back(
          "what lives through the whole step (parameters, gradients, "
          "optimizer state) needs " +
          describeMemorySize(advice.persistentBytes) +
          ": recompute and swap cannot help, fewer layers on the stage may");
      return;
    }
    for (const memory::LayerSavings &run :
         llvm::ArrayRef(advice.savings).take_front(numSavingsShown)) {
      std::string note = "of the peak, layer" +
                         std::string(run.getNumLayers() > 1 ? "s " : " ") +
                         std::to_string(run.firstLayer);
      if (run.getNumLayers() > 1)
        note += " to " + std::to_string(run.lastLayer) + " each";
      overflow.savings.push_back(
          note + " would save " + describeMemorySize(run.recomputeBytes) +
          " by recompute, up to " + describeMemorySize(run.swapBytes) +
          " by swap");
    }
    if (advice.savings.empty())
      return;
    addResult("recompute", "would", advice.recompute, overflow);
    addResult("swap", "may", advice.swap, overflow);
  }

  static void addResult(const char *remedy, const char *certainty,
                        const memory::AdviceResult &result,
                        mf::passes::StageOverflow &overflow) {
    std::string note = std::string("by estimate, ") + remedy + " of ";
    if (result.numLayers)
      note += std::to_string(*result.numLayers) +
              (*result.numLayers == 1 ? " layer" : " layers") +
              " of this stage " + certainty + " be enough: about ";
    else
      note += "all layers of this stage would not be enough: about ";
    overflow.estimates.push_back(note + describeMemorySize(result.bytes));
  }
};

} // namespace

std::unique_ptr<Pass>
mf::passes::createPlanMemory(const PlanMemoryOptions &options,
                             const memory::StepPlanOptions &effort,
                             MemoryLimitHandler handler, MemoryPlanner planner,
                             MemoryProblemHandler problemHandler) {
  return std::make_unique<PlanMemoryPass>(options, effort, std::move(handler),
                                          std::move(planner),
                                          std::move(problemHandler));
}
