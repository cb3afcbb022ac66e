//===- VariantPlanner.h - Plans for one pipeline ---------------*- C++ -*-===//
//
// Plans the memory settings for one schedule, number of chunks and size of
// micro-batches: learns costs, then solves and compiles in turn.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_PLAN_SETTINGS_VARIANTPLANNER_H
#define MF_LIB_PLAN_SETTINGS_VARIANTPLANNER_H

#include "lib/Plan/Settings/ArenaPlans.h"
#include "lib/Plan/Settings/LayerCosts.h"
#include "lib/Plan/Settings/LayerGraphs.h"
#include "lib/Plan/Settings/PipelineShape.h"
#include "lib/Plan/Settings/Probes.h"
#include "mf/Plan/Settings/StepPlanner.h"
#include <chrono>

namespace mf::planner {

/// The time limit of planning, and the function that reports progress.
class PlanClock {
public:
  explicit PlanClock(const PlanRequest &request) : request(request) {}

  double getSecondsLeft() const {
    return request.timeLimit -
           std::chrono::duration<double>(Clock::now() - begin).count();
  }
  /// Restarts the time.
  void restart() { begin = Clock::now(); }
  bool isOver() const {
    return (request.stop && *request.stop) || getSecondsLeft() <= 0;
  }
  void report(const llvm::Twine &text) const {
    if (request.progress)
      request.progress(text.str());
  }

private:
  using Clock = std::chrono::steady_clock;
  const PlanRequest &request;
  Clock::time_point begin = Clock::now();
};

/// The time of the best plan of other pipelines: by its problem, and simulated.
/// Both are 0 if there is none.
struct KnownTime {
  double model = 0;
  double seconds = 0;
};

class VariantPlanner {
public:
  /// `yaml` defines the pipeline, with any settings. `schedule` is the name of
  /// a schedule that a YAML cannot select; otherwise it is empty. Recompute may
  /// be a task of its own.
  VariantPlanner(const PlanRequest &request, const PlanClock &clock,
                 std::string yaml, std::vector<ModelLayer> layers,
                 int64_t limitBytes, llvm::StringRef schedule = {},
                 bool recomputeTasks = false);

  /// Reads the pipeline.
  llvm::Error prepare();

  /// Compiles the step without recompute and swap, which shows the operators
  /// of layers.
  llvm::Expected<StepMeasure> measureUntreated();
  /// Returns the names that the YAML uses for parts of layers.
  LayerWords getWords() const;
  /// Learns costs from compiled steps.
  llvm::Error learn();
  /// Uses the costs of a pipeline whose micro-batches have the same size.
  void borrow(const VariantPlanner &other);
  /// Adds the measure of the step without recompute and swap, which costs
  /// should explain. Must be called after learning or borrowing.
  void observeUntreated(const StepMeasure &measure);
  /// Estimates the step's time in seconds from costs, without compiling. Fails
  /// with a NoPlanError if nothing fits.
  llvm::Expected<double> estimate();

  /// Solves and compiles until the plan does not change any more. Plans whose
  /// expected time is that of `cutoff` or more are not compiled.
  llvm::Error search(const KnownTime &cutoff);

  const PipelineShape &getShape() const { return shape; }
  /// Returns the schedule if the YAML has no name for it; empty otherwise.
  std::string getUnnamedSchedule() const {
    return input.schedule == request.input.schedule ? "" : input.schedule;
  }
  /// Returns whether recompute is a task of its own.
  bool hasRecomputeTasks() const { return input.recomputeTasks; }
  /// Returns whether both have micro-batches of the same size and tasks of the
  /// same kinds, so that the costs of layers are equal.
  bool costsLike(const VariantPlanner &other) const;
  /// Returns the shortest plan that fits, or nothing.
  const std::optional<CompiledPlan> &getBest() const { return best; }
  const solver::Problem &getProblem() const { return problem; }
  const solver::SolveResult &getResult() const { return result; }
  /// Returns the model's time of the best plan.
  double getModelSeconds() const { return modelSeconds; }
  /// Returns a lower bound on the step's time with any settings; 0 if there was
  /// no plan below the cutoff.
  double getBoundSeconds() const { return boundSeconds; }
  int64_t getCompiledSteps() const { return compiledSteps; }
  /// Returns an error with the reason why there is no plan.
  llvm::Error makeNoPlanError() const;

private:
  const PlanRequest &request;
  const PlanClock &clock;
  CompilerInput input;
  std::string yaml;
  AssignmentCompiler compiler;
  PipelineShape shape;
  PlanContext context;
  /// The graphs of the step without recompute. Empty if it was not compiled.
  std::vector<LayerGraph> graphs;
  std::optional<LayerCosts> costs;
  bool areCostsOwn = false;
  /// Observations of the compiled steps: first of those compiled only for
  /// learning, then of plans.
  std::vector<LayerObservation> observations;
  /// The number of steps that were compiled only for learning.
  size_t numProbes = 0;
  /// For each chunk, the number of layers that the YAML recomputes, if that
  /// setting is kept.
  std::vector<int64_t> keptRecompute;
  /// Plans that were compiled.
  std::vector<Assignment> tried;
  /// Choices of stages that were compiled and did not fit.
  std::vector<solver::ForbiddenStage> forbidden;
  /// The number of plans that did not fit.
  int misfits = 0;
  /// The number of plans tried in addition to the model's best one, and the
  /// problem and solution before them.
  int explored = 0;
  solver::Problem settledProblem;
  solver::SolveResult settledResult;
  /// Compiled last.
  CompiledPlan current;
  std::optional<CompiledPlan> best;
  /// Their problems of device memory, by stage.
  std::vector<memory::StepProblem> currentArenas, bestArenas;
  solver::Problem problem;
  solver::SolveResult result;
  double modelSeconds = 0;
  double boundSeconds = 0;
  /// The simulated step's time beyond the model's.
  double restSeconds = 0;
  int64_t compiledSteps = 0;

  llvm::Expected<solver::SolveResult> solveProblem(const KnownTime &cutoff);
  /// Returns the assignment with full recompute for the layers for which the
  /// user's YAML has it, if that setting is kept.
  Assignment keepRecomputed(Assignment assignment) const;
  llvm::Error readKept();
  void fixKept(solver::Problem &made) const;
  llvm::Expected<solver::Problem> buildProblem();
  double fitHidden(solver::Problem problem) const;
  /// Returns the number of plans that did not fit although earlier misfits had
  /// corrected the costs.
  int getUselessCorrections() const { return std::max(0, misfits - 2); }
  llvm::Error tryPlan(const solver::Plan &plan, const Assignment &assignment);
  void forbidStage(const solver::Plan &plan, size_t stage);
  bool leaveLast();
  llvm::Error searchRounds(const KnownTime &cutoff);
  void forbid(const solver::Plan &plan, const StepMeasure &measure);
  llvm::Error compilePlan(const solver::Plan &plan,
                          const Assignment &assignment);
  llvm::Error refineMisfits();
  void takeCurrent(double expectedSeconds);
  llvm::Expected<bool> confirmBest();
  llvm::Error takeObserved();
  llvm::Expected<bool> solveNext(const KnownTime &cutoff);
  double getOwnCutoff(const KnownTime &cutoff) const;
  bool fits(const StepMeasure &measure) const;
  /// Returns whether the step could fit with a better plan of the arenas.
  bool mayFit(const StepMeasure &measure) const;
};

} // namespace mf::planner

#endif // MF_LIB_PLAN_SETTINGS_VARIANTPLANNER_H
