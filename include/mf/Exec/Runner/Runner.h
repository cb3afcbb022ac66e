//===- Runner.h - Executes a program on emulated devices ------*- C++ -*-===//
//
// The embedded engine: every rank that lives in this process has a thread and a
// device of its own, an arena and host memory of exactly the planned sizes and
// a stream for each that its stage names. The others are reached through a
// communicator. Results do not depend on the number of threads.
//
//===----------------------------------------------------------------------===//

#ifndef MF_RUNNER_RUNNER_H
#define MF_RUNNER_RUNNER_H

#include "mf/Exec/Device/FaultSchedule.h"
#include "mf/Exec/Device/Stream.h"
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

struct RunnerOptions {
  /// The ranks that live here, ascending; all if it is empty.
  std::vector<int64_t> localRanks;
  /// Reaches all ranks of the program. Without, all ranks live here.
  std::shared_ptr<Communicator> communicator;
  /// Threads that compute, shared by the ranks that live here: a rank that
  /// waits lends its own. 0 takes as many as the machine has.
  int threads = 0;
  /// Divides them over the ranks instead, each at least one: how long a kernel
  /// takes does not depend on what other ranks do, which is what a description
  /// of one device is fitted to.
  bool dividesThreads = false;
  /// Guards the ends of the memories, fills them with NaNs before the first
  /// step and what is free with NaNs again, and notes how far they are used.
  bool debugMemory = false;
  /// Rates of the link to the host in bytes per second; 0 copies as fast as the
  /// machine does.
  double deviceToHostRate = 0;
  double hostToDeviceRate = 0;
  /// Decides the order of everything that streams do, and injects faults. Only
  /// for runs whose ranks all live here.
  std::shared_ptr<FaultSchedule> faults;
  /// The experts that routers choose; null if they choose by their scores.
  std::shared_ptr<RouterChoices> routerChoices;
  /// Gets what operators make, where it is not null.
  std::shared_ptr<ranks::TensorDump> dump;
};

struct StreamUse {
  std::string name;
  StreamStatistics statistics;
};

/// Executes the steps of one program. The program must outlive it.
class Runner {
public:
  /// Makes the kernels and the devices; statics are zero. Fails with a
  /// LocatedError if a kernel cannot be made, and if memory is short.
  static llvm::Expected<std::unique_ptr<Runner>>
  create(const program::Program &program, const RunnerOptions &options);
  ~Runner();
  Runner(const Runner &) = delete;
  Runner &operator=(const Runner &) = delete;

  const program::Program &getProgram() const;

  /// The ranks that live here, ascending. Only these may be named below.
  llvm::ArrayRef<int64_t> getLocalRanks() const;

  /// The bytes of static `number` of a rank's stage. Not to be used during a
  /// step.
  llvm::MutableArrayRef<uint8_t> getStatic(int64_t rank, uint32_t number);

  /// The threads of a rank's compute stream. Not to be used during a step.
  ThreadPool &getPool(int64_t rank);

  /// Runs `body(tile)` for tiles [0, tiles) on the threads of these ranks.
  void parallelFor(int64_t tiles, llvm::function_ref<void(int64_t)> body);

  /// Runs one step and waits for its end. `beforeUpdate`, if given, is called
  /// when all gradients are summed and no parameter is changed yet: before the
  /// first call of a routine that updates parameters, at the end of the step
  /// where there is none. After a failure of any rank all ranks stop, and no
  /// further step can be run; the error is the first failure. The output is of
  /// the ranks that live here.
  llvm::Expected<ranks::StepOutput>
  runStep(const ranks::StepInput &input,
          llvm::function_ref<llvm::Error()> beforeUpdate = nullptr);

  /// The reports of this process's ranks in the last step.
  ranks::StepReports getReports() const;

  /// Records the next step of some of the ranks that live here, ascending: when
  /// each instruction ran.
  void recordNextStep(llvm::ArrayRef<int64_t> ranks);
  /// The record of a step, once that step is over.
  std::vector<RankRecord> takeRecord();

  /// Statistics of a rank's streams so far.
  std::vector<StreamUse> getStreamUse(int64_t rank) const;

  /// Seconds that a rank's compute stream was blocked so far, by the operator
  /// that had to wait and the stream that it waited for.
  std::map<std::string, double> getStalls(int64_t rank) const;

  /// With debugMemory: the end of the furthest byte that a rank used of its
  /// arena, or host memory, so far.
  int64_t getTouchedBytes(int64_t rank, program::Space space) const;

  /// With debugMemory: fails if memory next to an arena was written.
  llvm::Error checkMemory() const;

private:
  class State;
  explicit Runner(std::unique_ptr<State> state);
  std::unique_ptr<State> state;
};

/// Position in a stage's step of the first call of a routine that updates
/// parameters; none if there is no such call.
std::optional<uint32_t> findUpdate(const program::StageProgram &stage);

} // namespace mf::runner

#endif // MF_RUNNER_RUNNER_H
