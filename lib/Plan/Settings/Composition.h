//===- Composition.h - Composition of chunks and stages ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_PLAN_SETTINGS_COMPOSITION_H
#define MF_LIB_PLAN_SETTINGS_COMPOSITION_H

#include "lib/Plan/Settings/Treatments.h"
#include "mf/Plan/Settings/StepMeasure.h"
#include "mf/Plan/Solver/Problem.h"
#include <map>
#include <set>

namespace mf::planner {

/// A pipeline, the model that runs on it, and how its layers may be treated.
struct PlanContext {
  schedule::Schedule schedule;
  std::vector<ModelLayer> layers;
  /// The number of last layers that have the treatment of the layer before
  /// them, because tables of the YAML do not count them (StageMap).
  size_t numFollowers = 0;
  std::vector<LayerTreatment> treatments;
  int64_t limitBytes = 0;

  size_t getNumKinds() const;
  /// Gives followers the treatment that they have.
  void treatFollowers(Assignment &assignment) const;
};

/// A compiled step, and the assignment from which it was compiled.
struct LayerObservation {
  Assignment assignment;
  StepMeasure measure;
};

/// Consecutive layers of one kind. The layer before followers, and followers,
/// are in runs of their own.
struct LayerRun {
  size_t kind = 0;
  int64_t count = 0;
};

std::vector<LayerRun> findRuns(const PlanContext &context);

/// The number of layers of each kind and treatment in a part of the model, and
/// its extras: 0 is the embedding in the first chunk, 1 the head in the last
/// one.
struct Composition {
  std::map<std::pair<size_t, size_t>, int64_t> layers;
  std::set<size_t> extras;

  /// Returns the composition without treatments, which parameters do not depend
  /// on.
  Composition dropTreatments() const;
};

/// Return the composition of each chunk of an assignment, and of each stage.
/// Layers of a chunk that the schedule never recomputes have no treatment but
/// swap.
std::vector<Composition> composeChunks(const PlanContext &context,
                                       const Assignment &assignment);
std::vector<Composition> composeStages(const PlanContext &context,
                                       const Assignment &assignment);

/// Convert an assignment to a plan of a problem whose kinds are the model's
/// runs of layers, and back.
solver::Plan toPlan(const PlanContext &context, const Assignment &assignment);
Assignment toAssignment(const solver::Plan &plan);

} // namespace mf::planner

#endif // MF_LIB_PLAN_SETTINGS_COMPOSITION_H
