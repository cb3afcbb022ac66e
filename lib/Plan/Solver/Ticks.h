//===- Ticks.h - Problems in whole numbers ----------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Times and memory as multiples of a small decimal unit, so that sums do not
// depend on their order, decimal costs are exact, and equal is equal.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_PLAN_SOLVER_TICKS_H
#define MF_LIB_PLAN_SOLVER_TICKS_H

#include "mf/Plan/Solver/Problem.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include <array>

namespace mf::solver {

/// The costs of layers, or of a chunk in addition to its layers.
struct TickCosts {
  /// The times of the tasks by TickProblem::getPhases(). The others are 0.
  std::array<int64_t, 4> times = {};
  int64_t activation = 0, recomputed = 0, transient = 0, parameters = 0;
  int64_t copyOut = 0, copyIn = 0, update = 0;

  void add(const TickCosts &other);
  /// Returns whether no task is longer than that of `other`.
  bool isNoLonger(const TickCosts &other) const {
    return llvm::all_of(llvm::zip_equal(times, other.times), [](auto both) {
      return std::get<0>(both) <= std::get<1>(both);
    });
  }
  /// Returns the time of all tasks but the forward.
  int64_t getBackward() const { return times[1] + times[2] + times[3]; }
};

/// The memory of a chunk that its stage holds at once.
struct HeldMemory {
  /// The numbers of TickCosts::activation and of TickCosts::recomputed.
  int64_t activations = 0, recomputed = 0;

  int64_t get(int64_t activation, int64_t ofRecomputed) const {
    return activations * activation + recomputed * ofRecomputed;
  }
  int64_t get(const TickCosts &costs) const {
    return get(costs.activation, costs.recomputed);
  }
};

/// The costs of a problem in ticks. Refers to the problem.
class TickProblem {
public:
  explicit TickProblem(const Problem &problem);

  const Problem &get() const { return problem; }
  int64_t getNumStages() const { return problem.schedule.pipeline.stages; }
  int64_t getNumChunks() const {
    return problem.schedule.pipeline.getNumChunks();
  }
  size_t getNumKinds() const { return problem.kinds.size(); }
  /// Returns the phases that have tasks: forward, backward or its halves, and
  /// recompute.
  llvm::ArrayRef<schedule::Phase> getPhases() const { return phases; }
  int64_t getNumPhases() const { return static_cast<int64_t>(phases.size()); }
  bool hasRecomputeTasks() const {
    return phases.back() == schedule::Phase::Recompute;
  }
  llvm::ArrayRef<int32_t> getChunks(int64_t stage) const {
    return chunksOfStages[stage];
  }

  /// Returns the number of durations. The tasks of chunks come first, numbered
  /// like the works of a schedule::StepOrder. The updates of stages follow.
  int64_t getNumDurations() const {
    return getNumChunks() * getNumPhases() + getNumStages();
  }
  int64_t getDuration(int64_t chunk, int64_t phase) const {
    return chunk * getNumPhases() + phase;
  }
  int64_t getUpdate(int64_t stage) const {
    return getNumChunks() * getNumPhases() + stage;
  }

  const TickCosts &getLayer(size_t kind, size_t treatment) const {
    return layers[kind][treatment];
  }
  const TickCosts &getExtra(int64_t chunk) const { return extras[chunk]; }
  int64_t getTransfer() const { return transfer; }
  /// The share of the shorter part of a slot that is not hidden, in hundredths.
  static constexpr int64_t slotParts = 100;
  int64_t getShown() const { return shown; }
  int64_t getLimit(int64_t stage) const { return limits[stage]; }
  /// Raises the limit of every stage.
  void addSlack(int64_t memory) {
    for (int64_t &limit : limits)
      limit += memory;
  }
  int64_t getConstant(int64_t stage) const { return constants[stage]; }
  /// Returns the maximal combinations of what a stage holds of each of its
  /// chunks at once: those that no other combination exceeds in all chunks.
  const std::vector<std::vector<HeldMemory>> &getInFlight(int64_t stage) const {
    return inFlight[stage];
  }

  /// Returns the sum of the costs of some layers and the chunk's extras; of
  /// transient memory, the largest value.
  TickCosts getCosts(int64_t chunk, const ChunkPlan &plan) const;
  /// Returns the durations of a plan whose chunks have these costs.
  std::vector<int64_t> getDurations(llvm::ArrayRef<TickCosts> chunks) const;
  /// Returns the peak of a stage with these costs of its chunks.
  int64_t getPeak(int64_t stage, llvm::ArrayRef<TickCosts> chunks) const;

  double getTime(int64_t ticks) const {
    return static_cast<double>(ticks) / ticksPerTime;
  }
  double getMemory(int64_t ticks) const {
    return static_cast<double>(ticks) / ticksPerMemory;
  }
  /// Returns the largest number of ticks that does not exceed a time.
  int64_t getTicksBelow(double time) const;

private:
  void setScales();
  int64_t toTime(double time) const;
  int64_t toMemory(double memory) const;
  void setLimits();
  void setInFlight();
  void addHeld(int64_t stage, llvm::ArrayRef<HeldMemory> held);
  template <typename Cost> TickCosts convert(const Cost &cost) const;

  const Problem &problem;
  llvm::SmallVector<schedule::Phase, 4> phases;
  double ticksPerTime = 1, ticksPerMemory = 1;
  std::vector<std::vector<int32_t>> chunksOfStages;
  std::vector<std::vector<TickCosts>> layers;
  std::vector<TickCosts> extras;
  std::vector<int64_t> limits, constants;
  std::vector<std::vector<std::vector<HeldMemory>>> inFlight;
  int64_t transfer = 0, shown = slotParts;
  /// The time of each task is a multiple of this many ticks, so that shares of
  /// it are whole.
  int64_t timeUnit = 1;
};

} // namespace mf::solver

#endif // MF_LIB_PLAN_SOLVER_TICKS_H
