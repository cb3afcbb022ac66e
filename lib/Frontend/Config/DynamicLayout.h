//===- DynamicLayout.h - Ranks, batches and stages of the trainer ---------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The dynamic-graph trainer derives its layout of ranks and its batches from
// the sections training and parallelism and from the number of started ranks.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_FRONTEND_CONFIG_DYNAMICLAYOUT_H
#define MF_LIB_FRONTEND_CONFIG_DYNAMICLAYOUT_H

#include "DynamicReader.h"
#include "mf/Frontend/Config/TrainingConfig.h"

namespace mf {

struct DynamicLayout {
  int64_t tensor = 1, context = 1, pipeline = 1, expert = 1;
  /// Data-parallel ranks, replicate times shard.
  int64_t data = 1, replicate = 1, shard = 1;
  int64_t interleave = 1;
  /// Micro-batches of a step.
  int64_t microBatches = 1;
  /// True if the launcher sets the number of ranks.
  bool isLaunched = false;

  int64_t getNumRanks() const { return tensor * context * pipeline * data; }
  /// True if recompute and swap are applied. The trainer applies neither on a
  /// single rank. Without a launcher the settings of the YAML are applied.
  bool appliesMemorySettings() const {
    return !isLaunched || getNumRanks() > 1;
  }
};

/// The number of layers of the model, without and with those of multi-token
/// prediction.
struct DynamicDepth {
  int64_t layers = 0;
  int64_t nextTokens = 0;

  int64_t getAll() const { return layers + nextTokens; }
};

/// Returns the mesh of the number of ranks in the environment's RANK_SIZE, or
/// of the smallest number that the YAML allows. Applies the trainer's checks.
DynamicLayout resolveDynamicLayout(const Node &root,
                                   DiagnosticList &diagnostics);

/// One level of a growing global_batch_size: the number of sequences for a
/// number of steps. The last level applies to all later steps.
struct BatchRamp {
  int64_t batchSize = 0;
  int64_t steps = 0;
  int64_t microBatches = 0;
};
/// Empty if the batch does not grow. Errors are the trainer's.
std::vector<BatchRamp> readBatchRamp(const Node &root, int64_t baseUnits,
                                     DiagnosticList &diagnostics);

/// Reads the number of layers of each chunk of each stage, indexed by chunk and
/// then by stage; empty with one stage.
std::vector<std::vector<int64_t>>
readDynamicStages(const Node &root, const DynamicLayout &layout,
                  int64_t numLayers, DiagnosticList &diagnostics);

} // namespace mf

#endif // MF_LIB_FRONTEND_CONFIG_DYNAMICLAYOUT_H
