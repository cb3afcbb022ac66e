//===- Calibration.h - Targets fitted to profiles -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_PERF_CALIBRATION_CALIBRATION_H
#define MF_PERF_CALIBRATION_CALIBRATION_H

#include "mf/Perf/Calibration/LogFit.h"
#include "mf/Perf/Calibration/Profile.h"
#include "mf/Perf/Target/Target.h"
#include "llvm/Support/raw_ostream.h"

namespace mf::calibration {

/// A fitted number of the target.
struct CalibratedNumber {
  /// The path of the number, as in target::Parameter.
  std::string path;
  double before = 0;
  double after = 0;
  /// The standard error of `after`, relative to it.
  double relativeError = 0;
  FitState state = FitState::Unused;
  /// True if `after` is only a bound, because larger (or smaller) values fit
  /// the profile equally well.
  bool isOpenAbove = false;
  bool isOpenBelow = false;
  /// The number of rows that may depend on the number.
  int64_t rows = 0;
};

/// The distance of predictions from measured times. For one row it is the
/// larger of the two divided by the smaller, minus 1.
struct Misfit {
  double median = 0;
  /// The distance below which nine of ten rows are.
  double most = 0;
};

/// The result for the rows of one kind.
struct CalibratedKind {
  std::string kind;
  int64_t rows = 0;
  /// The number of different launches or transfers.
  int64_t shapes = 0;
  int64_t outliers = 0;
  /// The sum of the times of all rows.
  double seconds = 0;
  Misfit before, after;
};

/// The fitted target, and how well it predicts the profile.
struct Calibration {
  target::Target target;
  std::vector<CalibratedNumber> numbers;
  /// The kinds in descending order of their time.
  std::vector<CalibratedKind> kinds;
  /// The number of rows that were not used, by name: rows of types that mf does
  /// not know, rows whose operands or groups do not identify what ran, rows of
  /// kinds for which the target has no rate, exchanges that may have shared
  /// links with others, and rows of first steps.
  std::map<std::string, int64_t> unknownTypes, unclear, withoutRate,
      sharedLinks;
  int64_t warmUpRows = 0;
  int64_t rows = 0;
  int64_t folders = 0;
};

/// Fits the numbers of a target to a profile. Fails if no row of the profile
/// depends on the target.
llvm::Expected<Calibration> calibrate(const target::Target &target,
                                      const Profile &profile);

/// Prints a table of kinds, a table of numbers, and the rows that were not
/// used.
void printCalibration(const Calibration &calibration, llvm::raw_ostream &os);

/// Returns lines that name the folder and the target of the fit, for the head
/// of the target's file.
std::string describeCalibration(const Calibration &calibration,
                                llvm::StringRef folder,
                                llvm::StringRef startTarget);

} // namespace mf::calibration

#endif // MF_PERF_CALIBRATION_CALIBRATION_H
