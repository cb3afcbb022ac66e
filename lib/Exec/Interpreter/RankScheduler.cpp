//===- RankScheduler.cpp - Ranks that run one at a time -------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "RankScheduler.h"
#include "mlir/IR/Diagnostics.h"
#include <thread>

using namespace mlir;

namespace mf::interpreter {

void RankScheduler::reportDeadlock() const {
  std::optional<InFlightDiagnostic> error;
  for (const auto &[number, rank] : llvm::enumerate(ranks)) {
    if (rank.isDone)
      continue;
    if (!error)
      error.emplace(rank.op->emitError("no rank can go on: rank ")
                    << number << " waits for " << rank.what);
    else
      error->attachNote(rank.op->getLoc())
          << "rank " << number << " waits for " << rank.what;
  }
}

void RankScheduler::passTurn() {
  for (size_t i = 1; i <= ranks.size(); ++i) {
    const size_t next = (current + i) % ranks.size();
    if (!canRun(ranks[next]))
      continue;
    current = next;
    changed.notify_all();
    return;
  }
  const bool isOver =
      llvm::all_of(ranks, [](const Rank &rank) { return rank.isDone; });
  if (!isOver && !hasFailed) {
    reportDeadlock();
    hasFailed = true;
  }
  changed.notify_all();
}

LogicalResult RankScheduler::waitUntil(Operation *op, std::string what,
                                       llvm::function_ref<bool()> isReady) {
  if (isReady())
    return success();
  std::unique_lock<std::mutex> lock(mutex);
  const size_t self = current;
  Rank &rank = ranks[self];
  rank.isReady = isReady;
  rank.op = op;
  rank.what = std::move(what);
  passTurn();
  changed.wait(lock, [&] { return current == self || hasFailed; });
  rank.isReady = nullptr;
  return failure(hasFailed);
}

LogicalResult
RankScheduler::run(size_t numRanks,
                   llvm::function_ref<LogicalResult(size_t)> body) {
  ranks.assign(numRanks, {});
  current = 0;
  hasFailed = false;
  auto runRank = [&](size_t self) {
    {
      std::unique_lock<std::mutex> lock(mutex);
      changed.wait(lock, [&] { return current == self || hasFailed; });
      if (hasFailed)
        return;
    }
    const LogicalResult result = body(self);
    std::lock_guard<std::mutex> lock(mutex);
    ranks[self].isDone = true;
    hasFailed |= failed(result);
    if (hasFailed)
      changed.notify_all();
    else
      passTurn();
  };
  std::vector<std::thread> threads;
  threads.reserve(numRanks);
  for (size_t rank = 0; rank < numRanks; ++rank)
    threads.emplace_back(runRank, rank);
  for (std::thread &thread : threads)
    thread.join();
  return failure(hasFailed);
}

} // namespace mf::interpreter
