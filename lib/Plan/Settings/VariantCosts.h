//===- VariantCosts.h - What layers cost in one pipeline --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A variant of a YAML has one schedule, number of chunks and size of
// micro-batches. Steps that are compiled show the costs of its layers.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_PLAN_SETTINGS_VARIANTCOSTS_H
#define MF_LIB_PLAN_SETTINGS_VARIANTCOSTS_H

#include "lib/Plan/Settings/LayerCosts.h"
#include "lib/Plan/Settings/PipelineShape.h"
#include "lib/Plan/Settings/Probes.h"
#include "lib/Plan/Settings/RecomputeCut.h"
#include "mf/Plan/Settings/StepPlanner.h"

namespace mf::planner {

/// The problem of a variant, by the costs that are known.
struct CostedProblem {
  solver::Problem problem;
  /// The simulated seconds of the step that was compiled last beyond those of
  /// the problem.
  double restSeconds = 0;
};

class VariantCosts {
public:
  /// `yaml` defines the pipeline, with any settings. `schedule` is the name of
  /// a schedule that a YAML cannot select; otherwise it is empty. Recompute may
  /// be a task of its own. Keeps a reference to `request`.
  VariantCosts(const PlanRequest &request, std::string yaml,
               std::vector<ModelLayer> layers, int64_t limitBytes,
               llvm::StringRef schedule, bool recomputeTasks);

  /// Reads the pipeline.
  llvm::Error prepare();

  /// Compiles the step without recompute and swap, which shows the operators
  /// of layers.
  llvm::Expected<StepMeasure> measureUntreated();
  /// Learns costs from compiled steps.
  llvm::Error learn();
  /// Learns costs from few steps without recompute and swap, in which each of
  /// `numbers` gives the layers of the chunks. What treatments change follows
  /// from the graphs of layers. The costs leave out the memory that is needed
  /// only for a moment.
  llvm::Error learnUntreated(llvm::ArrayRef<std::vector<int64_t>> numbers);
  /// Uses the costs of a pipeline whose micro-batches have the same size.
  void borrow(const VariantCosts &other);
  /// Adds the measure of the step without recompute and swap, which costs
  /// should explain. Must be called after learning or borrowing.
  void observeUntreated(const StepMeasure &measure);

  /// Compiles an assignment with arenas that are planned quickly.
  llvm::Expected<CompiledAssignment> compile(const Assignment &assignment);
  /// Adds the measure of a plan, from which later problems learn.
  void observe(const Assignment &assignment, const StepMeasure &measure) {
    observations.push_back({assignment, measure});
  }
  /// Returns the problem by the costs known so far, in which settings that the
  /// user keeps are fixed. There must be costs.
  CostedProblem makeProblem();

  const PipelineShape &getShape() const { return shape; }
  const PlanContext &getContext() const { return context; }
  const CompilerInput &getInput() const { return input; }
  /// Returns the measures of the steps that costs are learned from.
  llvm::ArrayRef<LayerObservation> getObservations() const {
    return observations;
  }
  /// Returns whether the measure of a plan was added.
  bool hasObservedPlan() const { return observations.size() > numProbes; }
  int64_t getCompiledSteps() const { return compiledSteps; }
  /// Returns the schedule if the YAML has no name for it; empty otherwise.
  std::string getUnnamedSchedule() const {
    return input.lowering.schedule == request.input.lowering.schedule
               ? ""
               : input.lowering.schedule;
  }
  /// Returns whether recompute is a task of its own.
  bool hasRecomputeTasks() const { return input.lowering.recomputeTasks; }
  /// Returns an error with the reason why no plan fits. `given` is a step that
  /// was compiled besides; it may be empty.
  llvm::Error makeNoPlanError(const StepMeasure &given) const;
  /// Returns whether both have micro-batches of the same size and tasks of the
  /// same kinds, so that the costs of layers are equal.
  bool costsLike(const VariantCosts &other) const;

private:
  const PlanRequest &request;
  CompilerInput input;
  std::string yaml;
  AssignmentCompiler compiler;
  PipelineShape shape;
  PlanContext context;
  /// The graphs of the step without recompute. Empty if it was not compiled.
  std::vector<LayerGraph> graphs;
  std::optional<LayerCosts> costs;
  /// Whether the costs follow from `observations`, and not from those of
  /// another variant.
  bool areCostsOwn = false;
  /// Observations of the compiled steps: first of those compiled only for
  /// learning, then of plans.
  std::vector<LayerObservation> observations;
  /// The number of steps that were compiled only for learning.
  size_t numProbes = 0;
  /// For each chunk, the number of layers that the YAML recomputes, if that
  /// setting is kept.
  std::vector<int64_t> keptRecompute;
  int64_t compiledSteps = 0;

  llvm::Error readKept();
  LayerWords getWords() const;
  void chooseTreatments();
  Assignment makeUntreated(llvm::ArrayRef<int64_t> layersOfChunk) const;
  Assignment keepRecomputed(Assignment assignment) const;
  double fitHidden(solver::Problem problem) const;
  void fixKept(solver::Problem &made) const;
};

/// Returns an error that says which of some steps misses least of a limit, and
/// by how much. Steps without stages do not count.
llvm::Error makeNoPlanError(llvm::ArrayRef<const StepMeasure *> compiled,
                            int64_t limitBytes);

} // namespace mf::planner

#endif // MF_LIB_PLAN_SETTINGS_VARIANTCOSTS_H
