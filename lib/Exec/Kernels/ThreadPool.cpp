//===- ThreadPool.cpp - The threads of compute streams --------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Exec/Kernels/ThreadPool.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

namespace mf {

using Clock = std::chrono::steady_clock;

//===----------------------------------------------------------------------===//
// Spinning
//===----------------------------------------------------------------------===//

/// Threads of all teams of this process that compute or spin. With more of them
/// than processors, a spinning thread would only keep a working one waiting.
static std::atomic<int> busyThreads{0};

static thread_local bool insideParallelFor = false;
/// The number of Computing objects of this thread.
static thread_local int computingDepth = 0;

static void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#else
  std::this_thread::yield();
#endif
}

static bool isCrowded() {
  static const int processors =
      static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  return busyThreads.load(std::memory_order_relaxed) > processors;
}

/// Waits a short while for `ready`. Returns whether it became true. The caller
/// is one of the busy threads.
template <typename Predicate> static bool spinUntil(Predicate ready) {
  constexpr std::chrono::microseconds spinTime(30);
  if (ready())
    return true;
  const Clock::time_point end = Clock::now() + spinTime;
  do {
    for (int i = 0; i < 32; ++i) {
      if (ready())
        return true;
      relax();
    }
  } while (!isCrowded() && Clock::now() < end);
  return false;
}

//===----------------------------------------------------------------------===//
// Jobs and teams
//===----------------------------------------------------------------------===//

/// A call of parallelFor.
struct ThreadPool::State {
  /// Held by the single caller that runs tiles.
  std::mutex callers;

  // The work that a helper finds when it joins, under the team's mutex.
  const llvm::function_ref<void(int64_t)> *body = nullptr;
  int64_t tiles = 0;

  std::atomic<int64_t> nextTile{0};
  /// Written under the team's mutex.
  std::atomic<int> helpers{0};
  std::condition_variable helpersLeft;

  /// Runs tiles until there are no more, or until `mayGoOn` returns false
  /// before one.
  template <typename Predicate> void runTiles(Predicate mayGoOn) {
    insideParallelFor = true;
    while (mayGoOn()) {
      const int64_t tile = nextTile.fetch_add(1);
      if (tile >= tiles)
        break;
      (*body)(tile);
    }
    insideParallelFor = false;
  }

  bool hasTiles() const { return nextTile.load() < tiles; }
};

struct ThreadTeam::State {
  using Job = ThreadPool::State;

  int numThreads = 1;
  std::vector<std::thread> helpers;

  std::mutex mutex;
  std::condition_variable helpWanted;
  /// Jobs that a helper may join, in the order in which they were posted.
  std::vector<Job *> jobs;
  bool stopping = false;

  /// The numbers of `jobs` and of helpers that sleep. They are written under
  /// the mutex.
  std::atomic<int> numJobs{0};
  std::atomic<int> sleepers{0};
  /// Callers and helpers that compute.
  std::atomic<int> computing{0};

  /// The time at which a caller last stopped while others computed, in ticks of
  /// the clock.
  std::atomic<Clock::rep> lastStop{0};

  /// Returns whether there is work for an additional helper.
  bool canHelp() const {
    return numJobs.load() > 0 && computing.load() < numThreads;
  }

  /// Returns the time from which a helper may replace a caller that stopped.
  /// Most callers come back immediately, and would find their processor taken.
  Clock::time_point getEndOfGrace() const {
    constexpr std::chrono::microseconds grace(100);
    return Clock::time_point(Clock::duration(lastStop.load())) + grace;
  }

  void startComputing() {
    computing.fetch_add(1);
    busyThreads.fetch_add(1);
  }

  void stopComputing() {
    busyThreads.fetch_sub(1);
    if (computing.fetch_sub(1) > 1)
      lastStop.store(Clock::now().time_since_epoch().count());
    // A helper counts itself before its last look at `computing`. Therefore
    // either it sees the thread that is free now, or it is seen here.
    if (sleepers.load() == 0 || !canHelp())
      return;
    std::lock_guard<std::mutex> lock(mutex);
    helpWanted.notify_one();
  }

  /// Removes a job, so that no one joins it any more. The caller holds the
  /// mutex.
  void close(Job &job) {
    auto found = llvm::find(jobs, &job);
    if (found == jobs.end())
      return;
    jobs.erase(found);
    numJobs.fetch_sub(1);
  }

