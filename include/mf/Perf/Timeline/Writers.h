//===- Writers.h - Writes a step's timeline in several formats --*- C++ -*-===//
//
// Every writer takes what StepTimeline.h describes, whether it was simulated or
// executed, and writes the same bytes for the same timeline. Files are written
// in one step (mf/Support/AtomicFile.h).
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
// Members are always in this order and all there, but for `rates` and
// `kernels`, which a timeline with rates has (KernelTable.h); those of the
// inner objects are sorted by name. Numbers of a kernel are sums over its calls
// on all stages; kernels are in the order of what they take above their bounds.
// Utilizations are of the peak, and 0 if that is not known; `source` is
// "simulated" or "executed", and of the latter `target` may be "",
// `critical_path` and `sensitivity` are empty. `limit_bytes` is 0 where there
// is none. The four times of a stage add up to `step_seconds`
// (StageSummary), its bytes to `peak_bytes`. `sensitivity` is as in
// StepTimeline. Numbers have the fewest digits that read back to the same;
// those that are not finite are null.
//
//===----------------------------------------------------------------------===//

#ifndef MF_TIMELINE_WRITERS_H
#define MF_TIMELINE_WRITERS_H

#include "mf/Perf/Timeline/StepTimeline.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

namespace mf::timeline {

/// A line for each stage, the step's numbers, and what limits it in words.
void printTable(const StepTimeline &timeline, llvm::raw_ostream &os);

/// Writes the members of the report, but for `program`, into an open JSON
/// object.
void writeReportMembers(const StepTimeline &timeline,
                        llvm::json::OStream &json);
llvm::Error writeReport(llvm::StringRef path, const StepTimeline &timeline);

/// Prints where a report that was written before differs from this timeline.
llvm::Error compareWithReport(const StepTimeline &timeline,
                              llvm::StringRef reportPath,
                              llvm::raw_ostream &os);

/// Checks that ranks to be shown in a trace are of the mesh and given once; to
/// be called before a step is run.
llvm::Error checkTraceRanks(const program::Mesh &mesh,
                            llvm::ArrayRef<int64_t> ranks);

/// Chrome trace events for Perfetto. `ranks` are those shown; by default one of
/// each stage. A rank is shown as the one that stands for its stage.
llvm::Error writeTrace(llvm::StringRef path, const StepTimeline &timeline,
                       const program::Mesh &mesh,
                       llvm::ArrayRef<int64_t> ranks);

/// Whether writeProfile can write there, as far as can be told: to be asked
/// before a step is run.
llvm::Error checkProfileFolder(llvm::StringRef folder);

/// Files in the layout of MindSpore Profiler's ASCEND_PROFILER_OUTPUT, for each
/// stage's rank in a folder of its own. `folder` must not be there, or be
/// empty.
llvm::Error writeProfile(llvm::StringRef folder, const StepTimeline &timeline);

/// Writes one self-contained HTML page.
llvm::Error writePage(llvm::StringRef path, const StepTimeline &timeline);

} // namespace mf::timeline

#endif // MF_TIMELINE_WRITERS_H
