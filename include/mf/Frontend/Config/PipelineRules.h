//===- PipelineRules.h - Consistency of a YAML's pipeline -------*- C++ -*-===//
//
// The rules that pipeline_scheduler, pipeline_interleave, pp_interleave_num and
// the numbers of stages and micro-batches have to keep together, as MindSpore
// Transformers and MindSpore check them.
//
//===----------------------------------------------------------------------===//

#ifndef MF_CONFIG_PIPELINERULES_H
#define MF_CONFIG_PIPELINERULES_H

#include "mf/Frontend/Config/StageMap.h"

namespace mf {

/// The values that pipeline_scheduler may have, in the order in which messages
/// list them.
llvm::ArrayRef<llvm::StringRef> getPipelineSchedulers();

/// Whether a pipeline_scheduler works with pipeline_interleave: True only.
bool needsInterleave(llvm::StringRef scheduler);

/// The name in the Schedule library (mf/Pipeline/Policy.h) of the order that
/// the YAML asks for.
llvm::StringRef getScheduleName(const ParallelConfig &config);

/// The name of that order with `interleave` chunks per stage: some names of the
/// YAML stand for one order with a single chunk per stage and for another with
/// several.
llvm::StringRef getScheduleName(llvm::StringRef schedule, int64_t interleave);

/// The pipeline_scheduler that asks for a schedule of the Schedule library; the
/// default for one that no YAML can ask for.
llvm::StringRef getSchedulerOf(llvm::StringRef schedule);

/// Adds an error for each rule that the pipeline of `config` breaks, at the key
/// to mend, and a warning where pp_interleave_num is given and not switched on.
/// `options` are the numbers behind the stages. `schedule` is the name, for
/// messages, of the schedule that replaces the YAML's, and empty if none does.
void checkPipelineRules(const TrainingConfig &config,
                        const StageMapOptions &options,
                        llvm::StringRef schedule, DiagnosticList &diagnostics);

} // namespace mf

#endif // MF_CONFIG_PIPELINERULES_H
