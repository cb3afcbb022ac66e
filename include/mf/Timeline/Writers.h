//===- Writers.h - A step in time for people and tools --------*- C++ -*-===//
//
// Every writer takes what StepTimeline.h describes, whether it was simulated or
// executed, and writes the same bytes for the same timeline. Files are written
// in one step (mf/Data/AtomicFile.h).
//
//===----------------------------------------------------------------------===//

#ifndef MF_TIMELINE_WRITERS_H
#define MF_TIMELINE_WRITERS_H

#include "mf/Timeline/StepTimeline.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

namespace mf::timeline {

/// A line for each stage, the step's numbers, and what limits it in words.
void printTable(const StepTimeline &timeline, llvm::raw_ostream &os);

/// Writes the members of the report into an open JSON object: `step_seconds`,
/// `tokens_per_second_per_npu`, `model_flops_utilization`, `stages`, ...
void writeReportMembers(const StepTimeline &timeline,
                        llvm::json::OStream &json);
llvm::Error writeReport(llvm::StringRef path, const StepTimeline &timeline);

/// Prints where a report that was written before differs from this timeline.
llvm::Error compareWithReport(const StepTimeline &timeline,
                              llvm::StringRef reportPath,
                              llvm::raw_ostream &os);

/// What is wrong with ranks to be shown in a trace (not of the mesh, or given
/// twice), or success: to be asked before a step is run.
llvm::Error checkTraceRanks(const program::Mesh &mesh,
                            llvm::ArrayRef<int64_t> ranks);

/// Chrome trace events for Perfetto. `ranks` are those shown; by default one of
/// each stage. A rank is shown as the one that stands for its stage.
llvm::Error writeTrace(llvm::StringRef path, const StepTimeline &timeline,
                       const program::Mesh &mesh,
                       llvm::ArrayRef<int64_t> ranks);

/// Files in the layout of MindSpore Profiler's ASCEND_PROFILER_OUTPUT, for each
/// stage's rank in a folder of its own. `folder` must not be there, or be empty.
llvm::Error writeProfile(llvm::StringRef folder, const StepTimeline &timeline);

/// One self-contained HTML page.
llvm::Error writePage(llvm::StringRef path, const StepTimeline &timeline);

} // namespace mf::timeline

#endif // MF_TIMELINE_WRITERS_H
