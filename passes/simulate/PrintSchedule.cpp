//===- PrintSchedule.cpp - Prints the tasks of a program's stages ---------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/simulate/PrintSchedule.h"
#include "mf/Perf/EventEngine/PipelinePrint.h"
#include "mf/Program/Liveness.h"
#include "passes/DecodedModule.h"
#include "passes/Passes.h"
#include "llvm/Support/FormatVariadic.h"

namespace mf::passes {
#define GEN_PASS_DEF_PRINTSCHEDULE
#include "passes/Passes.h.inc"
} // namespace mf::passes

using namespace mlir;
using namespace mf::program;
using mf::simulator::SimulatedTasks;
using mf::simulator::TaskCosts;

namespace {

/// Returns the most bytes of residuals on the device at one time.
int64_t getActivationPeak(const StageProgram &stage) {
  std::vector<Lifetime> lifetimes = computeLifetimes(stage);
  llvm::erase_if(lifetimes, [](const Lifetime &lifetime) {
    return lifetime.category != BufferCategory::Activation;
  });
  return findPeak(lifetimes, Space::Device).bytes;
}

} // namespace

void mf::passes::printStepTasks(const Program &program,
                                const SimulatedTasks &step, raw_ostream &os) {
  const mf::events::Bubbles &bubbles = step.timeline.bubbles;
  os << llvm::formatv("end {0:f2} of {1:f0} FLOPs\n", step.timeline.end,
                      step.flopsPerUnit);
  os << llvm::formatv("bubble {0:f4}: ideal {1:f4}, imbalance {2:f4}\n",
                      bubbles.real, bubbles.ideal, bubbles.imbalance);
  for (const StageProgram &stage : program.stages)
    os << llvm::formatv("stage {0}: busy {1:f2}, arena {2} bytes, activations "
                        "{3} bytes\n",
                        stage.stage, step.busy[stage.stage], stage.arenaBytes,
                        getActivationPeak(stage));
}

namespace {

struct PrintSchedulePass
    : mf::passes::impl::PrintScheduleBase<PrintSchedulePass> {
  using PrintScheduleBase::PrintScheduleBase;

  void runOnOperation() override {
    markAllAnalysesPreserved();
    const DecodedProgram *decoded =
        getAnalysis<mf::passes::DecodedModule>().get();
    if (!decoded)
      return signalPassFailure();
    TaskCosts costs;
    costs.flopsPerUnit = flopsPerUnit;
    costs.transferTime = transferTime;
    llvm::Expected<SimulatedTasks> step =
        simulateTasks(decoded->program, costs);
    if (step) {
      if (timeline)
        mf::events::printTimeline(step->pipeline, step->timeline, llvm::errs());
      return mf::passes::printStepTasks(decoded->program, *step, llvm::errs());
    }
    llvm::handleAllErrors(
        step.takeError(),
        [&](const LocatedError &error) { decoded->emit(error); },
        [&](const llvm::ErrorInfoBase &error) {
          emitError(getOperation().getLoc()) << error.message();
        });
    signalPassFailure();
  }
};

} // namespace
