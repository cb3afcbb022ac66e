//===- TrainerMemory.h - The device memory of the trainer -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The account of what the trainer of a YAML holds in the memory of a device, in
// contrast to the arena of mf's own program. A stage holds weights and states,
// and for each run of a chunk what forward keeps for backward. While a task
// runs, it holds more. This library does not depend on MLIR.
//
//===----------------------------------------------------------------------===//

#ifndef MF_PROGRAM_TRAINERMEMORY_H
#define MF_PROGRAM_TRAINERMEMORY_H

#include "mf/Pipeline/Schedule.h"
#include "llvm/ADT/StringRef.h"
#include <array>
#include <string>
#include <vector>

namespace mf::trainer {

/// What the blocks of a trainer's allocator hold.
enum class TrainerCategory : uint8_t {
  /// Weights on their shards, fp32 copies and moments.
  States,
  /// Sums of gradients between backward and the update.
  GradientSums,
  /// Weights that are gathered from the ranks that store parts of them.
  GatheredWeights,
  /// Values that forward keeps for backward.
  Kept,
  /// Masks and rotary tables of a run of a chunk.
  Tables,
  /// Values between operators, and gradients of values.
  Values,
  /// Gradients of whole weights before they are reduced.
  WeightGradients,
  /// Memory that a kernel takes while it runs.
  Workspace
};
inline constexpr size_t numCategories = 8;

/// Returns a name for users, such as "kept for backward".
llvm::StringRef getName(TrainerCategory category);

/// Returns the name of a category in files, such as "kept".
llvm::StringRef getKey(TrainerCategory category);

/// Bytes by category.
struct Bytes {
  std::array<int64_t, numCategories> byCategory = {};

  int64_t &operator[](TrainerCategory category) {
    return byCategory[static_cast<size_t>(category)];
  }
  int64_t operator[](TrainerCategory category) const {
    return byCategory[static_cast<size_t>(category)];
  }
  int64_t getTotal() const;
  /// Calls `visit(category, bytes)` for each category with bytes, in order.
  template <typename Visitor> void visit(Visitor visit) const {
    for (size_t i = 0; i < numCategories; ++i)
      if (byCategory[i] != 0)
        visit(static_cast<TrainerCategory>(i), byCategory[i]);
  }
  Bytes &operator+=(const Bytes &other);
  Bytes &operator-=(const Bytes &other);
};

/// Returns the bytes of the block that holds a tensor: the allocator adds 32
/// bytes and rounds up to 512.
int64_t getBlockBytes(int64_t tensorBytes);

/// The moment of a task in which a chunk holds most.
struct TrainerMoment {
  Bytes bytes;
  /// The operator, for example "lm_head.loss: scatter_add".
  std::string at;
};

/// The memory of one phase of a chunk.
struct PhaseMemory {
  /// The largest moment, as bytes in addition to those at the beginning.
  TrainerMoment peak;
  /// The bytes that the phase adds until its end; negative for those released.
  Bytes change;
};

/// The memory of one run of a chunk for a micro-batch.
struct ChunkMemory {
  PhaseMemory forward;
  /// The backward of the first micro-batch, of the second, and of each later
  /// one. They differ in the gradients of weights that they find and leave.
  std::array<PhaseMemory, 3> backwards;
};

/// The memory of a stage that does not depend on the task.
struct TrainerStage {
  Bytes always;
  /// The memory of the update of parameters beyond that: gradients on their
  /// shards, and what the optimizer computes.
  TrainerMoment update;
};

/// The largest moment of a step on a stage.
struct TrainerPeak {
  TrainerMoment moment;
  /// The task in which it is, for example "B3", or "update".
  std::string task;
  /// The bytes that live through the step: weights, states, and weights that
  /// stay gathered.
  int64_t lastingBytes = 0;
  /// For each chunk of the model, the bytes that its forward keeps for the
  /// backward of the same micro-batch.
  std::vector<int64_t> keptByChunk;
};

/// Runs the tasks of `stage` in the order of the schedule. `chunks` are those
/// of the pipeline, and `memory` is that of the stage.
TrainerPeak findPeak(const schedule::Schedule &schedule, int64_t stage,
                     const std::vector<ChunkMemory> &chunks,
                     const TrainerStage &memory);

} // namespace mf::trainer

#endif // MF_PROGRAM_TRAINERMEMORY_H
