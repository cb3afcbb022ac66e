//===- ScheduleCommand.cpp - Shows pipeline schedules ---------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "ScheduleCommand.h"
#include "mf/Perf/EventEngine/PipelinePrint.h"
#include "mf/Pipeline/Policy.h"
#include "mf/Support/AtomicFile.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/WithColor.h"

namespace cl = llvm::cl;
using namespace mf::schedule;
using namespace mf::events;
using llvm::Error;
using llvm::Expected;
using llvm::formatv;
using llvm::outs;
using mf::tools::ScheduleOptions;

namespace {

/// More tasks are probably a mistake, and would need gigabytes.
constexpr int64_t mostTasks = 1 << 22;
constexpr int64_t mostStages = 1 << 12;

/// A schedule with the times of its tasks.
struct ScheduleResult {
  Schedule schedule;
  PipelineTimeline timeline;
  int64_t chunksPerStage = 1;

  /// For each stage, returns the largest number of activations in flight, in
  /// activations of a chunk.
  std::vector<int64_t> getInFlight() const {
    std::vector<int64_t> inFlight;
    for (int64_t stage = 0; stage < schedule.pipeline.stages; ++stage)
      inFlight.push_back(schedule.getMaxInFlight(stage));
    return inFlight;
  }
};

Error checkCount(const cl::opt<int64_t> &option, int64_t most) {
  if (option >= 1 && option <= most)
    return Error::success();
  return llvm::createStringError(
      formatv("--{0} is {1}, expected 1 to {2}", option.ArgStr, +option, most));
}

Error check(const ScheduleOptions &options) {
  if (Error error = checkCount(options.stages, mostStages))
    return error;
  if (Error error = checkCount(options.microBatches, mostTasks))
    return error;
  if (Error error = checkCount(options.pieces, mostTasks))
    return error;
  if (options.chunks.getNumOccurrences() > 0)
    if (Error error = checkCount(options.chunks, mostTasks))
      return error;
  double tasks = 3.0 * options.stages * std::max<int64_t>(2, options.chunks) *
                 options.microBatches * options.pieces;
  if (tasks > mostTasks)
    return llvm::createStringError(
        formatv("stages, chunks and micro-batches make {0:f0} tasks, expected "
                "at most {1}",
                tasks, mostTasks));
  if (options.showsAll() &&
      (options.forwardTime.size() > 1 || options.recomputeTime.size() > 1))
    return llvm::createStringError(
        "--schedule=all takes one --forward-time and --recompute-time for all "
        "stages, expected no list");
  return Error::success();
}

/// Returns the pipeline with the requested number of chunks, or with the
/// smallest that the policy supports.
Expected<Pipeline> place(const Policy &policy, const ScheduleOptions &options) {
  bool isGiven = options.chunks.getNumOccurrences() > 0;
  if (isGiven && !options.showsAll())
    return policy.place(options.stages, options.chunks, options.microBatches,
                        options.pieces);
  Pipeline one =
      policy.place(options.stages, 1, options.microBatches, options.pieces);
  Error refusal = policy.check(one);
  if (!refusal)
    return one;
  llvm::consumeError(std::move(refusal));
  int64_t most = std::max<int64_t>(2, isGiven ? options.chunks : 2);
  for (int64_t chunks : {most, int64_t(2)}) {
    Pipeline more = policy.place(options.stages, chunks, options.microBatches,
                                 options.pieces);
    Error moreRefusal = policy.check(more);
    if (!moreRefusal || chunks == 2) {
      llvm::consumeError(std::move(moreRefusal));
      return more;
    }
    llvm::consumeError(std::move(moreRefusal));
  }
  return one;
}

/// Returns one number for each chunk. `given` has one for each chunk or one for
/// all.
std::vector<double> spread(const cl::list<double> &given, double otherwise,
                           int64_t chunks, double share) {
  if (given.size() > 1)
    return std::vector<double>(given.begin(), given.end());
  double number = given.empty() ? otherwise : given.front();
  return std::vector<double>(chunks, number * share);
}

Expected<ScheduleResult> simulate(const Policy &policy,
                                  const ScheduleOptions &options) {
  Expected<Pipeline> pipeline = place(policy, options);
  if (!pipeline)
    return pipeline.takeError();
  const bool hasTasks = options.recomputeTasks || policy.separatesRecompute();
  if (hasTasks)
    policy.chooseRecompute(*pipeline);
  Expected<Schedule> schedule = buildSchedule(policy, *pipeline);
  if (!schedule)
    return schedule.takeError();
  ScheduleResult result;
  int64_t chunks = pipeline->getNumChunks();
  result.chunksPerStage = chunks / pipeline->stages;
  double share = options.showsAll() ? 1.0 / result.chunksPerStage : 1.0;
  PipelineCosts costs;
  costs.forward = spread(options.forwardTime, 1, chunks, share);
  if (hasTasks && options.recomputeTime.empty())
    costs.recompute = costs.forward;
  else if (!options.recomputeTime.empty())
    costs.recompute = spread(options.recomputeTime, 0, chunks, share);
  costs.backwardRatio = options.backwardRatio;
  costs.inputGradientShare = options.inputGradientShare;
  costs.pairHidden = options.pairHidden;
  costs.transferTime = options.transferTime;
  costs.transfers =
      costs.transferTime == 0 ? TransferMode::Free : options.transfers;
  Expected<PipelineTimeline> timeline = simulatePipeline(*schedule, costs);
  if (!timeline)
    return timeline.takeError();
  result.schedule = std::move(*schedule);
  result.timeline = std::move(*timeline);
  return result;
}

//===----------------------------------------------------------------------===//
// One schedule
//===----------------------------------------------------------------------===//

void printResult(const ScheduleResult &result) {
  const Pipeline &pipeline = result.schedule.pipeline;
  const Bubbles &bubbles = result.timeline.bubbles;
  printTimeline(pipeline, result.timeline, outs());
  outs() << formatv("end {0}\n", result.timeline.end);
  outs() << formatv("bubble {0:f4}: ideal {1:f4}, imbalance {2:f4}",
                    bubbles.real, bubbles.ideal, bubbles.imbalance);
  if (bubbles.communication)
    outs() << formatv(", communication {0:f4}", *bubbles.communication);
  if (bubbles.recompute)
    outs() << formatv(", recompute {0:f4}", *bubbles.recompute);
  outs() << "\nchunks in flight:";
  for (int64_t count : result.getInFlight())
    outs() << " " << count;
  outs() << "\n";
}

void writeBubbles(const Bubbles &bubbles, llvm::json::OStream &json) {
  json.attributeObject("bubbles", [&] {
    json.attribute("real", bubbles.real);
    json.attribute("ideal", bubbles.ideal);
    json.attribute("imbalance", bubbles.imbalance);
    if (bubbles.communication)
      json.attribute("communication", *bubbles.communication);
    if (bubbles.recompute)
      json.attribute("recompute", *bubbles.recompute);
  });
}

void writeSummary(const ScheduleResult &result, llvm::json::OStream &json) {
  const Pipeline &pipeline = result.schedule.pipeline;
  json.attribute("schedule", result.schedule.name);
  json.attribute("stages", pipeline.stages);
  json.attribute("chunks", result.chunksPerStage);
  json.attribute("micro_batches", pipeline.microBatches);
  if (pipeline.pieces > 1)
    json.attribute("pieces", pipeline.pieces);
  json.attribute("end", result.timeline.end);
  writeBubbles(result.timeline.bubbles, json);
  json.attribute("chunks_in_flight", llvm::json::Array(result.getInFlight()));
}

void writeBlocks(const Pipeline &pipeline, const PipelineTimeline &timeline,
                 llvm::json::OStream &json) {
  const char *kinds[] = {"task", "send", "receive"};
  json.attributeArray("blocks", [&] {
    for (const std::vector<Block> &stage : timeline.stages)
      json.array([&] {
        for (const Block &block : stage)
          json.object([&] {
            json.attribute(kinds[static_cast<size_t>(block.kind)],
                           pipeline.getName(block.task));
            json.attribute("start", block.start);
            json.attribute("end", block.end);
          });
      });
  });
}

/// Writes JSON to the file of --json, or to standard output.
Error writeJson(const ScheduleOptions &options,
                llvm::function_ref<void(llvm::json::OStream &)> write) {
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::json::OStream json(os, 2);
  write(json);
  text += '\n';
  if (!options.json.empty() && options.json != "-")
    return mf::writeFileAtomically(options.json, text);
  outs() << text;
  return Error::success();
}

Error showOne(const ScheduleOptions &options) {
  Expected<const Policy *> policy = findPolicy(options.schedule);
  if (!policy)
    return policy.takeError();
  Expected<ScheduleResult> result = simulate(**policy, options);
  if (!result)
    return result.takeError();
  if (!options.wantsJson()) {
    printResult(*result);
    return Error::success();
  }
  return writeJson(options, [&](llvm::json::OStream &json) {
    json.object([&] {
      writeSummary(*result, json);
      writeBlocks(result->schedule.pipeline, result->timeline, json);
    });
  });
}

//===----------------------------------------------------------------------===//
// All schedules
//===----------------------------------------------------------------------===//

Error writeAll(const ScheduleOptions &options) {
  return writeJson(options, [&](llvm::json::OStream &json) {
    json.array([&] {
      for (const Policy *policy : getPolicies())
        json.object([&] {
          Expected<ScheduleResult> result = simulate(*policy, options);
          if (result)
            return writeSummary(*result, json);
          json.attribute("schedule", policy->getName());
          json.attribute("error", llvm::toString(result.takeError()));
        });
    });
  });
}

/// Prints all schedules. Peaks are in units of the activations of a whole stage
/// for a micro-batch, so that they can be compared.
void printAll(const ScheduleOptions &options) {
  outs()
      << "schedule                        chunks       end  bubble    peak\n";
  for (const Policy *policy : getPolicies()) {
    Expected<ScheduleResult> result = simulate(*policy, options);
    if (!result) {
      outs() << formatv("{0,-32}{1}\n", policy->getName(),
                        llvm::toString(result.takeError()));
      continue;
    }
    double peak = *llvm::max_element(result->getInFlight());
    outs() << formatv(
        "{0,-32}{1,6}{2,10:f2}{3,8:f4}{4,8:f2}\n", policy->getName(),
        result->chunksPerStage, result->timeline.end,
        result->timeline.bubbles.real,
        peak / static_cast<double>(result->chunksPerStage * options.pieces));
  }
}

Error run(const ScheduleOptions &options) {
  if (Error error = check(options))
    return error;
  if (!options.showsAll())
    return showOne(options);
  if (options.wantsJson())
    return writeAll(options);
  printAll(options);
  return Error::success();
}

} // namespace

