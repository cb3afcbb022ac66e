//===- ProcessGroup.h - Processes that run one program --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Several processes that run one program, each with an equal number of its
// ranks. They check that they run the same, agree on errors before a step, and
// let the first process write shared files.
//
//===----------------------------------------------------------------------===//

#ifndef MF_EXEC_RUNNER_PROCESSGROUP_H
#define MF_EXEC_RUNNER_PROCESSGROUP_H

#include "mf/Exec/Ranks/RankEngine.h"
#include "mf/Exec/Runner/Communicator.h"
#include "mf/Exec/Transport/Transport.h"
#include "mf/Program/Program.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <memory>
#include <string>
#include <vector>

namespace mf::runner {

/// All processes call these functions in the same order, each on one thread,
/// except for those that report errors.
class ProcessGroup {
public:
  explicit ProcessGroup(std::unique_ptr<Transport> transport);
  /// Waits for the other processes.
  ~ProcessGroup();

  int64_t getNumProcesses() const { return transport->getNumProcesses(); }
  /// Returns whether all processes are on this machine.
  bool isOneMachine() const {
    return transport->getNumProcessesHere() == getNumProcesses();
  }
  /// Returns whether this process prints lines and writes files.
  bool isFirst() const { return transport->getProcess() == 0; }

  /// Assigns the same number of consecutive ranks to each process. Fails if
  /// that is not possible, and states the numbers of processes that would work.
  llvm::Error placeRanks(int64_t numRanks);
  /// Returns the ranks of this process, ascending.
  std::vector<int64_t> getLocalRanks() const;
  int64_t getProcess(int64_t rank) const { return rank / ranksPerProcess; }
  /// Returns the name of a process for messages: "rank 1" or "ranks 2 to 3",
  /// and "process 1" before ranks are placed.
  std::string describe(int64_t process) const {
    return describe(process, ranksPerProcess);
  }

  /// Returns the number of threads for this process if `threads` are requested
  /// in total. 0 stands for those that this machine has, divided by the number
  /// of its processes.
  int getThreads(int threads) const;

  llvm::Expected<std::shared_ptr<Communicator>>
  makeCommunicator(const program::Program &program);

  /// Returns the values of all processes, by process.
  llvm::Expected<std::vector<std::string>> gatherAll(llvm::StringRef own);

  /// Fails in all processes if `own` is a failure in any of them. A process
  /// that failed returns its own error if all have failed; otherwise the error
  /// names the first process that failed.
  llvm::Error agree(llvm::Error own);

  /// Fails in all processes if a value in one process differs from that in the
  /// first. The error names the ranks of that process. All processes must pass
  /// values of the same names.
  llvm::Error expectSame(llvm::ArrayRef<ranks::SharedValue> values);

  /// Transfer bytes from another process to the first one, which calls
  /// `receive`.
  llvm::Error sendToFirst(llvm::ArrayRef<uint8_t> bytes);
  llvm::Error receive(int64_t process, llvm::MutableArrayRef<uint8_t> bytes);

  /// Writes `text` to standard error, unless another process of this machine
  /// has already reported why the run ends. Then ends all processes.
  [[noreturn]] void fail(llvm::StringRef text);

private:
  static std::string describe(int64_t process, int64_t ranksPerProcess);
  llvm::Error exchange(llvm::MutableArrayRef<Message> messages);

  std::unique_ptr<Transport> transport;
  /// 0 until the ranks are placed.
  int64_t ranksPerProcess = 0;
};

} // namespace mf::runner

#endif // MF_EXEC_RUNNER_PROCESSGROUP_H
