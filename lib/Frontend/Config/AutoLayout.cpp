//===- AutoLayout.cpp - The layout of a step in auto parallel -------------===//
// SPDX-License-Identifier: Apache-2.0

#include "AutoLayout.h"

namespace mf {

/// The number of ranks of a stage that MindSpore Transformers' documentation of
/// auto parallel assumes for each of its models. The names come from the
/// comments in its YAML files.
static constexpr int64_t ranksOfStage = 8;

static int64_t countReplicas(const ParallelConfig &parallel) {
  if (parallel.deviceNum <= 0)
    return ranksOfStage;
  const int64_t others = parallel.getDeviceCount() / parallel.dataParallel;
  return std::max<int64_t>(1, parallel.deviceNum / others);
}

/// Divides batch_size by the number of replicas: with full_batch it is the
/// number of rows of all replicas.
static void shareOutBatch(TrainingConfig &config, DiagnosticList &diagnostics) {
  Node rows = config.runner.node["batch_size"];
  const int64_t replicas = config.parallel.dataParallel;
  if (!rows || !config.parallel.fullBatch)
    return;
  if (config.runner.batchSize % replicas == 0) {
    config.runner.batchSize /= replicas;
    return;
  }
  diagnostics.error(
      rows.getLocation(),
      "batch_size " + llvm::Twine(config.runner.batchSize) +
          " is that of a stage with parallel_mode 2 and no data_parallel, and "
          "does not divide over " +
          llvm::Twine(replicas) +
          " ranks; set parallel_mode to 1, data_parallel and model_parallel, "
          "and batch_size to the rows of one replica");
}

static std::string describeLayout(const TrainingConfig &config) {
  const ParallelConfig &parallel = config.parallel;
  std::string text = "data_parallel " + std::to_string(parallel.dataParallel) +
                     ", model_parallel " +
                     std::to_string(parallel.modelParallel);
  if (parallel.contextParallel > 1)
    text += ", context_parallel " + std::to_string(parallel.contextParallel);
  return text + ", pipeline_stage " + std::to_string(parallel.pipelineStage);
}

void resolveAutoLayout(TrainingConfig &config, DiagnosticList &diagnostics) {
  ParallelConfig &parallel = config.parallel;
  if (parallel.parallelMode != ParallelMode::Auto)
    return;
  Node mode = parallel.parallelNode["parallel_mode"];
  const std::string searched =
      "parallel_mode " + mode.repr(60) +
      " is auto parallel: MindSpore searches a layout for each operator, which "
      "is not modelled; ";
  if (parallel.node["data_parallel"] || parallel.node["model_parallel"]) {
    diagnostics.warning(mode.getLocation(),
                        searched + "the step is that of parallel_mode 1 with " +
                            describeLayout(config));
    return;
  }
  parallel.dataParallel = countReplicas(parallel);
  const int64_t wholeBatch = config.runner.batchSize;
  shareOutBatch(config, diagnostics);
  std::string batch;
  if (config.runner.batchSize != wholeBatch)
    batch = " and batch_size " + std::to_string(wholeBatch) +
            ", that of a "
            "stage, as " +
            std::to_string(config.runner.batchSize) + " of each replica";
  diagnostics.warning(
      mode.getLocation(),
      searched +
          "parallel_config has none either, so the step is that of "
          "parallel_mode 1 with " +
          describeLayout(config) + batch +
          "; set parallel_mode to 1, data_parallel and model_parallel, and "
          "batch_size to the rows of one replica");
}

} // namespace mf
