//===- Problem.h - The planning problem and its costs -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The planning problem of a pipelined training step: choose the layers of each
// chunk, and a treatment for each layer (kept, recomputed in some way,
// swapped), so that every stage stays within its memory and the step is as
// short as possible. Times and memory are in the units of the costs. This
// library does not depend on MLIR.
//
// Layers are numbered in the order in which a micro-batch passes through them.
// Layers of the same kind are consecutive: all of the first kind, then all of
// the second.
//
//===----------------------------------------------------------------------===//

#ifndef MF_PLAN_SOLVER_PROBLEM_H
#define MF_PLAN_SOLVER_PROBLEM_H

#include "mf/Pipeline/Schedule.h"
#include "llvm/Support/Error.h"
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace mf::solver {

/// The largest number of layers in a model; a larger one is most likely a
/// mistake.
constexpr int64_t mostLayers = 1 << 12;

/// The cost of one layer with one treatment for one micro-batch.
struct Treatment {
  std::string name;
  double forward = 0;
  /// The time of the whole backward, with recomputed operators and waits for
  /// copies.
  double backward = 0;
  /// The part of `backward` that computes weight gradients. It is a separate
  /// task if the schedule splits backwards.
  double weightGradient = 0;
  /// The part of `backward` that recomputes. If the pipeline has recompute
  /// tasks, these take the time, and micro-batches without one do not
  /// recompute.
  double recompute = 0;
  /// Memory that is held from the start of the forward to the end of the
  /// backward (of the weight gradient, if split).
  double activationMemory = 0;
  /// Counts only if the pipeline has recompute tasks: additional memory that is
  /// held from the start of the recompute task to the end of the backward, or
  /// from the start of the forward for micro-batches without such a task.
  double recomputedMemory = 0;
  /// Additional memory while a layer of the stage runs. Only the largest one of
  /// a stage counts.
  double transientMemory = 0;
  /// The times of the copies from device to host and back. The copies of a
  /// chunk must fit into its forward and into its backward.
  double copyOut = 0;
  double copyIn = 0;
};

/// Layers with the same costs.
struct LayerKind {
  std::string name;
  int64_t count = 0;
  /// Memory of a layer that is held through the whole step: parameters,
  /// gradients and optimizer state.
  double parameterMemory = 0;
  /// The time to update a layer's parameters, after the last task of its stage.
  double updateTime = 0;
  /// All kinds have the same treatments, in the same order.
  std::vector<Treatment> treatments;
};

/// Costs of a chunk in addition to its layers, such as those of the embedding
/// or the head.
struct ChunkExtra {
  /// The index of the chunk in the order of execution.
  int64_t chunk = 0;
  double forward = 0;
  double backward = 0;
  double weightGradient = 0;
  double parameterMemory = 0;
  double activationMemory = 0;
  double transientMemory = 0;
  double updateTime = 0;
};

/// Returns whether `value` is above `limit` by more than rounding: sums of the
/// same numbers in different orders may differ.
bool exceeds(double value, double limit);

/// The memory of a stage.
struct StageMemory {
  double limit = 0;
  /// Memory in addition to layers and extras. May be negative (a correction).
  double constant = 0;
};

/// The number of layers of a chunk for each kind and treatment.
struct ChunkPlan {
  std::vector<std::vector<int64_t>> counts;

  /// Returns the plan without the kinds from `numKinds` on.
  ChunkPlan takeFront(size_t numKinds) const;

  int64_t getNumLayers() const;
  /// Returns the number of layers of all kinds that get this treatment.
  int64_t getTreated(size_t treatment) const;
  bool operator==(const ChunkPlan &other) const {
    return counts == other.counts;
  }
};

/// A combination of the chunks of one stage, in the order of execution, that
/// may not be chosen.
struct ForbiddenStage {
  int64_t stage = 0;
  std::vector<ChunkPlan> chunks;
};

/// A planning problem. Vectors of chunks are in the order of execution.
struct Problem {
  std::string name;
  /// A verified schedule. The plan distributes layers over its chunks.
  schedule::Schedule schedule;
  /// The duration of a message between chunks on different stages, in addition
  /// to the tasks.
  double transferTime = 0;
  /// The share of the shorter of a forward and the gradients in one slot of the
  /// schedule that the longer one hides, in whole hundredths.
  double pairHidden = 0;
  /// The kinds of layers, in the order of layers.
  std::vector<LayerKind> kinds;
  std::vector<ChunkExtra> extras;
  /// The memory of each stage.
  std::vector<StageMemory> stages;

  int64_t minLayersPerChunk = 1;
  /// The largest number of layers in a chunk; 0 for no limit.
  int64_t maxLayersPerChunk = 0;
  /// The number of layers of each chunk. Empty if they are to be chosen.
  std::vector<int64_t> fixedLayers;
  /// For each treatment, the number of layers of each chunk that get it (at
  /// most the layers of the chunk). Empty if they are to be chosen. Followers
  /// do not count.
  std::vector<std::vector<int64_t>> fixedTreatments;
  /// If true, the indices of treatments do not decrease along the layers of a
  /// chunk: treatments with lower indices cover its first layers. This
  /// determines which layers of a chunk with several kinds are treated.
  bool treatmentsInOrder = false;
  /// The number of last kinds whose layers follow the layer before them: they
  /// have its treatment, in whatever chunk it is. It is the only layer of its
  /// kind.
  size_t numFollowers = 0;
  /// The treatment of that layer and its followers, if it is not to be chosen.
  std::optional<size_t> followed;
  /// Pairs of treatments that exclude each other within a chunk.
  std::vector<std::pair<size_t, size_t>> exclusive;
  std::vector<ForbiddenStage> forbidden;

  int64_t getNumLayers() const;
  /// Returns the number of kinds that do not follow.
  size_t getNumLeaders() const { return kinds.size() - numFollowers; }
  size_t getNumTreatments() const {
    return kinds.empty() ? 0 : kinds.front().treatments.size();
  }

  /// Checks that sizes agree, that all costs are finite and not negative, and
  /// that there are enough layers for the chunks.
  llvm::Error check() const;
};

/// A solution of a problem.
struct Plan {
  /// The plan of each chunk, in the order of execution.
  std::vector<ChunkPlan> chunks;

  bool operator==(const Plan &other) const { return chunks == other.chunks; }
  /// Checks that the problem allows the plan: every layer occurs once and in
  /// order, the rules on treatments and copies hold, no combination is
  /// forbidden, and every stage is within its limit. Errors name the chunk or
  /// stage, and the missing layers or memory.
  llvm::Error verify(const Problem &problem) const;
};

/// A segment of the critical path: consecutive tasks of one phase of a chunk,
/// or the update if `chunk` is -1.
struct PhaseSegment {
  schedule::Phase phase = schedule::Phase::Forward;
  int32_t chunk = 0;
  int64_t count = 0;
  double time = 0;
};

/// The time and memory of a plan.
struct Evaluation {
  /// The time from the start of the first task to the end of the last,
  /// including updates.
  double time = 0;
  /// For each stage, the most memory held at once, and the total time of its
  /// tasks.
  std::vector<double> peaks, busy;
  /// For each chunk, the times for one micro-batch.
  std::vector<double> forward, backward;
  /// The segments of the critical path. Their times add up to `time`, except
  /// for transfers.
  std::vector<PhaseSegment> criticalPath;
};

/// Evaluates a plan exactly by running the schedule with all micro-batches. The
/// plan need not fit into the memory.
Evaluation evaluate(const Problem &problem, const Plan &plan);

/// Computes Evaluation::peaks alone, without running the schedule.
std::vector<double> evaluatePeaks(const Problem &problem, const Plan &plan);

} // namespace mf::solver

#endif // MF_PLAN_SOLVER_PROBLEM_H
