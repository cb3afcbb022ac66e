//===- Profile.h - Contents of a profile ------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Reads the files of ASCEND_PROFILER_OUTPUT that rates can be fitted to:
// kernel_details.csv, step_trace_time.csv, communication.json and
// trace_view.json. MindSpore's profiler writes them, and so does mf-run for
// simulations and executions.
// Columns are found by name. Malformed rows are errors with file, line and
// column.
//
//===----------------------------------------------------------------------===//

#ifndef MF_PERF_CALIBRATION_PROFILE_H
#define MF_PERF_CALIBRATION_PROFILE_H

#include "mf/Perf/Target/KernelCost.h"
#include "mf/Support/DType.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace mf::calibration {

/// A tensor as a profiler lists it.
struct ProfiledOperand {
  llvm::SmallVector<int64_t, 4> dims;
  /// Empty for types that training steps do not use.
  std::optional<DType> type;
};

/// The time of one row.
struct ProfiledTime {
  double seconds = 0;
  /// The start on the clock of the device's host. Empty if there is no such
  /// column.
  std::optional<double> start;
  /// The row's Step ID, or 0 if it has none.
  int64_t step = 0;
  /// An index into Profile::folders.
  uint32_t folder = 0;
};

/// The rows of kernel_details.csv that have the same type and operands.
struct ProfiledLaunch {
  /// The column Type, for example "MatMulV2" or "hcom_allReduce_".
  std::string type;
  /// The column Accelerator Core, for example "AI_CORE" or "COMMUNICATION". May
  /// be empty.
  std::string core;
  /// The operands without absent optional ones.
  llvm::SmallVector<ProfiledOperand, 4> inputs, outputs;
  std::vector<ProfiledTime> times;
  /// The place of the first row, as "file:line".
  std::string place;

  bool isCommunication() const {
    return core == "COMMUNICATION" || core == "HCCL";
  }
};

/// A row of kernel_details.csv that communicates and has a start time. It may
/// wait for other ranks first.
struct ProfiledExchange {
  /// The column Name, for example "hcom_allReduce__623_0_1".
  std::string name;
  int64_t step = 0;
  uint32_t folder = 0;
  double start = 0;
  double seconds = 0;
};

/// A row of step_trace_time.csv. Times are in seconds.
struct ProfiledStep {
  int64_t step = 0;
  uint32_t folder = 0;
  /// The time in which the device is idle.
  double free = 0;
  /// The duration of the step. Empty if columns are missing.
  std::optional<double> length;
};

/// A collective or message of communication.json.
struct ProfiledTransfer {
  /// The name, for example "hcom_allReduce__623_0_1".
  std::string name;
  /// The part of its key that follows the @.
  std::string group;
  int64_t step = 0;
  uint32_t folder = 0;
  /// The duration on the device without the wait for other ranks.
  double seconds = 0;
  /// The bytes sent, by the kind of link, for example "HCCS" or "RDMA".
  std::map<std::string, double> bytesByLink;
};

/// A copy of trace_view.json, between device and host or on the device.
struct ProfiledCopy {
  uint32_t folder = 0;
  double start = 0;
  double seconds = 0;
};

/// The contents of all folders of a profile.
struct Profile {
  /// The ASCEND_PROFILER_OUTPUT folders, one for each rank.
  std::vector<std::string> folders;
  std::vector<ProfiledLaunch> launches;
  std::vector<ProfiledExchange> exchanges;
  std::vector<ProfiledStep> steps;
  std::vector<ProfiledTransfer> transfers;
  std::vector<ProfiledCopy> copies;
  /// What mf-run says in profiler_metadata.json about the compilation of the
  /// step that it profiled.
  target::Compilation compilation;
  /// The ranks of groups, keyed by folder and group name, from
  /// profiler_metadata.json.
  std::map<std::pair<uint32_t, std::string>, std::vector<int64_t>> groups;
  /// The number of rows of kernel_details.csv.
  int64_t rows = 0;
};

/// Reads a profile. `folder` is an ASCEND_PROFILER_OUTPUT, a folder that
/// contains one, or a folder of such folders. Fails if there is none, if one
/// has no kernel_details.csv, or if a file is malformed.
llvm::Expected<Profile> readProfile(llvm::StringRef folder);

} // namespace mf::calibration

#endif // MF_PERF_CALIBRATION_PROFILE_H
