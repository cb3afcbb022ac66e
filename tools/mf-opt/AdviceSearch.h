//===- AdviceSearch.h - Settings with which a step fits --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_TOOLS_MF_OPT_ADVICESEARCH_H
#define MF_TOOLS_MF_OPT_ADVICESEARCH_H

#include "mf/Plan/Settings/MemoryWays.h"
#include <atomic>
#include <future>
#include <thread>

namespace mf::tools {

/// Searches in a separate thread, because a compile cannot be interrupted.
class AdviceSearch {
public:
  /// Starts the search. It ends some time before `seconds` have passed, unless
  /// a compile takes long, and soon after `stop` is set. The request's own kept
  /// settings and time limit are ignored.
  AdviceSearch(planner::PlanRequest request, double seconds,
               const std::atomic<bool> &stop);
  AdviceSearch(const AdviceSearch &) = delete;
  AdviceSearch &operator=(const AdviceSearch &) = delete;
  /// Waits for the end.
  ~AdviceSearch() { thread.join(); }

  /// Waits at most this long. Returns true if there is a result.
  bool wait(int milliseconds) const;

  /// Waits for the result and returns it.
  llvm::Expected<planner::WaySearchResult> take();

private:
  // A future cannot hold an llvm::Expected by value.
  using Result = std::shared_ptr<llvm::Expected<planner::WaySearchResult>>;
  std::future<Result> result;
  std::thread thread;
};

} // namespace mf::tools

#endif // MF_TOOLS_MF_OPT_ADVICESEARCH_H
