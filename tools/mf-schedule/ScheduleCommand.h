//===- ScheduleCommand.h - Shows pipeline schedules -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_TOOLS_MF_SCHEDULE_SCHEDULECOMMAND_H
#define MF_TOOLS_MF_SCHEDULE_SCHEDULECOMMAND_H

#include "mf/Perf/EventEngine/PipelineModel.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/JSON.h"

namespace mf::tools {

namespace cl = llvm::cl;
using events::TransferMode;

/// The command line of mf-schedule. The only object is created in main.
struct ScheduleOptions {
  cl::OptionCategory category{"A schedule"};
  cl::opt<std::string> schedule{
      "schedule",
      cl::desc(
          "Name of the schedule (default 1f1b), or `all` for a table of them"),
      cl::value_desc("name"), cl::init("1f1b"), cl::cat(category)};
  cl::opt<int64_t> stages{"stages", cl::desc("Number of stages (default 4)"),
                          cl::value_desc("count"), cl::init(4),
                          cl::cat(category)};
  cl::opt<int64_t> chunks{"chunks",
                          cl::desc("Chunks of the model on each stage "
                                   "(default: as few as the schedule takes)"),
                          cl::value_desc("count"), cl::cat(category)};
  cl::opt<int64_t> microBatches{
      "micro-batches", cl::desc("Micro-batches per step (default 8)"),
      cl::value_desc("count"), cl::init(8), cl::cat(category)};
  cl::opt<int64_t> pieces{
      "pieces", cl::desc("Pieces of the sequence of a micro-batch (default 1)"),
      cl::value_desc("count"), cl::init(1), cl::cat(category)};
  cl::list<double> forwardTime{
      "forward-time", cl::CommaSeparated,
      cl::desc("Forward time of each chunk in the order of execution, or one "
               "for all (default 1). With --schedule=all that of a stage, "
               "which its chunks share"),
      cl::value_desc("time,..."), cl::cat(category)};
  cl::opt<double> backwardRatio{
      "backward-ratio",
      cl::desc("Time of a backward in that of its forward (default 2)"),
      cl::value_desc("ratio"), cl::init(2), cl::cat(category)};
  cl::opt<double> inputGradientShare{
      "input-gradient-share",
      cl::desc(
          "What the input gradient takes of a split backward (default 0.5)"),
      cl::value_desc("share"), cl::init(0.5), cl::cat(category)};
  cl::opt<double> pairHidden{
      "pair-hidden",
      cl::desc("What a backward hides of a forward in the same slot (default "
               "0): a pair takes F + B - share * F"),
      cl::value_desc("share"), cl::init(0), cl::cat(category)};
  cl::list<double> recomputeTime{
      "recompute-time", cl::CommaSeparated,
      cl::desc("Time that backward of each chunk spends on recomputing, given "
               "as --forward-time is (default 0)"),
      cl::value_desc("time,..."), cl::cat(category)};
  cl::opt<bool> recomputeTasks{
      "recompute-tasks",
      cl::desc("Recompute in tasks of their own, which wait for no gradient; "
               "--recompute-time is then that of a forward unless given"),
      cl::cat(category)};
  cl::opt<double> transferTime{
      "transfer-time", cl::desc("Time of a message between stages (default 0)"),
      cl::value_desc("time"), cl::init(0), cl::cat(category)};
  cl::opt<TransferMode> transfers{
      "transfers", cl::desc("How messages take place:"),
      cl::values(clEnumValN(TransferMode::Overlapped, "overlapped",
                            "beside the tasks (default)"),
                 clEnumValN(TransferMode::Blocking, "blocking",
                            "both stages do nothing else meanwhile")),
      cl::init(TransferMode::Overlapped), cl::cat(category)};
  cl::opt<std::string> json{
      "json", cl::ValueOptional,
      cl::desc(
          "Write one JSON object, with the times of all tasks of a single "
          "schedule, to standard output instead of text if no file is given"),
      cl::value_desc("file"), cl::cat(category)};

  bool wantsJson() const { return json.getNumOccurrences() > 0; }
  bool showsAll() const { return schedule == "all"; }
};

/// Shows the schedule that the options describe, without a model, and prints
/// errors. Returns the exit code of the program.
int showSchedule(const ScheduleOptions &options);

/// Returns the sections of the help that follow the options, with examples of
/// `program`.
std::string getScheduleHelp(llvm::StringRef program);

/// Writes the times of a pipeline's tasks as members of an open JSON object.
void writeTimeline(const schedule::Pipeline &pipeline,
                   const events::PipelineTimeline &timeline,
                   llvm::json::OStream &json);

} // namespace mf::tools

#endif // MF_TOOLS_MF_SCHEDULE_SCHEDULECOMMAND_H
