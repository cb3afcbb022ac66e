//===- ThreadPool.h - The threads of compute streams ----------*- C++ -*-===//
//
// A device's compute stream runs one kernel at a time and cuts it into tiles.
// The pool hands tiles to its threads as they become free. Any thread may run
// any tile, so a kernel whose results must not depend on the number of threads
// fixes its tiles from the shapes alone.
//
// The ranks of a process share one team: threads of a rank that waits take
// tiles of those that compute.
//
//===----------------------------------------------------------------------===//

#ifndef MF_KERNELS_THREADPOOL_H
#define MF_KERNELS_THREADPOOL_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include <cstdint>
#include <memory>

namespace mf {

/// Threads that help the pools which share them. Callers and helpers together
/// never compute with more threads than the team has: where a caller comes back
/// to work, a helper leaves after its tile. Only callers by themselves can
/// exceed the team.
class ThreadTeam {
public:
  /// `threads` counts a thread that calls: 1 starts none. Values below 1 are
  /// taken as 1.
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

/// Where one compute stream gives out its tiles.
class ThreadPool {
public:
  /// Makes a pool with a team of its own.
  explicit ThreadPool(int threads);
  explicit ThreadPool(std::shared_ptr<ThreadTeam> team);
  ~ThreadPool();
  ThreadPool(const ThreadPool &) = delete;
  ThreadPool &operator=(const ThreadPool &) = delete;

  /// The number of threads of the team.
  int getNumThreads() const;

  /// Calls `body(tile)` once for every tile in [0, tiles), on the team's
  /// threads and the caller's, and returns when all are done. `body` must not
  /// throw. Calls from several threads run one after the other; a call from
  /// inside `body` runs its tiles in order on the calling thread.
  void parallelFor(int64_t tiles, llvm::function_ref<void(int64_t)> body);

  /// While there is one, the thread that made it computes, in parallelFor or
  /// between two calls of it: the team has a thread less to give to others.
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

#endif // MF_KERNELS_THREADPOOL_H
