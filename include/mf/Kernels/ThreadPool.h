//===- ThreadPool.h - The threads of one compute stream -------*- C++ -*-===//
//
// A device's compute stream runs one kernel at a time and cuts it into tiles.
// The pool hands tiles to its threads as they become free. Which thread runs
// which tile is left open, so a kernel whose results must not depend on the
// number of threads fixes its tiles from the shapes alone.
//
//===----------------------------------------------------------------------===//

#ifndef MF_KERNELS_THREADPOOL_H
#define MF_KERNELS_THREADPOOL_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include <cstdint>
#include <memory>

namespace mf {

/// A fixed set of threads. Several pools may live in one process (one for each
/// rank); their threads then spin less before they sleep.
class ThreadPool {
public:
  /// `threads` counts the thread that calls `parallelFor`: 1 starts none.
  /// Values below 1 are taken as 1.
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool &) = delete;
  ThreadPool &operator=(const ThreadPool &) = delete;

  int getNumThreads() const;

  /// Calls `body(tile)` once for every tile in [0, tiles), on the pool's
  /// threads and the caller's, and returns when all are done. `body` must not
  /// throw. Calls from several threads run one after the other; a call from
  /// inside `body` runs its tiles in order on the calling thread.
  void parallelFor(int64_t tiles, llvm::function_ref<void(int64_t)> body);

private:
  struct State;
  std::unique_ptr<State> state;
};

} // namespace mf

#endif // MF_KERNELS_THREADPOOL_H
