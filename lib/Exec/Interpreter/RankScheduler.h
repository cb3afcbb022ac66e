//===- RankScheduler.h - Ranks that run one at a time -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Every rank is straight-line code on its own thread, but only the rank whose
// turn it is runs, until it must wait for another rank. No two ranks ever
// compute at the same time, so nothing depends on the timing of the machine.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_EXEC_INTERPRETER_RANKSCHEDULER_H
#define MF_LIB_EXEC_INTERPRETER_RANKSCHEDULER_H

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
  /// Fails if one of them fails; the others end at their next wait. If all
  /// remaining ranks wait, this is a deadlock, which is reported with what each
  /// rank waits for.
  mlir::LogicalResult run(size_t ranks,
                          llvm::function_ref<mlir::LogicalResult(size_t)> body);

  /// Called by the rank whose turn it is. Gives other ranks a turn until
  /// `isReady` returns true. `op` and `what` ("a message ...") describe what it
  /// waits for. Fails if the run ends before.
  mlir::LogicalResult waitUntil(mlir::Operation *op, std::string what,
                                llvm::function_ref<bool()> isReady);

private:
  struct Rank {
    bool isDone = false;
    /// A function that tells whether the rank can continue; set while it waits.
    llvm::function_ref<bool()> isReady;
    mlir::Operation *op = nullptr;
    std::string what;
  };

  bool canRun(const Rank &rank) const {
    return !rank.isDone && (!rank.isReady || rank.isReady());
  }
  /// Gives the turn to the next rank that can run. Ends the run if there is
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

#endif // MF_LIB_EXEC_INTERPRETER_RANKSCHEDULER_H
