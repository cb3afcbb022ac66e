//===- PipelineRules.cpp - Consistency of a YAML's pipeline ---------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Frontend/Config/PipelineRules.h"
#include "mf/Frontend/Config/ModelKeys.h"
#include "mf/Pipeline/Policy.h"
#include "llvm/ADT/STLExtras.h"

namespace mf {

namespace {

/// The properties of one pipeline_scheduler.
struct SchedulerKey {
  llvm::StringLiteral name;
  /// The schedule's name in the Schedule library.
  llvm::StringLiteral schedule;
  bool needsInterleave;
  bool cutsSequences;
};

} // namespace

static constexpr SchedulerKey schedulers[] = {
    {"1f1b", "1f1b", false, false},
    {"gpipe", "gpipe", false, false},
    {"seqpipe", "seq1f1b", true, true},
    {"seqvpp", "seq1f1b-interleaved", true, true},
    {"seqsmartvpp", "seq1f1b-interleaved-low-memory", true, true},
    {"zero_bubble_v", "dualpipe-v", true, false},
};

/// The reader has already reported an unknown name; it is treated as the
/// default.
static const SchedulerKey &getScheduler(const ParallelConfig &config) {
  const SchedulerKey *found =
      llvm::find_if(schedulers, [&](const SchedulerKey &scheduler) {
        return scheduler.name == config.pipelineScheduler;
      });
  return found == std::end(schedulers) ? schedulers[0] : *found;
}

llvm::ArrayRef<llvm::StringRef> getPipelineSchedulers() {
  static const std::vector<llvm::StringRef> names = [] {
    std::vector<llvm::StringRef> names;
    for (const SchedulerKey &scheduler : schedulers)
      names.push_back(scheduler.name);
    return names;
  }();
  return names;
}

bool needsInterleave(llvm::StringRef scheduler) {
  return llvm::any_of(schedulers, [&](const SchedulerKey &known) {
    return known.name == scheduler && known.needsInterleave;
  });
}

llvm::StringRef getScheduleName(const ParallelConfig &config) {
  // A single stage accumulates gradients over its micro-batches in sequence.
  if (config.pipelineStage == 1)
    return config.seqSplitNum > 1 ? "seq1f1b" : schedulers[0].schedule;
  if (config.overlapsBackward)
    return config.detachesWeights ? "1f1b-paired-split" : "1f1b-paired";
  if (config.pairsV && getScheduler(config).name == "zero_bubble_v")
    return "dualpipe-v-paired";
  return getScheduler(config).schedule;
}

llvm::StringRef getScheduleName(llvm::StringRef schedule, int64_t interleave) {
  const bool isInterleaved = interleave > 1;
  if (schedule == "1f1b" && isInterleaved)
    return "interleaved";
  // With one chunk per stage, all policies for sequence pieces produce the same
  // order.
  if (schedule == "seq1f1b" && isInterleaved)
    return "seq1f1b-interleaved";
  if (schedule.starts_with("seq1f1b-") && !isInterleaved)
    return "seq1f1b";
  return schedule;
}

/// True if the second chunks visit the stages in reverse order.
static bool isV(llvm::StringRef schedule) {
  llvm::Expected<const schedule::Policy *> policy =
      schedule::findPolicy(schedule);
  if (policy)
    return (*policy)->getStage(2, 2) == 1 && (*policy)->getStage(3, 2) == 0;
  llvm::consumeError(policy.takeError());
  return false;
}

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

llvm::StringRef getSchedulerOf(llvm::StringRef schedule) {
  for (const SchedulerKey &scheduler : schedulers)
    if (scheduler.schedule == schedule)
      return scheduler.name;
  // Its rules are about the V, not about the order of tasks.
  if (isV(schedule))
    return "zero_bubble_v";
  return schedulers[0].name;
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
  const SchedulerKey &asked = getScheduler(parallel);
  const SchedulerKey &scheduler =
      parallel.pipelineStage == 1 && asked.cutsSequences ? schedulers[0]
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
