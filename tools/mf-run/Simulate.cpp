//===- Simulate.cpp - mf-run --simulate -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "Simulate.h"
#include "Routing.h"
#include "StepOutputs.h"
#include "mf/Exec/Runner/MemoryReport.h"
#include "mf/Perf/Simulator/StepSimulator.h"
#include "mf/Perf/Timeline/MemoryPage.h"
#include "mf/Perf/Timeline/Writers.h"

using llvm::Error;

namespace mf::tools {

/// Returns the rates that kernels could reach at the peaks of the target.
static timeline::BoundRates getRates(const target::Target &target) {
  timeline::BoundRates rates;
  for (const target::ComputeEngine &engine : target.engines)
    if (engine.engine == Engine::Cube)
      for (const target::Peak &peak : engine.peaks)
        rates.flopsPerSecond[peak.type] = peak.flopsPerSecond;
  rates.bytesPerSecond = target.memory.bytesPerSecond;
  rates.source = "peaks of " + target.name;
  return rates;
}

Error simulateStep(const Options &options, const program::Program &program,
                   const target::Target &target, llvm::raw_ostream &os) {
  if (Error error = checkStepFiles(options, program.mesh))
    return error;
  const int64_t limit = options.getHbmBytes();
  if (Error error = runner::checkDeviceMemory(program, limit))
    return error;
  simulator::SimulationOptions simulation;
  simulation.withSpans = !options.trace.empty() || !options.profile.empty() ||
                         !options.html.empty() || options.kernelTable;
  llvm::Expected<timeline::StepTimeline> timeline =
      simulator::simulate(program, target, simulation);
  if (!timeline)
    return timeline.takeError();
  timeline->program = options.input;
  if (limit > 0)
    for (timeline::StageTimeline &stage : timeline->stages)
      stage.limitBytes = limit;
  if (options.kernelTable)
    timeline->rates = getRates(target);
  if (!options.report.empty())
    if (Error error = timeline::writeReport(options.report, *timeline))
      return error;
  if (!options.memoryHtml.empty())
    if (Error error = timeline::writeMemoryPage(options.memoryHtml, program,
                                                options.input, &*timeline))
      return error;
  if (Error error = writeStep(options, *timeline, program.mesh, os))
    return error;
  return options.routing.empty()
             ? Error::success()
             : simulateRouting(options, program, target, os);
}

} // namespace mf::tools
