//===- VariantPlanner.h - Plans for one pipeline ---------------*- C++ -*-===//
//
// Plans the memory settings for one schedule, number of chunks and size of
// micro-batches: learns costs, then solves and compiles in turn.
//
//===----------------------------------------------------------------------===//

#ifndef MF_PLANNER_VARIANTPLANNER_H
#define MF_PLANNER_VARIANTPLANNER_H

#include "lib/Plan/Settings/ArenaPlans.h"
#include "lib/Plan/Settings/LayerCosts.h"
#include "lib/Plan/Settings/LayerGraphs.h"
#include "lib/Plan/Settings/PipelineShape.h"
#include "lib/Plan/Settings/Probes.h"
#include "mf/Plan/Settings/StepPlanner.h"
#include <chrono>

namespace mf::planner {

/// The time that planning has, and who wants to know how it goes.
class PlanClock {
public:
  explicit PlanClock(const PlanRequest &request) : request(request) {}

  double getSecondsLeft() const {
    return request.timeLimit -
           std::chrono::duration<double>(Clock::now() - begin).count();
  }
  /// The time begins anew.
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

class VariantPlanner {
public:
  /// `yaml` asks for the pipeline, with any settings, but for a schedule for
  /// which it has no name: that is `schedule`, and else empty.
  VariantPlanner(const PlanRequest &request, const PlanClock &clock,
                 std::string yaml, std::vector<ModelLayer> layers,
                 int64_t limitBytes, llvm::StringRef schedule = {});

  /// Reads the pipeline.
  llvm::Error prepare();

  /// Compiles the step with nothing recomputed or swapped.
  llvm::Expected<StepMeasure> measureUntreated();
  /// The words that the YAML has for parts of layers.
  LayerWords getWords() const;
  /// Learns costs from compiled steps.
  llvm::Error learn();
  /// Takes them from a pipeline with micro-batches of the same size.
  void borrow(const VariantPlanner &other);
  /// Notes the measure that costs should explain: of the step with nothing
  /// recomputed or swapped. After learning or borrowing.
  void observeUntreated(const StepMeasure &measure);
  /// The step's time that the costs promise, in seconds, without compiling
  /// anything; a NoPlanError if nothing fits.
  llvm::Expected<double> estimate();

  /// Solves and compiles until the plan stays the same. Plans that the model
  /// expects to take `cutoff` or more are not compiled.
  llvm::Error search(double cutoff);

  const PipelineShape &getShape() const { return shape; }
  /// The schedule for which the YAML has no name; else empty.
  std::string getUnnamedSchedule() const {
    return input.schedule == request.input.schedule ? "" : input.schedule;
  }
  /// Whether both have micro-batches of the same size, and tasks of the same
  /// kinds: what layers cost is the same then.
  bool costsLike(const VariantPlanner &other) const;
  /// The shortest that fits; nothing if none does.
  const std::optional<CompiledPlan> &getBest() const { return best; }
  const plan::Problem &getProblem() const { return problem; }
  const plan::SolveResult &getResult() const { return result; }
  /// The model's time of the best plan.
  double getModelSeconds() const { return modelSeconds; }
  /// No settings give a shorter step; 0 if nothing was solved.
  double getBoundSeconds() const { return boundSeconds; }
  int64_t getCompiledSteps() const { return compiledSteps; }
  /// Why there is no plan.
  llvm::Error makeNoPlanError() const;

private:
  const PlanRequest &request;
  const PlanClock &clock;
  CompilerInput input;
  std::string yaml;
  AssignmentCompiler compiler;
  PipelineShape shape;
  PlanContext context;
  /// Graphs of the step with nothing recomputed; empty if it was not compiled.
  std::vector<LayerGraph> graphs;
  std::optional<LayerCosts> costs;
  bool areCostsOwn = false;
  /// First those to learn from, then plans.
  std::vector<LayerObservation> observations;
  /// So many of them were compiled to learn from.
  size_t numProbes = 0;
  /// By chunk: the layers that the YAML recomputes, if they are kept.
  std::vector<int64_t> keptRecompute;
  /// Plans that were compiled.
  std::vector<Assignment> tried;
  /// Choices of stages that were compiled and do not fit.
  std::vector<plan::ForbiddenStage> forbidden;
  /// Plans that did not fit.
  int misfits = 0;
  /// The number of plans tried beside the model's best, and the problem and
  /// solution before them.
  int explored = 0;
  plan::Problem settledProblem;
  plan::SolveResult settledResult;
  /// Compiled last.
  CompiledPlan current;
  std::optional<CompiledPlan> best;
  /// Their problems of device memory, by stage.
  std::vector<memory::StepProblem> currentArenas, bestArenas;
  plan::Problem problem;
  plan::SolveResult result;
  double modelSeconds = 0;
  double boundSeconds = 0;
  /// The simulated step's time beyond the model's.
  double restSeconds = 0;
  int64_t compiledSteps = 0;

  llvm::Expected<CompiledAssignment> compileUntreated();
  llvm::Expected<plan::SolveResult> solveProblem(double cutoff);
  /// With the layers fully recomputed that the user's YAML recomputes so, if
  /// they are kept.
  Assignment keepRecomputed(Assignment assignment) const;
  llvm::Error readKept();
  void fixKept(plan::Problem &made) const;
  llvm::Expected<plan::Problem> buildProblem();
  llvm::Error tryPlan(const plan::Plan &plan, const Assignment &assignment);
  void forbidStage(const plan::Plan &plan, size_t stage);
  bool leaveLast();
  llvm::Error searchRounds(double cutoff);
  void forbid(const plan::Plan &plan, const StepMeasure &measure);
  llvm::Error compilePlan(const plan::Plan &plan, const Assignment &assignment);
  llvm::Error refineMisfits();
  void takeCurrent(double expectedSeconds);
  llvm::Expected<bool> confirmBest();
  llvm::Error takeObserved();
  llvm::Expected<bool> solveNext(double cutoff);
  bool fits(const StepMeasure &measure) const;
  /// Whether a better plan of the arenas could fit.
  bool mayFit(const StepMeasure &measure) const;
};

} // namespace mf::planner

#endif // MF_PLANNER_VARIANTPLANNER_H