  void post(Job &job) {
    std::lock_guard<std::mutex> lock(mutex);
    jobs.push_back(&job);
    numJobs.fetch_add(1);
    const int64_t wanted =
        std::min<int64_t>(job.tiles - 1, numThreads - computing.load());
    if (sleepers.load() == 0 || wanted < 1)
      return;
    if (wanted == 1)
      helpWanted.notify_one();
    else
      helpWanted.notify_all();
  }

  /// Waits for the helpers that have joined, but not for those that were
  /// asleep.
  void finish(Job &job) {
    {
      std::lock_guard<std::mutex> lock(mutex);
      close(job);
    }
    auto left = [&] { return job.helpers.load() == 0; };
    if (spinUntil(left)) {
      // The last one may still be on its way out of the mutex.
      std::lock_guard<std::mutex> lock(mutex);
      return;
    }
    std::unique_lock<std::mutex> lock(mutex);
    job.helpersLeft.wait(lock, left);
  }

  /// Joins and returns the oldest job that has tiles. Returns null if there is
  /// none or no thread is available. The caller holds the mutex.
  Job *join() {
    while (!jobs.empty() && !jobs.front()->hasTiles())
      close(*jobs.front());
    if (jobs.empty() || computing.load() >= numThreads)
      return nullptr;
    Job *job = jobs.front();
    job->helpers.fetch_add(1);
    startComputing();
    return job;
  }

  void leave(Job &job) {
    busyThreads.fetch_sub(1);
    computing.fetch_sub(1);
    std::lock_guard<std::mutex> lock(mutex);
    if (!job.hasTiles())
      close(job);
    if (job.helpers.fetch_sub(1) == 1)
      job.helpersLeft.notify_one();
  }

  /// Waits until there may be a job. Returns false if the team ends.
  bool waitForJob() {
    busyThreads.fetch_add(1);
    if (!isCrowded())
      spinUntil([&] { return canHelp(); });
    busyThreads.fetch_sub(1);
    std::unique_lock<std::mutex> lock(mutex);
    sleepers.fetch_add(1);
    helpWanted.wait(lock, [&] { return canHelp() || stopping; });
    while (!stopping && Clock::now() < getEndOfGrace())
      helpWanted.wait_until(lock, getEndOfGrace());
    sleepers.fetch_sub(1);
    return !stopping;
  }

  void help() {
    while (waitForJob()) {
      Job *job;
      {
        std::lock_guard<std::mutex> lock(mutex);
        job = join();
      }
      if (!job)
        continue;
      job->runTiles([&] { return computing.load() <= numThreads; });
      leave(*job);
    }
  }
};

ThreadTeam::ThreadTeam(int threads) : state(std::make_unique<State>()) {
  constexpr int mostThreads = 1024;
  state->numThreads = std::clamp(threads, 1, mostThreads);
  for (int i = 1; i < state->numThreads; ++i)
    state->helpers.emplace_back([s = state.get()] { s->help(); });
}

ThreadTeam::~ThreadTeam() {
  {
    std::lock_guard<std::mutex> lock(state->mutex);
    state->stopping = true;
  }
  state->helpWanted.notify_all();
  for (std::thread &helper : state->helpers)
    helper.join();
}

int ThreadTeam::getNumThreads() const { return state->numThreads; }

//===----------------------------------------------------------------------===//
// Pools
//===----------------------------------------------------------------------===//

ThreadPool::ThreadPool(int threads)
    : ThreadPool(std::make_shared<ThreadTeam>(threads)) {}

ThreadPool::ThreadPool(std::shared_ptr<ThreadTeam> team)
    : team(std::move(team)), state(std::make_unique<State>()) {}

ThreadPool::~ThreadPool() = default;

int ThreadPool::getNumThreads() const { return team->getNumThreads(); }

ThreadPool::Computing::Computing(ThreadPool &pool) : pool(pool) {
  if (computingDepth++ == 0)
    pool.team->state->startComputing();
}

ThreadPool::Computing::~Computing() {
  if (--computingDepth == 0)
    pool.team->state->stopComputing();
}

void ThreadPool::parallelFor(int64_t tiles,
                             llvm::function_ref<void(int64_t)> body) {
  if (insideParallelFor || tiles <= 1 || getNumThreads() == 1) {
    for (int64_t tile = 0; tile < tiles; ++tile)
      body(tile);
    return;
  }
  std::lock_guard<std::mutex> oneJobAtATime(state->callers);
  const Computing computing(*this);
  state->body = &body;
  state->tiles = tiles;
  state->nextTile.store(0);
  team->state->post(*state);
  state->runTiles([] { return true; });
  team->state->finish(*state);
}

} // namespace mf
