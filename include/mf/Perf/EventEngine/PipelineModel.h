//===- PipelineModel.h - A schedule in time -------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The cost of a pipeline schedule (mf/Pipeline): the times of its tasks, the
// length of the step, the causes of its bubbles, and the memory of each stage.
// It reproduces the published model of SAPP pipeline balance of MindSpore
// Transformers and also supports all other schedules.
//
// Times and memory are in the units of the costs.
//
//===----------------------------------------------------------------------===//

#ifndef MF_PERF_EVENTENGINE_PIPELINEMODEL_H
#define MF_PERF_EVENTENGINE_PIPELINEMODEL_H

#include "mf/Pipeline/Schedule.h"
#include "llvm/Support/Error.h"
#include <optional>
#include <vector>

namespace mf::events {

/// How messages between stages are modelled.
enum class TransferMode : uint8_t {
  /// Messages take no time.
  Free,
  /// As in the published model, a stage sends and receives between its tasks
  /// and is blocked meanwhile. A message starts when both stages have reached
  /// it. Such stages may deadlock.
  Blocking,
  /// Messages take time in parallel to the tasks. Messages between two stages
  /// in one direction run one after the other.
  Overlapped
};

/// The costs of a pipeline's tasks for whole micro-batches. A piece of the
/// sequence takes the corresponding fraction of time and memory.
struct PipelineCosts {
  /// Time of a forward of each chunk.
  std::vector<double> forward;
  /// The time of a backward relative to its forward, without recomputation.
  double backwardRatio = 2;
  /// The time of a backward of each chunk, without recomputation; empty if all
  /// have the ratio to their forwards.
  std::vector<double> backward;
  /// The time of recomputation in each chunk's backward; empty if there is
  /// none. A split backward recomputes before the input gradient. If the
  /// pipeline has recompute tasks, these take the time instead of the
  /// backwards.
  std::vector<double> recompute;
  /// The input gradient's fraction of a split backward, without recomputation.
  /// The weight gradient takes the rest.
  double inputGradientShare = 0.5;
  /// The time of the weight gradient in each chunk's split backward, of which
  /// the input gradient takes the rest; empty if all have the same share.
  std::vector<double> weightGradient;
  /// The fraction of a forward that is hidden by a backward in the same slot,
  /// or of the backward's tasks if they are shorter.
  double pairHidden = 0;

  TransferMode transfers = TransferMode::Free;
  /// The duration of a message.
  double transferTime = 0;

  /// Memory that is used on every stage.
  double constantMemory = 0;
  /// Memory of the parameters of each stage; empty if none.
  std::vector<double> parameterMemory;
  /// The memory of each chunk that a micro-batch holds from the start of its
  /// forward to the end of its backward, or of its weight gradient if backwards
  /// are split. Empty if there is none.
  std::vector<double> activationMemory;

  /// Returns the time of a chunk's backward without recomputation.
  double getBackward(size_t chunk) const {
    return backward.empty() ? forward[chunk] * backwardRatio : backward[chunk];
  }

  /// Checks that there is a number for every chunk and stage, that all numbers
  /// are finite and not negative, and that no weight gradient takes longer than
  /// its backward.
  llvm::Error check(const schedule::Pipeline &pipeline) const;
};

/// The bubble and its causes, as fractions of the work of all stages, where
/// time that slots hide is no work: real = ideal + imbalance + communication +
/// recompute.
struct Bubbles {
  /// The whole bubble: (stages * end - work) / work.
  double real = 0;
  /// The bubble of 1F1B and interleaved 1F1B if all chunks take the same time:
  /// (stages - 1) / (chunks per stage * micro-batches).
  double ideal = 0;
  /// The rest of the bubble. Negative if a schedule is better than `ideal`.
  double imbalance = 0;
  /// The time that blocking transfers add if all chunks take the same time, by
  /// a closed formula. Only set for 1F1B and interleaved 1F1B with blocking
  /// transfers.
  std::optional<double> communication;
  /// The recomputed work. Only set if the schedule recomputes.
  std::optional<double> recompute;
};

enum class BlockKind : uint8_t { Compute, Send, Receive };

/// An interval in which a stage is occupied.
struct Block {
  BlockKind kind = BlockKind::Compute;
  /// The task that runs. For a send it is the task that computed the value, for
  /// a receive the task that reads it.
  schedule::Task task;
  double start = 0;
  double end = 0;
};

/// A schedule in time, in the units of the costs.
struct PipelineTimeline {
  /// The blocks of each stage, in order. It has sends and receives only if
  /// transfers block.
  std::vector<std::vector<Block>> stages;
  /// The end of the last task of all stages, and of each stage.
  double end = 0;
  std::vector<double> stageEnds;
  Bubbles bubbles;
  /// For each stage, the most memory in use at once, and the memory in use at
  /// the end. Both include constants and parameters.
  std::vector<double> peakMemory, finalMemory;
};

/// Simulates a schedule that verifies. Fails if the costs do not fit it, and
/// with a ScheduleError (mf/Pipeline/ScheduleError.h) if transfers block and
/// stages wait for one another.
llvm::Expected<PipelineTimeline>
simulatePipeline(const schedule::Schedule &schedule,
                 const PipelineCosts &costs);

} // namespace mf::events

#endif // MF_PERF_EVENTENGINE_PIPELINEMODEL_H
