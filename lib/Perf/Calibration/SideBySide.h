//===- SideBySide.h - What a profile shows at the same time -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_PERF_CALIBRATION_SIDEBYSIDE_H
#define MF_LIB_PERF_CALIBRATION_SIDEBYSIDE_H

#include "mf/Perf/Calibration/Profile.h"

namespace mf::calibration {

/// The kernels and exchanges of a profile by the time at which they ran, to
/// find what ran beside what. A row without a start time ran beside nothing.
class SideBySide {
public:
  explicit SideBySide(const Profile &profile);

  /// The rows beside which a row ran.
  struct Beside {
    /// The share of the row's time.
    double share = 0;
    /// The exchange that was there for most of it; null for kernels.
    const ProfiledExchange *exchange = nullptr;
  };
  /// Returns the exchanges beside which a kernel ran.
  Beside getExchanges(const ProfiledTime &kernel) const;
  /// Returns the kernels beside which the exchange of this name ran.
  Beside getKernels(uint32_t folder, int64_t step,
                    const std::string &name) const;
  /// Returns whether bytes of another exchange moved while those of this one
  /// did, so that both may have had the same links.
  bool sharesLinks(const ProfiledTransfer &transfer) const;

private:
  struct Row {
    double start = 0;
    double end = 0;
    /// The latest end of this row and those before it.
    double lastEnd = 0;
    const ProfiledExchange *exchange = nullptr;
  };
  using Rows = std::map<uint32_t, std::vector<Row>>;
  static void sort(Rows &rows);
  static Beside find(const Rows &rows, uint32_t folder, double start,
                     double end, const ProfiledExchange *other = nullptr);

  /// The rows of each folder, in the order of time. Those of moves begin when
  /// an exchange has waited for all of its ranks.
  Rows kernels, exchanges, moves;
  std::map<std::tuple<uint32_t, int64_t, std::string>, const ProfiledExchange *>
      named;
};

} // namespace mf::calibration

#endif // MF_LIB_PERF_CALIBRATION_SIDEBYSIDE_H
