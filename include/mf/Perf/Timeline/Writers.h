//===- Writers.h - Writes a step's timeline in several formats --*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// All writers accept simulated and executed timelines, and write the same bytes
// for the same timeline. Files are written atomically
// (mf/Support/AtomicFile.h).
//
// A report, of `mf-run --simulate --report`:
//
//   {
//     "program": "step.mlir",
//     "step_seconds": 10.5,
//     "tokens_per_second_per_npu": 200.0,
//     "model_flops_utilization": 0.5,
//     "hardware_flops_utilization": 0.6,
//     "source": "simulated",
//     "target": "atlas-800t-a2",
//     "num_ranks": 16,
//     "micro_batches": 8,
//     "tokens_per_step": 32768,
//     "stages": [
//       {"stage": 0, "rank": 0, "peak_bytes": ..., "host_bytes": ...,
//        "limit_bytes": ..., "bytes": {"activation": ..., ...},
//        "busy_seconds": ..., "bubble_seconds": ...,
//        "exposed_communication_seconds": ..., "stall_seconds": ...,
//        "seconds_by_kind": {"all_gather over mp": ..., "matmul": ..., ...}},
//       ...
//     ],
//     "critical_path": [{"kind": "matmul", "seconds": ...}, ...],
//     "sensitivity": {"engines.cube.bf16": ..., ...},
//     "rates": {"source": "measured on 2 threads with AVX2",
//               "flops_per_second": {"bf16": ..., "f32": ...},
//               "bytes_per_second": ...},
//     "kernels": [
//       {"kind": "matmul", "name": "aclnnMatmul",
//        "inputs": ["bf16[2048,768]", ...], "outputs": [...], "calls": 96,
//        "seconds": ..., "flops": ..., "bytes": ..., "bound_seconds": ...},
//       ...
//     ]
//   }
//
// All members are always present and in this order, except for `rates` and
// `kernels`, which only timelines with rates have (KernelTable.h). The members
// of inner objects are sorted by name. Numbers of a kernel are sums over its
// calls on all stages. Kernels are in descending order of their time above the
// bound. Utilizations are relative to the peak, and 0 if that is not known.
// `source` is "simulated" or "executed". For executions `target` may be "", and
// `critical_path` and `sensitivity` are empty. `limit_bytes` is 0 if there is
// no limit. The four times of a stage add up to `step_seconds` (StageSummary),
// its bytes to `peak_bytes`. `sensitivity` is as in StepTimeline. Numbers have
// the fewest digits that read back as the same value. Numbers that are not
// finite are null.
//
//===----------------------------------------------------------------------===//

#ifndef MF_PERF_TIMELINE_WRITERS_H
#define MF_PERF_TIMELINE_WRITERS_H

#include "mf/Perf/Timeline/StepTimeline.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"
#include <map>

namespace mf::timeline {

/// Prints the memory of each stage, on the device and on the host.
void printMemory(const StepTimeline &timeline, llvm::raw_ostream &os);

/// Prints a line for each stage, the step's numbers, and a sentence about what
/// limits it.
void printTable(const StepTimeline &timeline, llvm::raw_ostream &os);

/// Writes the members of the report, except for `program`, into an open JSON
/// object.
void writeReportMembers(const StepTimeline &timeline,
                        llvm::json::OStream &json);
llvm::Error writeReport(llvm::StringRef path, const StepTimeline &timeline);

/// The losses that a step reported, by name.
using ReportedLosses = std::map<std::string, double>;

/// Prints the differences between an earlier report and this timeline, whose
/// step reported `losses`; a simulated one reports none.
llvm::Error compareWithReport(const StepTimeline &timeline,
                              llvm::StringRef reportPath, llvm::raw_ostream &os,
                              const ReportedLosses &losses = {});

/// Checks that the ranks to be shown in a trace are in the mesh and unique.
/// Meant to be called before a step is run.
llvm::Error checkTraceRanks(const program::Mesh &mesh,
                            llvm::ArrayRef<int64_t> ranks);

/// Writes Chrome trace events for Perfetto. `ranks` are those to be shown; by
/// default one of each stage. A rank is shown with the times of the rank that
/// represents its stage.
llvm::Error writeTrace(llvm::StringRef path, const StepTimeline &timeline,
                       const program::Mesh &mesh,
                       llvm::ArrayRef<int64_t> ranks);

/// Checks, as far as possible, that writeProfile can write to a folder. Meant
/// to be called before a step is run.
llvm::Error checkProfileFolder(llvm::StringRef folder);

/// Writes files in the layout of MindSpore Profiler's ASCEND_PROFILER_OUTPUT,
/// in a separate folder for each stage's rank. `folder` must be empty or not
/// exist.
llvm::Error writeProfile(llvm::StringRef folder, const StepTimeline &timeline);

/// Writes one self-contained HTML page.
llvm::Error writePage(llvm::StringRef path, const StepTimeline &timeline);

} // namespace mf::timeline

#endif // MF_PERF_TIMELINE_WRITERS_H
