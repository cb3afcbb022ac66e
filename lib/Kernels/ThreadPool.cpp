//===- ThreadPool.cpp - The threads of one compute stream -----------------===//

#include "mf/Kernels/ThreadPool.h"
#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

namespace mf {
namespace {

using Clock = std::chrono::steady_clock;

/// Threads of all pools of this process, callers included. With more of them
/// than processors, a spinning thread would only keep a working one waiting.
std::atomic<int> threadsOfAllPools{0};

thread_local bool insideParallelFor = false;

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#else
  std::this_thread::yield();
#endif
}

std::chrono::microseconds getSpinTime() {
  static const int processors =
      std::max(1u, std::thread::hardware_concurrency());
  bool crowded = threadsOfAllPools.load(std::memory_order_relaxed) > processors;
  return std::chrono::microseconds(crowded ? 0 : 30);
}

/// Waits a short while for `ready`; says whether it became true.
template <typename Predicate> bool spinUntil(Predicate ready) {
  if (ready())
    return true;
  Clock::time_point end = Clock::now() + getSpinTime();
  do {
    for (int i = 0; i < 32; ++i) {
      if (ready())
        return true;
      relax();
    }
  } while (Clock::now() < end);
  return false;
}

} // namespace

/// A call of parallelFor is a job. `ticket` packs its number, how many workers
/// are on it and whether more may join, so that a worker joins with one
/// compare-and-swap and the caller never waits for a worker that slept through
/// the whole job.
struct ThreadPool::State {
  static constexpr uint64_t open = 1;
  static constexpr uint64_t oneWorker = 2;
  static constexpr uint64_t workerMask = 0xfffe;
  static constexpr int jobShift = 16;

  std::vector<std::thread> workers;
  std::mutex callers;

  const llvm::function_ref<void(int64_t)> *body = nullptr;
  int64_t tiles = 0;
  std::atomic<int64_t> nextTile{0};
  std::atomic<uint64_t> ticket{0};
  std::atomic<bool> stopping{false};

  std::mutex mutex;
  std::condition_variable jobPosted;
  std::condition_variable workersLeft;
  std::atomic<int> sleepers{0};
  std::atomic<bool> callerSleeps{false};

  void runTiles() {
    insideParallelFor = true;
    for (int64_t tile; (tile = nextTile.fetch_add(1)) < tiles;)
      (*body)(tile);
    insideParallelFor = false;
  }

  bool hasNews(uint64_t lastJob) const {
    uint64_t now = ticket.load();
    return stopping.load() || ((now & open) && (now >> jobShift) != lastJob);
  }

  bool join(uint64_t &lastJob) {
    uint64_t seen = ticket.load();
    while ((seen & open) && (seen >> jobShift) != lastJob)
      if (ticket.compare_exchange_weak(seen, seen + oneWorker)) {
        lastJob = seen >> jobShift;
        return true;
      }
    return false;
  }

  void leave() {
    uint64_t before = ticket.fetch_sub(oneWorker);
    if ((before & workerMask) == oneWorker && callerSleeps.load()) {
      std::lock_guard<std::mutex> lock(mutex);
      workersLeft.notify_one();
    }
  }

  void work() {
    uint64_t lastJob = 0;
    while (!stopping.load()) {
      if (!spinUntil([&] { return hasNews(lastJob); })) {
        std::unique_lock<std::mutex> lock(mutex);
        sleepers.fetch_add(1);
        jobPosted.wait(lock, [&] { return hasNews(lastJob); });
        sleepers.fetch_sub(1);
      }
      if (!join(lastJob))
        continue;
      runTiles();
      leave();
    }
  }

  void post(int64_t count, const llvm::function_ref<void(int64_t)> &function) {
    body = &function;
    tiles = count;
    nextTile.store(0);
    uint64_t job = (ticket.load() >> jobShift) + 1;
    ticket.store((job << jobShift) | open);
    if (sleepers.load() == 0)
      return;
    std::lock_guard<std::mutex> lock(mutex);
    if (count == 2)
      jobPosted.notify_one();
    else
      jobPosted.notify_all();
  }

  void waitForWorkers() {
    ticket.fetch_and(~open);
    auto left = [&] { return (ticket.load() & workerMask) == 0; };
    if (spinUntil(left))
      return;
    std::unique_lock<std::mutex> lock(mutex);
    callerSleeps.store(true);
    workersLeft.wait(lock, left);
    callerSleeps.store(false);
  }
};

ThreadPool::ThreadPool(int threads) : state(std::make_unique<State>()) {
  threads = std::min(std::max(threads, 1), 1024);
  threadsOfAllPools.fetch_add(threads);
  for (int i = 1; i < threads; ++i)
    state->workers.emplace_back([s = state.get()] { s->work(); });
}

ThreadPool::~ThreadPool() {
  {
    std::lock_guard<std::mutex> lock(state->mutex);
    state->stopping.store(true);
  }
  state->jobPosted.notify_all();
  for (std::thread &worker : state->workers)
    worker.join();
  threadsOfAllPools.fetch_sub(getNumThreads());
}

int ThreadPool::getNumThreads() const {
  return static_cast<int>(state->workers.size()) + 1;
}

void ThreadPool::parallelFor(int64_t tiles,
                             llvm::function_ref<void(int64_t)> body) {
  if (insideParallelFor || tiles <= 1 || state->workers.empty()) {
    for (int64_t tile = 0; tile < tiles; ++tile)
      body(tile);
    return;
  }
  std::lock_guard<std::mutex> oneJobAtATime(state->callers);
  state->post(tiles, body);
  state->runTiles();
  state->waitForWorkers();
}

} // namespace mf
