//===- ProcessGroup.h - Processes that run one program --------*- C++ -*-===//
//
// Several processes, each with an equal share of the ranks, that run one
// program: they agree on what they run, on what went wrong before a step, and
// the first one writes what all have.
//
//===----------------------------------------------------------------------===//

#ifndef MF_RUNNER_PROCESSGROUP_H
#define MF_RUNNER_PROCESSGROUP_H

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

/// All functions but those for reports are called by all processes in the same
/// order, each by one thread.
class ProcessGroup {
public:
  explicit ProcessGroup(std::unique_ptr<Transport> transport);
  /// Waits for the others.
  ~ProcessGroup();

  int64_t getNumProcesses() const { return transport->getNumProcesses(); }
  /// Whether all of them are on this machine.
  bool isOneMachine() const {
    return transport->getNumProcessesHere() == getNumProcesses();
  }
  /// Whether this is the one that prints lines and writes files.
  bool isFirst() const { return transport->getProcess() == 0; }

  /// Gives each process as many consecutive ranks. Fails if that is not
  /// possible, and says how many processes would do.
  llvm::Error placeRanks(int64_t numRanks);
  /// The ranks of this process, ascending.
  std::vector<int64_t> getLocalRanks() const;
  int64_t getProcess(int64_t rank) const { return rank / ranksPerProcess; }
  /// The name of a process in messages: "rank 1", "ranks 2 to 3", and before
  /// ranks are placed "process 1".
  std::string describe(int64_t process) const {
    return describe(process, ranksPerProcess);
  }

  /// Threads that compute here, if `threads` are wanted in all; 0 for what this
  /// machine has, divided over the processes on it.
  int getThreads(int threads) const;

  llvm::Expected<std::shared_ptr<Communicator>>
  makeCommunicator(const program::Program &program);

  /// Gives every process the values of all, by process.
  llvm::Expected<std::vector<std::string>> gatherAll(llvm::StringRef own);

  /// Fails in all processes if `own` is a failure in one. If all failed, each
  /// has its own error; else the error names the first process that failed.
  llvm::Error agree(llvm::Error own);

  /// Fails in all processes if one has another value than the first process.
  /// The error names the ranks that do. All have facts of the same names.
  llvm::Error expectSame(llvm::ArrayRef<ranks::Fact> facts);

  /// Brings bytes from another process to the first one, which receives.
  llvm::Error sendToFirst(llvm::ArrayRef<uint8_t> bytes);
  llvm::Error receive(int64_t process, llvm::MutableArrayRef<uint8_t> bytes);

  /// Writes `text` to standard error, unless another process of this machine
  /// has already said why the run ends; then ends all processes.
  [[noreturn]] void fail(llvm::StringRef text);

private:
  static std::string describe(int64_t process, int64_t ranksPerProcess);
  llvm::Error exchange(llvm::MutableArrayRef<Message> messages);

  std::unique_ptr<Transport> transport;
  /// 0 as long as they are not placed.
  int64_t ranksPerProcess = 0;
};

} // namespace mf::runner

#endif // MF_RUNNER_PROCESSGROUP_H
