//===- CriticalWork.h - Work on a step's critical path ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_PERF_SIMULATOR_CRITICALWORK_H
#define MF_LIB_PERF_SIMULATOR_CRITICALWORK_H

#include "SlowKernels.h"
#include "StepQueues.h"
#include "mf/Perf/Simulator/Activities.h"
#include "mf/Perf/Timeline/StepTimeline.h"

namespace mf::simulator {

/// The number of times that the critical path of a step contains each kind of
/// work. The step's time is their sum, as long as the path does not change.
class CriticalWork {
public:
  CriticalWork(const program::Program &program, const StepQueues &queues,
               const events::Timeline &times, const StepCosts &costs);

  /// Returns the total time in seconds if instructions have the given costs.
  double getSeconds(const StepCosts &costs) const;

  /// Returns the shares of the kinds of work, largest first.
  std::vector<timeline::CriticalShare>
  getShares(const program::Program &program, const StepCosts &costs) const;

private:
  void add(const program::Program &program, const program::StageProgram &stage,
           const Emitted &emitted, double seconds, const StepCosts &costs);
  /// Adds what transfers take from kernels that run between two times.
  void addSlowdown(const program::Program &program, const SlowKernels &slow,
                   double start, double end, const StepCosts &costs);

  struct CopyKey {
    program::StreamKind stream;
    int64_t bytes;
    bool operator<(const CopyKey &other) const {
      return std::tie(stream, bytes) < std::tie(other.stream, other.bytes);
    }
  };
  struct TransferWork {
    std::string kind;
    int64_t count = 0;
    /// The transfers beside which kernels of the path run. Parts of transfers
    /// count as such.
    double besideKernels = 0;
    /// The time in addition to that of the transfer alone, because others use
    /// its links or kernels run beside it.
    double shared = 0;
  };

  static double getSeconds(const TransferWork &work,
                           const target::TransferCost &cost);

  std::vector<int64_t> kernelCounts;
  std::map<uint32_t, TransferWork> transfers;
  std::map<CopyKey, int64_t> copies;
};

/// For each number of the target, by its path, returns the derivative of the
/// step's time with respect to its logarithm. Numbers without effect are left
/// out.
llvm::Expected<std::map<std::string, double>>
computeSensitivity(const program::Program &program,
                   const target::Target &target, const CriticalWork &work,
                   const StepCosts &costs);

} // namespace mf::simulator

#endif // MF_LIB_PERF_SIMULATOR_CRITICALWORK_H
