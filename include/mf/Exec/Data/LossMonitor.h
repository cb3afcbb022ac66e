//===- LossMonitor.h - Lines in the format of MFLossMonitor ---*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The two lines per step of MindSpore Transformers' MFLossMonitor, so that logs
// can be read by the same tools:
//
//   INFO - { Epoch:[  1/  1], step:[    1/  100], loss: 10.653, per_step_time:
//   1234ms, lr: 1e-05, overflow cond: False, loss_scale: 1.0, global_norm:
//   [1.234], train_throughput_per_npu: 12.345T
//   INFO -    1.0% |                    | 3.24149 samples/s/p  0:02:02 }
//
// (each on one line). The parts of the loss follow it, as with
// print_separate_loss: "loss: 10.653, lm_loss: 5.100, mtp_1_loss: 5.553".
//
//===----------------------------------------------------------------------===//

#ifndef MF_EXEC_DATA_LOSSMONITOR_H
#define MF_EXEC_DATA_LOSSMONITOR_H

#include "mf/Exec/Data/RunReport.h"
#include "llvm/Support/raw_ostream.h"

namespace mf {

/// Properties of a run that are not measured.
struct StepPrintOptions {
  /// The number of steps of the run, which is one epoch.
  int64_t steps = 1;
  /// The model FLOPs per second of a rank, in units of 1e12. If it is not set,
  /// the field is left out, as MindSpore Transformers does for a model whose
  /// FLOPs it does not know.
  std::optional<double> teraflopsPerRank;
  /// The number of sequences in a step. Empty to print no progress.
  std::optional<int64_t> sequencesPerStep;
};

/// Returns the first line, with its "INFO - " and without a newline. A loss
/// that the program does not report and the norm of gradients that are not
/// clipped are None.
std::string formatStepLine(const StepMeasurement &step,
                           const StepPrintOptions &options);

/// Returns the second line: progress over all steps, sequences per second, and
/// the remaining time at the pace of this step.
std::string formatProgressLine(const StepMeasurement &step, int64_t steps,
                               int64_t sequencesPerStep);

/// Prints both lines, with the fractions of rows that experts drop between
/// them.
void printStep(const StepMeasurement &step, const StepPrintOptions &options,
               llvm::raw_ostream &os);

/// Formats `value` with the fewest digits that read back to the same fp32
/// number, as NumPy prints a float32 scalar: 1e-05, 1e-04, 0.001, 1.0,
/// 3.5842294e-08, nan.
std::string formatFloat32(float value);

} // namespace mf

#endif // MF_EXEC_DATA_LOSSMONITOR_H
