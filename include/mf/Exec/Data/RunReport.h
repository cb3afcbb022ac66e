//===- RunReport.h - JSON report of a training run --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
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
//        "loss_parts": {"lm_loss": 5.1, "mtp_1_loss": 5.553},
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
// The members after `ranks` describe the times of the last step, in the format
// of a simulation (mf/Perf/Timeline/Writers.h). All members are always present
// and in this order, except for `verification`, which a model does not have,
// `loss_parts`, which a model with one loss does not have, and `drop_rates`,
// which only steps of experts with MoEDropRateCallback have.
// The members of inner objects are sorted by name. fp32 values have the digits
// that read back to the same bits. Numbers that are not finite are null.
//
//===----------------------------------------------------------------------===//

#ifndef MF_EXEC_DATA_RUNREPORT_H
#define MF_EXEC_DATA_RUNREPORT_H

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

/// The parts of a loss by name. A step reports the losses that it adds up
/// apart, if there are several: that of the next token (lm_loss), that of the
/// experts (aux_loss, or in the dynamic graph load_balancing_loss, the mean
/// over layers without its factor) and that of each later token (mtp_1_loss).
/// These are the names in the logs of MindSpore Transformers.
using LossParts = std::vector<std::pair<std::string, float>>;

/// Returns whether a reported quantity is a part of the loss.
bool isLossPart(llvm::StringRef quantity);

/// Sorts parts as logs have them: the next token, experts, later tokens.
void sortLossParts(LossParts &parts);

/// The measured values of one training step.
struct StepMeasurement {
  /// The number of the step, from 1.
  int64_t step = 1;
  /// The loss. Null in the report if the program reports none.
  std::optional<float> loss;
  /// The parts of the loss; empty if there is only one.
  LossParts lossParts;
  double seconds = 0;
  float learningRate = 0;
  /// The norm of all gradients. Empty if they are not clipped.
  std::optional<float> globalNorm;
  float lossScale = 1;
  bool overflow = false;
  /// The drop rates of the layers whose experts the run logs. Empty by default.
  std::vector<DropRates> dropRates;
};

/// The memory and the waits of one rank over the whole run.
struct RankMeasurement {
  int64_t rank = 0;
  int64_t stage = 0;
  /// The size of the arena in the program's memory plan.
  int64_t plannedBytes = 0;
  /// The most bytes of the arena that were allocated at one time.
  int64_t peakBytes = 0;
  /// The bytes of the arena that were ever written or read.
  int64_t usedBytes = 0;
  /// The size of pinned host memory as planned, and the part of it that was
  /// ever used.
  int64_t hostBytes = 0;
  int64_t hostUsedBytes = 0;
  /// The bytes at the peak, by category of memory.
  std::map<std::string, int64_t> bytesAtPeak;
  /// The time that each stream spent waiting for others.
  std::map<std::string, double> stallSeconds;
  /// The part of that time on the compute stream, by the operator that had to
  /// wait.
  std::map<std::string, double> operatorStallSeconds;
};

/// The contents of the report, without the members about the last step.
struct RunReport {
  std::string program;
  uint64_t seed = 0;
  /// The result of proving the program before it ran. Empty for a model.
  std::string verification;
  std::vector<StepMeasurement> steps;
  std::vector<RankMeasurement> ranks;
};

/// Returns the report as JSON text that ends with a newline.
std::string
toJson(const RunReport &report,
       llvm::function_ref<void(llvm::json::OStream &)> addMembers = nullptr);

/// Writes the report atomically (AtomicFile.h). `addMembers` appends members.
llvm::Error writeReport(
    llvm::StringRef path, const RunReport &report,
    llvm::function_ref<void(llvm::json::OStream &)> addMembers = nullptr);

} // namespace mf

#endif // MF_EXEC_DATA_RUNREPORT_H
