//===- PipelineRules.h - Consistency of a YAML's pipeline -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The rules on pipeline_scheduler, pipeline_interleave, pp_interleave_num and
// the numbers of stages and micro-batches, as MindSpore Transformers and
// MindSpore check them.
//
//===----------------------------------------------------------------------===//

#ifndef MF_FRONTEND_CONFIG_PIPELINERULES_H
#define MF_FRONTEND_CONFIG_PIPELINERULES_H

#include "mf/Frontend/Config/StageMap.h"

namespace mf {

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

/// Adds an error for each rule that the pipeline of `config` violates, at the
/// key to correct, and a warning if pp_interleave_num is given but not enabled.
/// `options` are the numbers from which the stages are computed. `schedule` is
/// the name, for messages, of the schedule that replaces the YAML's; empty if
/// there is none.
void checkPipelineRules(const TrainingConfig &config,
                        const StageMapOptions &options,
                        llvm::StringRef schedule, DiagnosticList &diagnostics);

} // namespace mf

#endif // MF_FRONTEND_CONFIG_PIPELINERULES_H
