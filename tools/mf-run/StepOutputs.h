//===- StepOutputs.h - Timelines that mf-run writes -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_TOOLS_MF_RUN_STEPOUTPUTS_H
#define MF_TOOLS_MF_RUN_STEPOUTPUTS_H

#include "Options.h"
#include "mf/Perf/Timeline/Writers.h"

namespace mf::tools {

/// Writes the files of --trace, --profile and --html.
llvm::Error writeStepFiles(const Options &options,
                           const timeline::StepTimeline &timeline,
                           const program::Mesh &mesh);

/// Writes all requested files, the comparison and the table. An executed step
/// reported `losses`.
llvm::Error writeStep(const Options &options,
                      const timeline::StepTimeline &timeline,
                      const program::Mesh &mesh, llvm::raw_ostream &os,
                      const timeline::ReportedLosses &losses = {});

/// Checks --trace-ranks and paths before a step runs.
llvm::Error checkStepFiles(const Options &options, const program::Mesh &mesh);

} // namespace mf::tools

#endif // MF_TOOLS_MF_RUN_STEPOUTPUTS_H
