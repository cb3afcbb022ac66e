//===- Schedule.cpp - mf schedule -----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "StepInput.h"
#include "Verb.h"
#include "mf/Perf/EventEngine/PipelinePrint.h"
#include "mf/Perf/Simulator/TaskSimulation.h"
#include "mf/Support/AtomicFile.h"
#include "tools/help/ToolHelp.h"
#include "tools/mf-schedule/ScheduleCommand.h"

using llvm::Error;
using llvm::Expected;

namespace mf::tools {

/// Shows when the stages of a step run what, timed by their floating-point
/// operations.
static Error showStep(const ScheduleOptions &options, const StepOptions &step,
                      llvm::StringRef input) {
  mlir::MLIRContext context;
  StepRequest request{input.str(), {}};
  if (options.schedule.getNumOccurrences() > 0)
    request.schedule = options.schedule;
  request.recomputeTasks = options.recomputeTasks;
  Expected<InputStep> read = readStep(step, request, context);
  if (!read)
    return read.takeError();
  printWarnings(*read, llvm::errs());
  Expected<program::DecodedProgram> decoded = decodeStep(*read);
  if (!decoded)
    return decoded.takeError();
  simulator::TaskCosts costs;
  costs.transferTime = options.transferTime;
  Expected<simulator::SimulatedTasks> tasks =
      simulator::simulateTasks(decoded->program, costs);
  if (!tasks)
    return tasks.takeError();
  if (!options.wantsJson() || options.json != "-") {
    events::printTimeline(tasks->pipeline, tasks->timeline, llvm::outs());
    simulator::printStepTasks(decoded->program, *tasks, llvm::outs());
  }
  if (!options.wantsJson())
    return Error::success();
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::json::OStream json(os, 2);
  json.object([&] { writeTimeline(tasks->pipeline, tasks->timeline, json); });
  text += '\n';
  if (options.json != "-")
    return writeFileAtomically(options.json, text);
  llvm::outs() << text;
  return Error::success();
}

int runSchedule(int argc, char **argv) {
  ScheduleOptions options;
  cl::OptionCategory loweringCategory{"The step of a YAML"};
  const cl::opt<std::string> input{cl::Positional, cl::desc("[<train.yaml>]"),
                                   cl::cat(options.category)};
  StepOptions step(loweringCategory, /*hasTasks=*/false);
  options.json.setValueExpectedFlag(cl::ValueRequired);
  options.json.setDescription("Write the times of all tasks as JSON; - is "
                              "standard output");
  setUpHelp({&options.category, &loweringCategory},
            getScheduleHelp("mf schedule"));
  cl::ParseCommandLineOptions(
      argc, argv,
      "mf schedule: shows when each stage runs what\n\n"
      "Of a YAML it shows the schedule of its step, in which tasks take as "
      "long as their\nfloating-point operations. Without one it shows the "
      "schedule that the options\ndescribe.\n");
  if (input.empty())
    return showSchedule(options);
  for (const cl::Option &option :
       std::initializer_list<std::reference_wrapper<const cl::Option>>{
           options.stages, options.chunks, options.microBatches, options.pieces,
           options.forwardTime, options.backwardRatio,
           options.inputGradientShare, options.pairHidden,
           options.recomputeTime})
    if (option.getNumOccurrences() > 0)
      return fail(llvm::createStringError(
          "--" + option.ArgStr + " is about a schedule without a YAML, but '" +
          input + "' has its own"));
  Error error = showStep(options, step, input);
  return error ? fail(std::move(error)) : 0;
}

} // namespace mf::tools
