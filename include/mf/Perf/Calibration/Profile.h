//===- Profile.h - Contents of a profile ------------------------*- C++ -*-===//
//
// The files of ASCEND_PROFILER_OUTPUT that rates can be fitted to, as
// MindSpore's profiler writes them, and mf-run from simulations and executions:
// kernel_details.csv, step_trace_time.csv and communication.json. Columns are
// found by name; rows that are broken are errors with file, line and column.
//
//===----------------------------------------------------------------------===//

#ifndef MF_CALIBRATION_PROFILE_H
#define MF_CALIBRATION_PROFILE_H

#include "mf/Support/DType.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace mf::calibration {

/// A tensor as a profiler shows it.
struct ProfiledOperand {
  llvm::SmallVector<int64_t, 4> dims;
  /// None for types that training steps do not hold, such as masks of bits.
  std::optional<DType> type;
};

/// The time of one row.
struct ProfiledTime {
  double seconds = 0;
  /// On the clock of the device's host; none if there is no such column.
  std::optional<double> start;
  /// The row's Step ID, or 0.
  int64_t step = 0;
  /// Index into Profile::folders.
  uint32_t folder = 0;
};

/// Rows of kernel_details.csv that have the same type and operands.
struct ProfiledLaunch {
  /// The column Type: "MatMulV2", "hcom_allReduce_".
  std::string type;
  /// The column Accelerator Core, or empty: "AI_CORE", "COMMUNICATION".
  std::string core;
  /// Absent optional operands are left out.
  llvm::SmallVector<ProfiledOperand, 4> inputs, outputs;
  std::vector<ProfiledTime> times;
  /// The first row, as "file:line".
  std::string place;
};

/// A row of step_trace_time.csv, in seconds.
struct ProfiledStep {
  int64_t step = 0;
  uint32_t folder = 0;
  /// Time in which the device is idle.
  double free = 0;
  /// From the begin of the step to its end; none if columns are missing.
  std::optional<double> length;
};

/// A collective or message of communication.json.
struct ProfiledTransfer {
  /// "hcom_allReduce__623_0_1".
  std::string name;
  /// The part of its key behind the @.
  std::string group;
  int64_t step = 0;
  uint32_t folder = 0;
  /// From its begin on the device to its end, without the wait for others.
  double seconds = 0;
  /// Bytes that it sent, by the kind of link: "HCCS", "RDMA".
  std::map<std::string, double> bytesByLink;
};

struct Profile {
  /// The ASCEND_PROFILER_OUTPUT folders, one for each rank.
  std::vector<std::string> folders;
  std::vector<ProfiledLaunch> launches;
  std::vector<ProfiledStep> steps;
  std::vector<ProfiledTransfer> transfers;
  /// The ranks of groups by folder and name, from profiler_metadata.json.
  std::map<std::pair<uint32_t, std::string>, std::vector<int64_t>> groups;
  /// Rows of kernel_details.csv.
  int64_t rows = 0;
};

/// Reads `folder`: an ASCEND_PROFILER_OUTPUT, a folder with one, or a folder of
/// such folders. An error if there is none, if one has no kernel_details.csv,
/// or if a file is malformed.
llvm::Expected<Profile> readProfile(llvm::StringRef folder);

} // namespace mf::calibration

#endif // MF_CALIBRATION_PROFILE_H
