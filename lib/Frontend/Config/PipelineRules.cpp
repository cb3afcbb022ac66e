//===- PipelineRules.cpp - Consistency of a YAML's pipeline ---------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Frontend/Config/ModelKeys.h"
#include "mf/Frontend/Config/PipelineSchedulers.h"
#include "mf/Frontend/Config/StageMap.h"
#include "mf/Pipeline/Policy.h"

namespace mf {

/// True if a V-shaped schedule supports this number of micro-batches.
static bool takesMicroBatches(llvm::StringRef schedule, int64_t stages,
                              int64_t microBatches) {
  const schedule::Policy &policy =
      *llvm::cantFail(schedule::findPolicy(schedule));
  llvm::Error error = policy.check(policy.place(stages, 2, microBatches));
  const bool isTaken = !error;
  llvm::consumeError(std::move(error));
  return isTaken;
}

namespace {

/// Errors at a key, or at pipeline_scheduler where the key is missing.
class KeyRules {
public:
  KeyRules(const TrainingConfig &config, llvm::StringRef schedule,
           DiagnosticList &diagnostics)
      : config(config), diagnostics(diagnostics),
        asked(schedule.empty()
                  ? known::nameOf(&ParallelConfig::pipelineScheduler).str() +
                        " '" + config.parallel.pipelineScheduler + "'"
                  : "--schedule=" + schedule.str()) {}

  void require(bool isKept, const Node &key, const llvm::Twine &wanted,
               const llvm::Twine &got) {
    if (isKept)
      return;
    const Node place = key ? key : find(&ParallelConfig::pipelineScheduler);
    diagnostics.error(place.getLocation(),
                      asked + " needs " + wanted + ", but " + got);
  }

  /// Returns the value of a key of pipeline_config.
  template <typename Value> Node find(Value ParallelConfig::*member) const {
    return known::find(pipelineSection, config.root, member);
  }

  const TrainingConfig &config;
  DiagnosticList &diagnostics;
  /// The schedule's name in messages.
  std::string asked;
};

} // namespace

static void checkZeroBubbleV(KeyRules &rules, const StageMapOptions &options,
                             llvm::StringRef schedule) {
  const ParallelConfig &parallel = rules.config.parallel;
  const llvm::StringRef stageKey =
      known::nameOf(&ParallelConfig::pipelineStage);
  rules.require(options.pipelineStages >= 2,
                known::find(parallel, &ParallelConfig::pipelineStage),
                "at least 2 stages",
                stageKey + " is " + llvm::Twine(options.pipelineStages));
  // Chunks exist only with interleaving.
  if (parallel.pipelineInterleave)
    rules.require(options.interleave == 2,
                  keys::interleave.find(rules.config.model.config),
                  "2 chunks on each stage",
                  keys::interleave.getName() + " is " +
                      llvm::Twine(options.interleave));
  rules.require(takesMicroBatches(schedule, options.pipelineStages,
                                  parallel.microBatchNum),
                known::find(parallel, &ParallelConfig::microBatchNum),
                "at least twice as many micro-batches as stages (" +
                    llvm::Twine(2 * options.pipelineStages) + ")",
                known::nameOf(&ParallelConfig::microBatchNum) + " is " +
                    llvm::Twine(parallel.microBatchNum));
  rules.require(options.offset.kind == StageOffset::Kind::PerMiniStage ||
                    options.offset.getSum() == 0,
                keys::offset.find(rules.config.model.config),
                "an offset with a row for each chunk, [[..], [..]]",
                "it is " + options.offset.repr());
}

/// MindSpore's compiler rejects fewer micro-batches than stages, with every
/// schedule.
static void checkMicroBatches(const ParallelConfig &parallel,
                              DiagnosticList &diagnostics) {
  if (parallel.pipelineStage == 1 || !parallel.isSemiOrAuto() ||
      parallel.takesFewMicroBatches ||
      parallel.microBatchNum >= parallel.pipelineStage)
    return;
  Node key = known::find(parallel, &ParallelConfig::microBatchNum);
  diagnostics.error(
      (key ? key : known::find(parallel, &ParallelConfig::pipelineStage))
          .getLocation(),
      "expected " + known::nameOf(&ParallelConfig::microBatchNum) +
          " to be at least " +
          known::nameWith(&ParallelConfig::pipelineStage,
                          parallel.pipelineStage) +
          ", but got " + llvm::Twine(parallel.microBatchNum) +
          ": MindSpore compiles no pipeline with fewer "
          "micro-batches than stages");
}

void checkPipelineRules(const TrainingConfig &config,
                        const StageMapOptions &options,
                        llvm::StringRef schedule, DiagnosticList &diagnostics) {
  const ParallelConfig &parallel = config.parallel;
  KeyRules rules(config, schedule, diagnostics);
  const llvm::StringRef interleaveKey =
      known::nameOf(&ParallelConfig::pipelineInterleave);
  // With a single stage the schedule has no effect, but zero_bubble_v requires
  // more stages.
  const PipelineScheduler &asked = getScheduler(parallel);
  const PipelineScheduler &scheduler =
      parallel.pipelineStage == 1 && asked.cutsSequences ? getDefaultScheduler()
                                                         : asked;
  rules.require(!scheduler.needsInterleave || parallel.pipelineInterleave,
                rules.find(&ParallelConfig::pipelineInterleave),
                interleaveKey + ": True", "it is not set to that");
  if (parallel.seqSplitNum > 1 && parallel.pipelineStage > 1 &&
      !asked.cutsSequences)
    diagnostics.error(
        known::find(parallel, &ParallelConfig::seqSplitNum).getLocation(),
        known::nameWith(&ParallelConfig::seqSplitNum, parallel.seqSplitNum) +
            " needs " + known::nameOf(&ParallelConfig::pipelineScheduler) +
            " seqpipe, seqvpp or seqsmartvpp, but it is '" +
            parallel.pipelineScheduler + "'");
  // This schedule requires twice as many micro-batches.
  if (scheduler.name == "zero_bubble_v")
    checkZeroBubbleV(rules, options,
                     schedule.empty() ? llvm::StringRef(asked.schedule)
                                      : schedule);
  else
    checkMicroBatches(parallel, diagnostics);
  if (scheduler.name == "seqvpp")
    rules.require(parallel.seqSplitNum > 1,
                  known::find(parallel, &ParallelConfig::seqSplitNum),
                  known::nameOf(&ParallelConfig::seqSplitNum) +
                      " of at least 2",
                  "it is " + llvm::Twine(parallel.seqSplitNum));
  else if (scheduler.name == "seqsmartvpp")
    rules.require(options.pipelineStages % 2 == 0,
                  known::find(parallel, &ParallelConfig::pipelineStage),
                  "an even number of stages",
                  known::nameOf(&ParallelConfig::pipelineStage) + " is " +
                      llvm::Twine(options.pipelineStages));

  Node interleave = keys::interleave.find(config.model.config);
  if (!parallel.pipelineInterleave && interleave.getInt().value_or(1) > 1)
    diagnostics.warning(interleave.getLocation(),
                        keys::interleave.getName() + " " + interleave.repr(60) +
                            " has no effect: " + pipelineSection.name + "." +
                            interleaveKey + " is not True");
}

} // namespace mf
