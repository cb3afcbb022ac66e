//===- Runner.h - Executes a program on emulated devices ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The embedded engine. Every rank that lives in this process has its own thread
// and device, with an arena and host memory of exactly the planned sizes and
// the streams that its stage names. Other ranks are reached through a
// communicator. Results do not depend on the number of threads.
//
//===----------------------------------------------------------------------===//

#ifndef MF_EXEC_RUNNER_RUNNER_H
#define MF_EXEC_RUNNER_RUNNER_H

#include "mf/Exec/Device/Stream.h"
#include "mf/Exec/Device/TurnSchedule.h"
#include "mf/Exec/Kernels/ThreadPool.h"
#include "mf/Exec/Ranks/StepValues.h"
#include "mf/Exec/Ranks/TensorDump.h"
#include "mf/Exec/Runner/Communicator.h"
#include "mf/Exec/Runner/RouterChoices.h"
#include "mf/Exec/Runner/StepRecord.h"
#include "mf/Program/Program.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace mf::runner {

/// The ranks, threads and checks of a runner.
struct RunnerOptions {
  /// The ranks that live in this process, ascending. Empty for all ranks.
  std::vector<int64_t> localRanks;
  /// Connects all ranks of the program. Null if all ranks live in this process.
  std::shared_ptr<Communicator> communicator;
  /// The number of threads that compute. The ranks of this process share them:
  /// a rank that waits lends its threads to others. 0 uses as many as the
  /// machine has.
  int threads = 0;
  /// Divides the threads among the ranks instead, at least one for each. The
  /// time of a kernel then does not depend on other ranks, as required for
  /// fitting the description of one device.
  bool dividesThreads = false;
  /// Guards the ends of memory, fills memory with NaNs before the first step
  /// and again when it is freed, and records how much of it is used.
  bool debugMemory = false;
  /// The rates of the link to the host in bytes per second. 0 copies as fast as
  /// the machine can.
  double deviceToHostRate = 0;
  double hostToDeviceRate = 0;
  /// Decides the order of all work of streams. Requires that all ranks live in
  /// this process. Null runs threads freely.
  std::shared_ptr<TurnSchedule> turns;
  /// The experts that routers choose. Null if they choose by their scores.
  std::shared_ptr<RouterChoices> routerChoices;
  /// Receives the results of operators. May be null.
  std::shared_ptr<ranks::TensorDump> dump;
};

/// The statistics of one stream, with its name.
struct StreamUse {
  std::string name;
  StreamStatistics statistics;
};

/// Executes the steps of one program, which must outlive it.
class Runner {
public:
  /// Makes the kernels and the devices. Statics are zero. Fails with a
  /// LocatedError if a kernel cannot be made, and if there is not enough
  /// memory.
  static llvm::Expected<std::unique_ptr<Runner>>
  create(const program::Program &program, const RunnerOptions &options);
  ~Runner();
  Runner(const Runner &) = delete;
  Runner &operator=(const Runner &) = delete;

  const program::Program &getProgram() const;

  /// Returns the ranks that live in this process, ascending. The functions
  /// below accept only these.
  llvm::ArrayRef<int64_t> getLocalRanks() const;

  /// Returns the bytes of static `number` of a rank's stage. Must not be used
  /// during a step.
  llvm::MutableArrayRef<uint8_t> getStatic(int64_t rank, uint32_t number);

  /// Returns the threads of a rank's compute stream. Must not be used during a
  /// step.
  ThreadPool &getPool(int64_t rank);

  /// Runs `body(tile)` for tiles [0, tiles) on the threads of these ranks.
  void parallelFor(int64_t tiles, llvm::function_ref<void(int64_t)> body);

  /// Runs one step and waits for its end. `beforeUpdate`, if given, is called
  /// when all gradients are summed and no parameter has changed: before the
  /// first call of a routine that updates parameters, or at the end of the step
  /// if there is none. After a failure of any rank all ranks stop, and no
  /// further step can be run. The error is the first failure. The output covers
  /// the ranks that live in this process.
  llvm::Expected<ranks::StepOutput>
  runStep(const ranks::StepInput &input,
          llvm::function_ref<llvm::Error()> beforeUpdate = nullptr);

  /// Returns the reports of this process's ranks in the last step.
  ranks::StepReports getReports() const;

  /// Records when each instruction of the next step runs, on the given ranks of
  /// this process, ascending.
  void recordNextStep(llvm::ArrayRef<int64_t> ranks);
  /// Returns the record of a step after that step has ended.
  std::vector<RankRecord> takeRecord();

  /// Returns the statistics of a rank's streams so far.
  std::vector<StreamUse> getStreamUse(int64_t rank) const;

  /// Returns the seconds for which a rank's compute stream was blocked so far,
  /// by the operator that had to wait and the stream that it waited for.
  std::map<std::string, double> getStalls(int64_t rank) const;

  /// With debugMemory, returns the highest end of a byte that a rank has used
  /// of its arena or host memory.
  int64_t getTouchedBytes(int64_t rank, program::Space space) const;

  /// With debugMemory, fails if memory next to an arena was written.
  llvm::Error checkMemory() const;

private:
  class State;
  explicit Runner(std::unique_ptr<State> state);
  std::unique_ptr<State> state;
};

/// Returns the position in a stage's step of the first call of a routine that
/// updates parameters, or none if there is no such call.
std::optional<uint32_t> findUpdate(const program::StageProgram &stage);

} // namespace mf::runner

#endif // MF_EXEC_RUNNER_RUNNER_H
