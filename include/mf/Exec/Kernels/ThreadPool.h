//===- ThreadPool.h - The threads of compute streams ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A device's compute stream runs one kernel at a time and cuts it into tiles.
// The pool assigns tiles to its threads as they become free. Any thread may run
// any tile, so a kernel whose results must not depend on the number of threads
// derives its tiles from shapes alone.
//
// The ranks of a process share one team: the threads of a rank that waits run
// tiles of ranks that compute.
//
//===----------------------------------------------------------------------===//

#ifndef MF_EXEC_KERNELS_THREADPOOL_H
#define MF_EXEC_KERNELS_THREADPOOL_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include <cstdint>
#include <memory>

namespace mf {

/// Threads that several pools share. The threads that call parallelFor and the
/// team's own threads together never exceed the size of the team: when a caller
/// returns to work, one of the team's threads stops after its tile. Only if
/// there are more callers than the team's size do more threads run.
class ThreadTeam {
public:
  /// `threads` includes the calling thread, so 1 starts none. Values below 1
  /// count as 1.
  explicit ThreadTeam(int threads);
  ~ThreadTeam();
  ThreadTeam(const ThreadTeam &) = delete;
  ThreadTeam &operator=(const ThreadTeam &) = delete;

  int getNumThreads() const;

private:
  friend class ThreadPool;
  struct State;
  std::unique_ptr<State> state;
};

/// The pool to which one compute stream submits its tiles.
class ThreadPool {
public:
  /// Makes a pool with its own team.
  explicit ThreadPool(int threads);
  explicit ThreadPool(std::shared_ptr<ThreadTeam> team);
  ~ThreadPool();
  ThreadPool(const ThreadPool &) = delete;
  ThreadPool &operator=(const ThreadPool &) = delete;

  /// Returns the number of threads of the team.
  int getNumThreads() const;

  /// Calls `body(tile)` once for every tile in [0, tiles), on the threads of
  /// the team and the calling thread, and returns when all calls are done.
  /// `body` must not throw. Calls from several threads run one after another. A
  /// call from inside `body` runs its tiles in order on the calling thread.
  void parallelFor(int64_t tiles, llvm::function_ref<void(int64_t)> body);

  /// While an object exists, the thread that made it counts as computing, in
  /// parallelFor and between calls, so that the team lends one thread less to
  /// others.
  class Computing {
  public:
    explicit Computing(ThreadPool &pool);
    ~Computing();
    Computing(const Computing &) = delete;
    Computing &operator=(const Computing &) = delete;

  private:
    ThreadPool &pool;
  };

private:
  friend class ThreadTeam;
  struct State;
  std::shared_ptr<ThreadTeam> team;
  std::unique_ptr<State> state;
};

} // namespace mf

#endif // MF_EXEC_KERNELS_THREADPOOL_H
