//===- WorkBound.cpp - A bound that needs no search -----------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "WorkBound.h"
#include <algorithm>
#include <limits>

namespace mf::solver {

using schedule::Phase;

namespace {

class WorkBound {
public:
  explicit WorkBound(const TickProblem &problem)
      : problem(problem), pipeline(problem.get().schedule.pipeline) {}

  double get() const;

private:
  double sumTasks(const TickCosts &costs) const;
  double getLeast(size_t phase) const;
  double sumLayers() const;
  double sumExtras() const;
  double sumWaits(size_t phase) const;

  const TickProblem &problem;
  const schedule::Pipeline &pipeline;
};

} // namespace

/// Returns the time of the tasks that every plan has for one micro-batch. Some
/// chunks may not be trained, and some micro-batches may not recompute.
double WorkBound::sumTasks(const TickCosts &costs) const {
  double time = 0;
  for (auto [phase, own] : llvm::zip(problem.getPhases(), costs.times))
    if (phase == Phase::Forward ||
        (phase != Phase::Recompute && pipeline.firstTrained == 0))
      time += static_cast<double>(own);
  return time;
}

double WorkBound::sumLayers() const {
  double work = 0;
  for (size_t kind = 0; kind < problem.getNumKinds(); ++kind) {
    double least = std::numeric_limits<double>::infinity();
    for (size_t treatment = 0; treatment < problem.get().getNumTreatments();
         ++treatment)
      least = std::min(least, sumTasks(problem.getLayer(kind, treatment)));
    work += static_cast<double>(problem.get().kinds[kind].count) * least;
  }
  return work;
}

double WorkBound::sumExtras() const {
  double work = 0;
  for (int64_t chunk = 0; chunk < problem.getNumChunks(); ++chunk)
    work += sumTasks(problem.getExtra(chunk));
  return work;
}

/// Returns the time of a phase of the layer in which it is shortest.
double WorkBound::getLeast(size_t phase) const {
  int64_t least = std::numeric_limits<int64_t>::max();
  for (size_t kind = 0; kind < problem.getNumKinds(); ++kind)
    for (size_t treatment = 0; treatment < problem.get().getNumTreatments();
         ++treatment)
      least = std::min(least, problem.getLayer(kind, treatment).times[phase]);
  return static_cast<double>(least);
}

/// Returns the time for which stages wait while the chunks before their first
/// one run a phase, summed over the stages.
double WorkBound::sumWaits(size_t phase) const {
  const double ofLayers =
      getLeast(phase) * static_cast<double>(problem.get().minLayersPerChunk);
  double waits = 0;
  for (int64_t stage = 0; stage < problem.getNumStages(); ++stage)
    for (int64_t chunk = 0; chunk < problem.getChunks(stage).front(); ++chunk)
      waits +=
          ofLayers + static_cast<double>(problem.getExtra(chunk).times[phase]);
  return waits;
}

double WorkBound::get() const {
  const double ofRun = sumLayers() + sumExtras();
  const auto runs = static_cast<double>(pipeline.microBatches) *
                    static_cast<double>(pipeline.pieces);
  // A slot hides at most the shorter of its tasks.
  const double shown =
      (1 + static_cast<double>(problem.getShown()) / TickProblem::slotParts) /
      2;
  double all = shown * runs * ofRun + sumWaits(0);
  // Weight gradients may run while the gradients of other stages do.
  if (!problem.get().schedule.splitsBackward && pipeline.firstTrained == 0)
    all += sumWaits(1);
  return all / static_cast<double>(problem.getNumStages());
}

double getWorkBound(const TickProblem &problem) {
  return WorkBound(problem).get();
}

} // namespace mf::solver
