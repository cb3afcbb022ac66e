//===- StepPlanner.h - The memory settings of a training YAML --*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Finds the settings of a YAML for which its step is shortest and every stage
// fits. It compiles a few settings to learn the costs of layers that are kept,
// recomputed or swapped (mf/Plan/Solver/Problem.h), solves the problem, and
// compiles solutions until the compiler's own memory and time confirm one.
//
//===----------------------------------------------------------------------===//

#ifndef MF_PLAN_SETTINGS_STEPPLANNER_H
#define MF_PLAN_SETTINGS_STEPPLANNER_H

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

/// The YAML to plan for, and the settings that a search may change.
struct PlanRequest {
  CompilerInput input;
  std::string yaml;
  target::Target target;
  /// The bytes of device memory per rank. Empty for max_device_memory.
  std::optional<int64_t> limitBytes;
  KeptSettings keep;
  /// Values to try in addition to the YAML's own.
  std::vector<int64_t> interleaves, microBatches;
  std::vector<std::string> schedules;
  /// True to try each pipeline also with recompute in separate tasks.
  bool recomputeTasks = false;
  /// True to allow treatments of a part of an expert layer, for which MindSpore
  /// Transformers has no names.
  bool expertLevels = false;
  /// Each solution of the abstract problem ends when it has examined so many
  /// candidates.
  int64_t mostCandidates = 10000;
  /// A flag that ends the search when it is set. May be null. Nothing else that
  /// depends on time does, so the same request has the same answer on every
  /// machine unless the flag is set.
  const std::atomic<bool> *stop = nullptr;
  /// Called with a description of the current action, and for each better plan.
  std::function<void(llvm::StringRef)> progress;

  bool isStopped() const { return stop && *stop; }
  void report(const llvm::Twine &text) const {
    if (progress)
      progress(text.str());
  }
};

/// Settings, and the measure of the program that they compile to.
struct CompiledPlan {
  MemorySettings settings;
  /// The user's YAML with the settings.
  std::string yaml;
  StepMeasure measure;
  /// A plan of PlanAnswer::problem. Empty if these are the settings of the
  /// YAML.
  solver::Plan plan;
};

/// The best settings, and the problem that a search solved.
struct PlanAnswer {
  /// The measure of the YAML as given, which may not fit.
  StepMeasure given;
  bool givenFits = false;
  int64_t limitBytes = 0;
  /// The shortest step that was compiled and fits. It is the given one if none
  /// is shorter.
  CompiledPlan best;
  bool isGiven = false;
  /// The plan's schedule as a value of mf-opt's --schedule, if a YAML has no
  /// name for it. Otherwise empty.
  std::string schedule;
  /// The value of mf-opt's --recompute-tasks that goes with the plan.
  bool recomputeTasks = false;
  /// What was changed beside offset, recompute and swap because nothing fits
  /// otherwise, as `optimizer_level: level1 -> level2`.
  std::vector<std::string> otherChanges;
  /// The pipelines that were asked for and not tried, each with the reason.
  std::vector<std::string> notTried;
  /// The last problem that was solved, with costs as compiled, and its result,
  /// in seconds and bytes.
  solver::Problem problem;
  solver::SolveResult result;
  /// A lower bound on the duration of the step with any settings of this
  /// problem.
  double boundSeconds = 0;
  int64_t compiledSteps = 0;
  /// True if the caller ended the search.
  bool isCutShort = false;
};

/// Plans a step. Fails if the YAML does not compile, and with a
/// solver::NoPlanError if nothing fits. Its message names the stage that lacks
/// most memory, and how many bytes it lacks.
llvm::Expected<PlanAnswer> planStep(const PlanRequest &request);

} // namespace mf::planner

#endif // MF_PLAN_SETTINGS_STEPPLANNER_H
