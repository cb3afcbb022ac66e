//===- RunReport.h - JSON report of a training run --------------*- C++ -*-===//
//
// The file that mf-run --report writes:
//
//   {
//     "program": "step.mlir",
//     "seed": 1,
//     "verification": "proven",
//     "steps": [
//       {"step": 1, "loss": 10.653, "seconds": 0.25, "learning_rate": 1e-05,
//        "global_norm": 1.5, "loss_scale": 1.0, "overflow": false,
//        "drop_rates": [{"layer": 1, "logged": [0.02], "dropped": [0.015]}]},
//       ...
//     ],
//     "ranks": [
//       {"rank": 0, "stage": 0, "planned_bytes": ..., "peak_bytes": ...,
//        "used_bytes": ..., "host_bytes": ..., "host_used_bytes": ...,
//        "bytes_at_peak": {"parameter": ..., ...},
//        "stall_seconds": {"compute": ..., "h2d": ...},
//        "operator_stall_seconds":
//            {"layers.0.feed_forward.mul.grad, waiting for h2d": ..., ...}}
//     ],
//     "step_seconds": ..., "stages": [...], ...
//   }
//
// Behind `ranks` is the last step in time, as that of a simulation is written
// (mf/Perf/Timeline/Writers.h). Members are always in this order and all there,
// but for `verification`, which a model has not, and `drop_rates`, which only
// steps of experts with MoEDropRateCallback have; those of the inner objects
// are sorted by name. fp32 values are written with the digits that read back to
// the same bits; numbers that are not finite are null.
//
//===----------------------------------------------------------------------===//

#ifndef MF_DATA_RUNREPORT_H
#define MF_DATA_RUNREPORT_H

#include "mf/Program/DropRates.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace mf {

/// The measured values of one training step.
struct StepMeasurement {
  /// Number of the step, from 1.
  int64_t step = 1;
  /// None if the program reports no loss: null in the report.
  std::optional<float> loss;
  double seconds = 0;
  float learningRate = 0;
  /// The norm of all gradients; none if they are not clipped.
  std::optional<float> globalNorm;
  float lossScale = 1;
  bool overflow = false;
  /// Drop rates of the layers whose experts the training run logs; none by
  /// default.
  std::vector<DropRates> dropRates;
};

/// The memory and the waits of one rank, over the whole run.
struct RankMeasurement {
  int64_t rank = 0;
  int64_t stage = 0;
  /// Size of the arena by the program's memory plan.
  int64_t plannedBytes = 0;
  /// The most bytes that were allocated in the arena at one time.
  int64_t peakBytes = 0;
  /// Bytes of the arena that were ever written or read.
  int64_t usedBytes = 0;
  /// Size of pinned host memory as planned, and what of it was ever used.
  int64_t hostBytes = 0;
  int64_t hostUsedBytes = 0;
  /// Bytes at the peak, by the category of memory.
  std::map<std::string, int64_t> bytesAtPeak;
  /// Time that streams spent waiting for others, by stream.
  std::map<std::string, double> stallSeconds;
  /// The part of it on the compute stream, by the operator that had to wait.
  std::map<std::string, double> operatorStallSeconds;
};

struct RunReport {
  std::string program;
  uint64_t seed = 0;
  /// Whether the program was proven before it ran; empty for a model.
  std::string verification;
  std::vector<StepMeasurement> steps;
  std::vector<RankMeasurement> ranks;
};

/// The report as JSON text with a line end.
std::string
toJson(const RunReport &report,
       llvm::function_ref<void(llvm::json::OStream &)> addMembers = nullptr);

/// Writes it in one step (AtomicFile.h). `addMembers` writes more members
/// behind its own.
llvm::Error writeReport(
    llvm::StringRef path, const RunReport &report,
    llvm::function_ref<void(llvm::json::OStream &)> addMembers = nullptr);

} // namespace mf

#endif // MF_DATA_RUNREPORT_H