std::string mf::tools::getScheduleHelp(llvm::StringRef program) {
  std::string help;
  llvm::raw_string_ostream os(help);
  os << "\nSCHEDULES:\n\n";
  for (const Policy *policy : getPolicies())
    os << formatv("  {0,-32}{1}\n", policy->getName(), policy->getSummary());
  os << "\nEXAMPLES:\n\n";
  for (llvm::StringRef arguments :
       {"--schedule=interleaved --stages=4 --chunks=2",
        "--schedule=zero-bubble-h1 --transfer-time=0.1",
        "--schedule=1f1b --stages=2 --forward-time=1,1.5 --json=times.json",
        "--schedule=dualpipe-v-paired --pair-hidden=0.5",
        "--schedule=all --stages=8 --micro-batches=16"})
    os << "  " << program << ' ' << arguments << '\n';
  return help;
}

void mf::tools::writeTimeline(const Pipeline &pipeline,
                              const PipelineTimeline &timeline,
                              llvm::json::OStream &json) {
  json.attribute("end", timeline.end);
  writeBubbles(timeline.bubbles, json);
  writeBlocks(pipeline, timeline, json);
}

int mf::tools::showSchedule(const ScheduleOptions &options) {
  if (Error error = run(options)) {
    llvm::WithColor::error() << llvm::toString(std::move(error)) << "\n";
    return 1;
  }
  return 0;
}
