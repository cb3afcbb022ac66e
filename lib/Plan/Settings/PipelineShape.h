//===- PipelineShape.h - The pipeline of a YAML -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_PLAN_SETTINGS_PIPELINESHAPE_H
#define MF_LIB_PLAN_SETTINGS_PIPELINESHAPE_H

#include "mf/Pipeline/Schedule.h"
#include "mf/Plan/Settings/StepCompiler.h"

namespace mf::planner {

struct PipelineShape {
  /// The name that the schedule has in lib/Pipeline.
  std::string schedule;
  int64_t stages = 1;
  /// Chunks per stage.
  int64_t interleave = 1;
  int64_t microBatches = 1;
  /// The samples of a micro-batch on one data-parallel rank.
  int64_t batchSize = 1;
  int64_t pieces = 1;
  /// Whether recompute is a task of its own.
  bool recomputeTasks = false;
  /// max_device_memory; 0 if there is none.
  int64_t memoryLimit = 0;
  /// The number of layers of each chunk, in the order of execution, by the
  /// YAML's offset.
  std::vector<int64_t> layers;
  /// The number of last layers that tables of the YAML do not count: they have
  /// the settings of the layer before them.
  int64_t numFollowers = 0;
  /// The number of layers that an offset of another pipeline counts.
  int64_t numCounted = 0;

  /// Returns an error if sequences are cut into pieces, which a plan cannot
  /// have.
  llvm::Error checkPieces() const;
  /// Returns the order of the tasks.
  llvm::Expected<schedule::Schedule> buildSchedule() const;
};

/// Reads the pipeline as the compiler does, for a model of `numLayers` numbered
/// layers. Fails where the compiler does.
llvm::Expected<PipelineShape> readShape(const CompilerInput &input,
                                        llvm::StringRef yaml, size_t numLayers);

} // namespace mf::planner

#endif // MF_LIB_PLAN_SETTINGS_PIPELINESHAPE_H
