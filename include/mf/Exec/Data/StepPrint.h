//===- StepPrint.h - The lines that a run prints for a step -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_EXEC_DATA_STEPPRINT_H
#define MF_EXEC_DATA_STEPPRINT_H

#include "mf/Exec/Data/RunReport.h"
#include "llvm/Support/raw_ostream.h"

namespace mf {

/// Properties of a run that are not measured.
struct StepPrintOptions {
  int64_t steps = 1;
  /// As StepReport::teraflopsPerRank.
  std::optional<double> teraflopsPerRank;
  /// The number of sequences in a step. Empty to print no progress.
  std::optional<int64_t> sequencesPerStep;
};

/// Prints a step as MFLossMonitor does (mf/Exec/Data/LossMonitor.h), with the
/// fractions of rows that experts drop between its two lines.
void printStep(const StepMeasurement &step, const StepPrintOptions &options,
               llvm::raw_ostream &os);

} // namespace mf

#endif // MF_EXEC_DATA_STEPPRINT_H
