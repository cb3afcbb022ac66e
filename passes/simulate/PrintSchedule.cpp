//===- PrintSchedule.cpp - Prints the tasks of a program's stages ---------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Perf/EventEngine/PipelinePrint.h"
#include "mf/Perf/Simulator/TaskSimulation.h"
#include "passes/DecodedModule.h"
#include "passes/Passes.h"

namespace mf::passes {
#define GEN_PASS_DEF_PRINTSCHEDULE
#include "passes/Passes.h.inc"
} // namespace mf::passes

using namespace mlir;
using namespace mf::program;
using mf::simulator::SimulatedTasks;
using mf::simulator::TaskCosts;

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
      return printStepTasks(decoded->program, *step, llvm::errs());
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
