//===- Problem.h - The planning problem and its costs -----------*- C++ -*-===//
//
// A training step on a pipeline as a problem of choice: which layers each chunk
// of the model has, and how each layer is treated (kept, recomputed in some
// way, swapped), so that every stage stays within its memory and the step is
// as short as it can be. Times and memory are in whatever unit the costs are
// in. Knows no MLIR.
//
// Layers are numbered as a micro-batch passes through them. Kinds of layers
// follow one another: all of the first kind, then all of the second.
//
//===----------------------------------------------------------------------===//

#ifndef MF_PLAN_PROBLEM_H
#define MF_PLAN_PROBLEM_H

#include "mf/Pipeline/Schedule.h"
#include "llvm/Support/Error.h"
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace mf::plan {

/// The cost of one layer under one treatment, for a micro-batch.
struct Treatment {
  std::string name;
  double forward = 0;
  /// The whole backward, with recomputed operators and waits for copies.
  double backward = 0;
  /// The part of `backward` that is weight gradients: a task of its own where
  /// the schedule splits backwards.
  double weightGradient = 0;
  /// Held from the start of the forward to the end of the backward (of the
  /// weight gradient, if split).
  double activationMemory = 0;
  /// Held beside that while a layer of the stage is worked on. The largest of a
  /// stage counts, once.
  double transientMemory = 0;
  /// Times of the copies between device and host. The copies of a chunk must
  /// fit into its forward, and into its backward.
  double copyOut = 0;
  double copyIn = 0;
};

/// Layers that cost the same.
struct LayerKind {
  std::string name;
  int64_t count = 0;
  /// Memory of a layer that lasts through the whole step: parameters,
  /// gradients, state.
  double parameterMemory = 0;
  /// Time to update a layer, after the last task of its stage.
  double updateTime = 0;
  /// All kinds have the same treatments, in the same order.
  std::vector<Treatment> treatments;
};

/// Costs of a chunk beside its layers: the embedding, the head.
struct ChunkExtra {
  /// The number of the chunk in the order of execution.
  int64_t chunk = 0;
  double forward = 0;
  double backward = 0;
  double weightGradient = 0;
  double parameterMemory = 0;
  double activationMemory = 0;
  double transientMemory = 0;
  double updateTime = 0;
};

/// The memory of a stage.
struct StageMemory {
  double limit = 0;
  /// Beside layers and extras; may be negative (a correction).
  double constant = 0;
};

/// How many layers of a chunk are treated in each way: by kind and treatment.
struct ChunkPlan {
  std::vector<std::vector<int64_t>> counts;

  int64_t getNumLayers() const;
  /// The number of layers of all kinds that get this treatment.
  int64_t getTreated(size_t treatment) const;
  bool operator==(const ChunkPlan &other) const {
    return counts == other.counts;
  }
};

/// The chunks of one stage, in the order of execution, which may not be chosen.
struct ForbiddenStage {
  int64_t stage = 0;
  std::vector<ChunkPlan> chunks;
};

struct Problem {
  std::string name;
  /// Verified; layers are dealt to its chunks.
  schedule::Schedule schedule;
  /// A message between chunks on different stages takes that long, beside the
  /// tasks.
  double transferTime = 0;
  /// The kind of each layer, in the order of layers.
  std::vector<LayerKind> kinds;
  std::vector<ChunkExtra> extras;
  /// The memory of each stage.
  std::vector<StageMemory> stages;

  int64_t minLayersPerChunk = 1;
  /// The most layers of a chunk; 0 for no limit.
  int64_t maxLayersPerChunk = 0;
  /// Given numbers of layers, by chunk; empty if they are to be chosen.
  std::vector<int64_t> fixedLayers;
  /// By treatment, given numbers of layers of each chunk that are treated so
  /// (cut to the layers that the chunk has); empty if they are to be chosen.
  std::vector<std::vector<int64_t>> fixedTreatments;
  /// Along the layers of a chunk, numbers of treatments never fall: those of
  /// lower number cover its first layers. Says which layers of a chunk with
  /// several kinds are treated.
  bool treatmentsInOrder = false;
  /// Pairs of treatments of which a chunk may have one only.
  std::vector<std::pair<size_t, size_t>> exclusive;
  std::vector<ForbiddenStage> forbidden;

  int64_t getNumLayers() const;
  size_t getNumTreatments() const {
    return kinds.empty() ? 0 : kinds.front().treatments.size();
  }

  /// Tells whether sizes agree, all costs are finite and not negative, and
  /// there are enough layers for the chunks.
  llvm::Error check() const;
};

/// A choice for every chunk.
struct Plan {
  /// The plan of each chunk, in the order of execution.
  std::vector<ChunkPlan> chunks;

  bool operator==(const Plan &other) const { return chunks == other.chunks; }
  /// Tells whether this is a choice that the problem allows: every layer once
  /// and in order, the rules on treatments and copies kept, nothing forbidden,
  /// every stage within its limit. Errors name the chunk or stage, and the
  /// missing layers or memory.
  llvm::Error verify(const Problem &problem) const;
};

/// A stretch of the critical path: tasks of a chunk that follow one another on
/// it, or `update` where chunk is -1.
struct MakespanStep {
  schedule::Phase phase = schedule::Phase::Forward;
  int32_t chunk = 0;
  int64_t count = 0;
  double time = 0;
};

/// Time and memory of a plan.
struct Evaluation {
  /// From the first task to the last, updates included.
  double time = 0;
  /// By stage: the most memory at once, and the time that its tasks take.
  std::vector<double> peaks, busy;
  /// Times by chunk, of one micro-batch.
  std::vector<double> forward, backward;
  /// Adds up to `time`, but for transfers.
  std::vector<MakespanStep> criticalPath;
};

/// Runs a plan through the schedule: exact, for every micro-batch. The plan
/// need not fit into the memory.
Evaluation evaluate(const Problem &problem, const Plan &plan);

/// Evaluation::peaks alone, without running the schedule.
std::vector<double> evaluatePeaks(const Problem &problem, const Plan &plan);

} // namespace mf::plan

#endif // MF_PLAN_PROBLEM_H
