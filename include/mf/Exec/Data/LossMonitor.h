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

#include "mf/Exec/Data/LossParts.h"
#include <cstdint>
#include <optional>
#include <string>

namespace mf {

/// The values that are printed about one step.
struct StepReport {
  int64_t epoch = 1;
  int64_t numEpochs = 1;
  /// The number of the step within the epoch, from 1.
  int64_t step = 1;
  int64_t stepsPerEpoch = 1;
  /// The loss. Printed as None if the program reports none.
  std::optional<float> loss;
  /// The parts of the loss. If there are any, they follow it.
  LossParts lossParts;
  double stepMilliseconds = 0;
  float learningRate = 0;
  bool overflow = false;
  float lossScale = 1;
  /// The global norm. Printed as None if gradients are not clipped.
  std::optional<float> globalNorm;
  /// The model FLOPs per second of a rank, in units of 1e12. If it is not set,
  /// the field is left out, as MindSpore Transformers does for a model whose
  /// FLOPs it does not know.
  std::optional<double> teraflopsPerRank;
};

/// Returns the first line, with its "INFO - " and without a newline.
std::string formatStepLine(const StepReport &report);

/// Returns the second line: progress over all epochs, sequences per second and
/// rank, and the remaining time at the pace of this step.
std::string formatProgressLine(const StepReport &report,
                               int64_t sequencesPerStepAndRank);

/// Formats `value` with the fewest digits that read back to the same fp32
/// number, as NumPy prints a float32 scalar: 1e-05, 1e-04, 0.001, 1.0,
/// 3.5842294e-08, nan.
std::string formatFloat32(float value);

} // namespace mf

#endif // MF_EXEC_DATA_LOSSMONITOR_H
