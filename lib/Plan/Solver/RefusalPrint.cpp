//===- RefusalPrint.cpp - Reasons against other options -------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Plan/Solver/PlanPrint.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mf::solver;
using llvm::formatv;

namespace {

/// The number of layers of a chunk with a treatment, now and with the option.
struct Change {
  int32_t chunk = 0;
  size_t kind = 0, treatment = 0;
  int64_t before = 0, after = 0;
};

} // namespace

static std::vector<Change> getChanges(llvm::ArrayRef<int32_t> chunks,
                                      const Plan &plan,
                                      const Refusal &refusal) {
  std::vector<Change> changes;
  for (auto [chunk, other] : llvm::zip(chunks, refusal.chunks))
    for (size_t kind = 0; kind < other.counts.size(); ++kind)
      for (size_t treatment = 0; treatment < other.counts[kind].size();
           ++treatment) {
        const int64_t before = plan.chunks[chunk].counts[kind][treatment];
        const int64_t after = other.counts[kind][treatment];
        if (before != after)
          changes.push_back({chunk, kind, treatment, before, after});
      }
  return changes;
}

/// Returns, for example, "moe full 4 -> 3, moe keep 0 -> 1". The chunk is named
/// if a stage has several, and the kind if there are several.
static std::string describe(const Problem &problem,
                            llvm::ArrayRef<Change> changes, bool namesChunks) {
  std::string text;
  for (const Change &change : changes) {
    const LayerKind &kind = problem.kinds[change.kind];
    if (!text.empty())
      text += ", ";
    if (namesChunks)
      text += formatv("chunk {0} ", change.chunk);
    if (problem.kinds.size() > 1)
      text += kind.name + " ";
    text += formatv("{0} {1} -> {2}", kind.treatments[change.treatment].name,
                    change.before, change.after);
  }
  return text;
}

/// Returns the reason why the option is not chosen.
static std::string describeReason(const Problem &problem,
                                  const Refusal &refusal, double time,
                                  const PlanUnits &units) {
  if (refusal.missingMemory > 0)
    return formatv("but needs {0} more than the limit of {1}",
                   units.showMemory(refusal.missingMemory),
                   units.showMemory(problem.stages[refusal.stage].limit));
  const std::string now = units.showTime(time);
  const std::string then = units.showTime(refusal.time);
  if (now == then)
    return "and fits, but the step still takes " + now;
  return "and fits, but the step then takes " + then;
}

void mf::solver::printRefusals(const Problem &problem, const Plan &plan,
                               double time, llvm::ArrayRef<Refusal> refusals,
                               const PlanUnits &units, llvm::raw_ostream &os) {
  const auto chunksOfStages = problem.schedule.pipeline.getChunksOfStages();
  for (size_t stage = 0; stage < chunksOfStages.size(); ++stage) {
    const auto *refusal = llvm::find_if(refusals, [&](const Refusal &other) {
      return other.stage == static_cast<int64_t>(stage);
    });
    os << formatv("stage {0}: ", stage);
    if (refusal == refusals.end()) {
      os << "no treatment of its layers is faster\n";
      continue;
    }
    const llvm::ArrayRef<int32_t> chunks = chunksOfStages[stage];
    os << formatv("{0} would save {1} per micro-batch, {2}\n",
                  describe(problem, getChanges(chunks, plan, *refusal),
                           chunks.size() > 1),
                  units.showTime(refusal->saved),
                  describeReason(problem, *refusal, time, units));
  }
}

llvm::json::Array mf::solver::writeRefusals(const Problem &problem,
                                            const Plan &plan,
                                            llvm::ArrayRef<Refusal> refusals) {
  const auto chunksOfStages = problem.schedule.pipeline.getChunksOfStages();
  llvm::json::Array stages;
  for (const Refusal &refusal : refusals) {
    llvm::json::Array changes;
    for (const Change &change :
         getChanges(chunksOfStages[refusal.stage], plan, refusal)) {
      const LayerKind &kind = problem.kinds[change.kind];
      changes.push_back(llvm::json::Object{
          {"chunk", change.chunk},
          {"kind", kind.name},
          {"treatment", kind.treatments[change.treatment].name},
          {"before", change.before},
          {"after", change.after}});
    }
    llvm::json::Object object{{"stage", refusal.stage},
                              {"changes", std::move(changes)},
                              {"saved", refusal.saved},
                              {"missing_memory", refusal.missingMemory}};
    if (refusal.missingMemory <= 0)
      object["time"] = refusal.time;
    stages.push_back(std::move(object));
  }
  return stages;
}
