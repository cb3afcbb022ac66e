//===- PipelineModel.h - A schedule in time -------------------*- C++ -*-===//
//
// The cost of a pipeline schedule (mf/Pipeline): when each task runs, how long
// the step takes, why it takes longer than its work, and how much memory each
// stage needs. Reproduces the published model of SAPP pipeline balance of
// MindSpore Transformers, and takes every other schedule as well.
//
// Times and memory are in whatever unit the costs are in.
//
//===----------------------------------------------------------------------===//

#ifndef MF_SIM_PIPELINEMODEL_H
#define MF_SIM_PIPELINEMODEL_H

#include "mf/Pipeline/Schedule.h"
#include "llvm/Support/Error.h"
#include <optional>
#include <vector>

namespace mf::sim {

/// How messages between stages take place.
enum class TransferMode : uint8_t {
  /// They take no time.
  Free,
  /// As in the published model: a stage sends and receives between its tasks
  /// and does nothing else meanwhile; a message starts when both stages have
  /// come to it. Such stages may deadlock.
  Blocking,
  /// They take time beside the tasks, those of two stages in one direction one
  /// after the other.
  Overlapped
};

/// The costs of a pipeline's tasks for whole micro-batches: a piece of the
/// sequence takes and holds its share.
struct PipelineCosts {
  /// Time of a forward of each chunk.
  std::vector<double> forward;
  /// A backward takes that many times its forward, and the recomputation.
  double backwardRatio = 2;
  /// Time of the recomputation in each chunk's backward; empty if none. A split
  /// backward recomputes before the input gradient. Where a pipeline has
  /// recompute tasks, they take it and backwards do not.
  std::vector<double> recompute;
  /// The share of the input gradient in a backward that is split, without
  /// recomputation; the weight gradient takes the rest.
  double inputGradientShare = 0.5;
  /// The share of a forward that a backward in the same slot hides, or of the
  /// backward's tasks there if they are shorter.
  double pairHidden = 0;

  TransferMode transfers = TransferMode::Free;
  /// Time of a message.
  double transferTime = 0;

  /// Memory that every stage has.
  double constantMemory = 0;
  /// Memory of the parameters of each stage; empty if none.
  std::vector<double> parameterMemory;
  /// Memory that a micro-batch holds of each chunk, from the start of its
  /// forward to the end of its backward, or of its weight gradient; empty if
  /// none.
  std::vector<double> activationMemory;

  /// Tells whether there is a number for every chunk and stage, and all are
  /// finite and not negative.
  llvm::Error check(const schedule::Pipeline &pipeline) const;
};

/// Shares of the time that the model's work takes of the stages, without what
/// slots hide: real = ideal + imbalance + communication + recompute.
struct Bubbles {
  /// (stages * end - work) / work.
  double real = 0;
  /// (stages - 1) / (chunks per stage * micro-batches): what 1F1B and its
  /// interleaved forms leave idle if all chunks take the same.
  double ideal = 0;
  /// The rest of the bubble. Negative where a schedule is better than `ideal`.
  double imbalance = 0;
  /// The time that blocking transfers add if all chunks take the same, by a
  /// closed form. Only for them, and for 1F1B and its interleaved forms.
  std::optional<double> communication;
  /// Recomputed work. Only where something is recomputed.
  std::optional<double> recompute;
};

enum class BlockKind : uint8_t { Compute, Send, Receive };

/// An interval in which a stage is occupied.
struct Block {
  BlockKind kind = BlockKind::Compute;
  /// The task that runs, that made what is sent, or that reads what is
  /// received.
  schedule::Task task;
  double start = 0;
  double end = 0;
};

struct PipelineTimeline {
  /// The blocks of each stage, in order. Sends and receives are only there if
  /// transfers block.
  std::vector<std::vector<Block>> stages;
  /// The end of the last task, and of that of each stage.
  double end = 0;
  std::vector<double> stageEnds;
  Bubbles bubbles;
  /// By stage: the most memory at once, and what is left in the end, constants
  /// and parameters.
  std::vector<double> peakMemory, finalMemory;
};

/// Simulates a schedule that verifies. An error if the costs do not fit it; a
/// ScheduleError (mf/Pipeline/ScheduleError.h) if transfers block and stages
/// wait for one another.
llvm::Expected<PipelineTimeline>
simulatePipeline(const schedule::Schedule &schedule,
                 const PipelineCosts &costs);

} // namespace mf::sim

#endif // MF_SIM_PIPELINEMODEL_H
