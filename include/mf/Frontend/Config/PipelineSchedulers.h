//===- PipelineSchedulers.h - The values of pipeline_scheduler --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_FRONTEND_CONFIG_PIPELINESCHEDULERS_H
#define MF_FRONTEND_CONFIG_PIPELINESCHEDULERS_H

#include "mf/Frontend/Config/TrainingConfig.h"
#include "llvm/ADT/ArrayRef.h"

namespace mf {

/// The properties of one pipeline_scheduler.
struct PipelineScheduler {
  llvm::StringLiteral name;
  /// The name of its policy (mf/Pipeline/Policy.h).
  llvm::StringLiteral schedule;
  bool needsInterleave;
  bool cutsSequences;
};

/// Returns the record of the YAML's pipeline_scheduler. The reader has already
/// reported an unknown name, which is treated as the default.
const PipelineScheduler &getScheduler(const ParallelConfig &config);
const PipelineScheduler &getDefaultScheduler();

/// Returns the valid values of pipeline_scheduler in the order in which
/// messages list them.
llvm::ArrayRef<llvm::StringRef> getPipelineSchedulers();

/// Returns whether a pipeline_scheduler requires pipeline_interleave True.
bool needsInterleave(llvm::StringRef scheduler);

/// Returns the name of the policy (mf/Pipeline/Policy.h) that the YAML selects.
llvm::StringRef getScheduleName(const ParallelConfig &config);

/// Returns the name of the policy for `interleave` chunks per stage. Some names
/// in YAMLs stand for one policy with a single chunk per stage and for another
/// with several.
llvm::StringRef getScheduleName(llvm::StringRef schedule, int64_t interleave);

/// Returns the pipeline_scheduler that selects a policy, or the default if no
/// YAML can select it.
llvm::StringRef getSchedulerOf(llvm::StringRef schedule);

} // namespace mf

#endif // MF_FRONTEND_CONFIG_PIPELINESCHEDULERS_H
