//===- StepPlanner.h - The memory settings of a training YAML --*- C++ -*-===//
//
// Finds the settings of a YAML with which its step is shortest and every stage
// fits: compiles a few settings to learn the costs of layers that are kept,
// recomputed or swapped (mf/Plan/Solver/Problem.h), solves, and compiles the
// solution until the compiler's own memory and time confirm it.
//
//===----------------------------------------------------------------------===//

#ifndef MF_PLANNER_STEPPLANNER_H
#define MF_PLANNER_STEPPLANNER_H

#include "mf/Frontend/Config/SettingEdit.h"
#include "mf/Plan/Settings/StepCompiler.h"
#include "mf/Plan/Settings/StepMeasure.h"
#include "mf/Plan/Solver/Solver.h"
#include <atomic>
#include <functional>

namespace mf::planner {

/// The settings that may not be changed.
struct KeptSettings {
  bool offset = false;
  bool recompute = false;
  bool selectRecompute = false;
  bool selectCommRecompute = false;
  bool swap = false;
};

struct PlanRequest {
  CompilerInput input;
  std::string yaml;
  target::Target target;
  /// Bytes of device memory per rank; none takes max_device_memory.
  std::optional<int64_t> limitBytes;
  KeptSettings keep;
  /// Values that may be tried beside the YAML's own; empty keeps that.
  std::vector<int64_t> interleaves, microBatches;
  std::vector<std::string> schedules;
  /// Layers may be at the memory levels of experts, for which MindSpore
  /// Transformers has no names.
  bool expertLevels = false;
  double timeLimit = 60;
  const std::atomic<bool> *stop = nullptr;
  /// Called with the current action, and when there is a better plan.
  std::function<void(llvm::StringRef)> progress;
};

/// Settings with what their program comes to.
struct CompiledPlan {
  MemorySettings settings;
  /// The user's YAML with them.
  std::string yaml;
  StepMeasure measure;
  /// A plan of PlanAnswer::problem; empty if these are the settings of the
  /// YAML.
  plan::Plan plan;
};

struct PlanAnswer {
  /// The YAML as given; it may not fit.
  StepMeasure given;
  bool givenFits = false;
  int64_t limitBytes = 0;
  /// The shortest step that was compiled and fits; the given one if none is
  /// shorter.
  CompiledPlan best;
  bool isGiven = false;
  /// The plan's schedule, as mf-opt's --schedule, if a YAML has no name for it;
  /// else empty.
  std::string schedule;
  /// The problem that was solved last, with costs as compiled, and its result.
  /// Seconds and bytes.
  plan::Problem problem;
  plan::SolveResult result;
  /// No settings of this problem give a shorter step, in seconds.
  double boundSeconds = 0;
  int64_t compiledSteps = 0;
  /// The time limit, or whoever stopped it, ended the search.
  bool isCutShort = false;
};

/// An error if the YAML does not compile, or a plan::NoPlanError if nothing
/// fits: it names the stage that misses most, and how many bytes.
llvm::Expected<PlanAnswer> planStep(const PlanRequest &request);

} // namespace mf::planner

#endif // MF_PLANNER_STEPPLANNER_H
