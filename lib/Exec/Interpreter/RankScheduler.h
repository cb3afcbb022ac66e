//===- RankScheduler.h - Ranks that run one at a time -----------*- C++ -*-===//
//
// Every rank is straight-line code on a thread of its own, but only the rank
// whose turn it is runs: it goes on until it must wait for another rank. No two
// ranks ever compute at once, so nothing depends on the machine's timing.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_INTERPRETER_RANKSCHEDULER_H
#define MF_LIB_INTERPRETER_RANKSCHEDULER_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <condition_variable>
#include <mutex>
#include <string>
#include <vector>

namespace mf::interpreter {

class RankScheduler {
public:
  /// Calls `body(rank)` for ranks [0, ranks) in turns, beginning with rank 0.
  /// Fails if one fails; the others end where they next wait. If all that are
  /// not done wait, none can go on: that is reported with what each waits for.
  mlir::LogicalResult run(size_t ranks,
                          llvm::function_ref<mlir::LogicalResult(size_t)> body);

  /// Called by the rank whose turn it is: gives other ranks a turn until
  /// `isReady`. `op` and `what` ("a message ...") say what it waits for. Fails
  /// if the run is over before.
  mlir::LogicalResult waitUntil(mlir::Operation *op, std::string what,
                                llvm::function_ref<bool()> isReady);

private:
  struct Rank {
    bool isDone = false;
    /// Set while it waits.
    llvm::function_ref<bool()> isReady;
    mlir::Operation *op = nullptr;
    std::string what;
  };

  bool canRun(const Rank &rank) const {
    return !rank.isDone && (!rank.isReady || rank.isReady());
  }
  /// Gives the turn to the next rank that can run; ends the run if there is
  /// none.
  void passTurn();
  void reportDeadlock() const;

  std::mutex mutex;
  std::condition_variable changed;
  std::vector<Rank> ranks;
  size_t current = 0;
  bool hasFailed = false;
};

} // namespace mf::interpreter

#endif // MF_LIB_INTERPRETER_RANKSCHEDULER_H
