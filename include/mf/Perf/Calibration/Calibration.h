//===- Calibration.h - Targets fitted to profiles -------------*- C++ -*-===//

#ifndef MF_CALIBRATION_CALIBRATION_H
#define MF_CALIBRATION_CALIBRATION_H

#include "mf/Perf/Calibration/LogFit.h"
#include "mf/Perf/Calibration/Profile.h"
#include "mf/Perf/Target/Target.h"
#include "llvm/Support/raw_ostream.h"

namespace mf::calibration {

/// A number of the target.
struct CalibratedNumber {
  /// As target::Parameter has it.
  std::string path;
  double before = 0;
  double after = 0;
  /// The standard error of `after`, relative to it.
  double relativeError = 0;
  FitState state = FitState::Unused;
  /// It is only a bound: the profile has nothing against larger or smaller
  /// ones.
  bool isOpenAbove = false;
  bool isOpenBelow = false;
  /// Rows that may depend on it.
  int64_t rows = 0;
};

/// How far predictions are from times: of each row the larger over the smaller,
/// less 1.
struct Misfit {
  double median = 0;
  /// Nine rows of ten are nearer.
  double most = 0;
};

/// The fit of the rows of one kind.
struct CalibratedKind {
  std::string kind;
  int64_t rows = 0;
  /// Different launches or transfers.
  int64_t shapes = 0;
  int64_t outliers = 0;
  /// All rows together.
  double seconds = 0;
  Misfit before, after;
};

struct Calibration {
  target::Target target;
  std::vector<CalibratedNumber> numbers;
  /// Most time first.
  std::vector<CalibratedKind> kinds;
  /// Rows that were not used: of types that mf does not know, whose operands or
  /// groups do not say what ran, of kinds the target has no rate for, by name;
  /// and of first steps.
  std::map<std::string, int64_t> unknownTypes, unclear, withoutRate;
  int64_t warmUpRows = 0;
  int64_t rows = 0;
  int64_t folders = 0;
};

/// Fits the numbers of a target to a profile. An error if no row of the profile
/// says anything of the target.
llvm::Expected<Calibration> calibrate(const target::Target &target,
                                      const Profile &profile);

/// Prints a table by kind, one by number, and the inputs that were not used.
void printCalibration(const Calibration &calibration, llvm::raw_ostream &os);

/// Lines on the folder and target that were fitted, for the head of the file.
std::string describeCalibration(const Calibration &calibration,
                                llvm::StringRef folder,
                                llvm::StringRef startTarget);

} // namespace mf::calibration

#endif // MF_CALIBRATION_CALIBRATION_H
