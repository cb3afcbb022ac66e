//===- ThreadPoolTest.cpp - Every tile once, from any number of threads ---===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Exec/Kernels/ThreadPool.h"
#include "gtest/gtest.h"
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

using namespace mf;

namespace {

TEST(ThreadPoolTest, CountsTheCaller) {
  EXPECT_EQ(ThreadPool(1).getNumThreads(), 1);
  EXPECT_EQ(ThreadPool(3).getNumThreads(), 3);
  EXPECT_EQ(ThreadPool(0).getNumThreads(), 1);
  EXPECT_EQ(ThreadPool(-5).getNumThreads(), 1);
}

TEST(ThreadPoolTest, RunsEveryTileOnce) {
  for (int threads : {1, 2, 4}) {
    ThreadPool pool(threads);
    for (int64_t tiles : {0, 1, 2, 3, 7, 1000}) {
      std::vector<std::atomic<int>> runs(tiles);
      pool.parallelFor(tiles, [&](int64_t tile) { ++runs[tile]; });
      for (std::atomic<int> &count : runs)
        EXPECT_EQ(count, 1);
    }
  }
}

TEST(ThreadPoolTest, WorksAfterItsThreadsHaveGoneToSleep) {
  ThreadPool pool(3);
  std::atomic<int64_t> sum{0};
  for (int i = 0; i < 20; ++i) {
    pool.parallelFor(10, [&](int64_t tile) { sum += tile; });
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_EQ(sum, 20 * 45);
}

TEST(ThreadPoolTest, UsesItsThreads) {
  ThreadPool pool(2);
  std::atomic<int> arrived{0};
  // Each tile waits for the other: only two threads can finish this.
  pool.parallelFor(2, [&](int64_t) {
    ++arrived;
    while (arrived < 2)
      std::this_thread::yield();
  });
  EXPECT_EQ(arrived, 2);
}

TEST(ThreadPoolTest, NestedCallsRunInOrderOnTheSameThread) {
  ThreadPool pool(2);
  std::atomic<int> wrong{0};
  pool.parallelFor(8, [&](int64_t) {
    std::thread::id self = std::this_thread::get_id();
    int64_t next = 0;
    pool.parallelFor(5, [&](int64_t tile) {
      if (std::this_thread::get_id() != self || tile != next++)
        ++wrong;
    });
    if (next != 5)
      ++wrong;
  });
  EXPECT_EQ(wrong, 0);
}

TEST(ThreadPoolTest, ManyShortJobsFromSeveralPoolsAndCallers) {
  constexpr int callers = 3, jobs = 2000;
  ThreadPool shared(2);
  std::atomic<int64_t> total{0};
  std::vector<std::thread> threads;
  for (int caller = 0; caller < callers; ++caller)
    threads.emplace_back([&] {
      ThreadPool own(2);
      for (int i = 0; i < jobs; ++i) {
        own.parallelFor(4, [&](int64_t) { ++total; });
        if (i % 10 == 0)
          shared.parallelFor(4, [&](int64_t) { ++total; });
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(total, int64_t{callers} * (jobs + jobs / 10) * 4);
}

/// Calls with two tiles that wait for each other: two threads must run them.
void meet(ThreadPool &pool) {
  std::atomic<int> arrived{0};
  pool.parallelFor(2, [&](int64_t) {
    ++arrived;
    while (arrived < 2)
      std::this_thread::yield();
  });
}

TEST(ThreadTeamTest, HelpsEachOfItsPools) {
  auto team = std::make_shared<ThreadTeam>(2);
  ThreadPool first(team), second(team);
  for (int i = 0; i < 50; ++i) {
    meet(first);
    meet(second);
  }
}

TEST(ThreadTeamTest, HelpsOneThatComputesOnceTheOtherWaits) {
  auto team = std::make_shared<ThreadTeam>(2);
  ThreadPool first(team), second(team);
  std::atomic<bool> started{false};
  std::thread other([&] {
    const ThreadPool::Computing computing(first);
    started = true;
    // From here on the team has no thread to give until `computing` ends.
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  });
  while (!started)
    std::this_thread::yield();
  meet(second);
  other.join();
}

TEST(ThreadTeamTest, ComputesOnNoMoreThreadsThanItHas) {
  auto team = std::make_shared<ThreadTeam>(2);
  ThreadPool first(team), second(team);
  const ThreadPool::Computing computing(first);
  std::thread([&] {
    const std::thread::id self = std::this_thread::get_id();
    second.parallelFor(
        1000, [&](int64_t) { EXPECT_EQ(std::this_thread::get_id(), self); });
  }).join();
}

TEST(ThreadTeamTest, RunsEveryTileOnceForAnyNumberOfPools) {
  for (int threads : {1, 2, 3, 5}) {
    auto team = std::make_shared<ThreadTeam>(threads);
    std::vector<std::thread> callers;
    std::atomic<int64_t> total{0};
    constexpr int pools = 4, jobs = 500, tiles = 6;
    for (int caller = 0; caller < pools; ++caller)
      callers.emplace_back([&, caller] {
        ThreadPool pool(team);
        for (int i = 0; i < jobs; ++i) {
          const ThreadPool::Computing computing(pool);
          pool.parallelFor(tiles, [&](int64_t) { ++total; });
          pool.parallelFor(tiles, [&](int64_t) { ++total; });
          if ((i + caller) % 50 == 0)
            std::this_thread::sleep_for(std::chrono::microseconds(100));
        }
      });
    for (std::thread &caller : callers)
      caller.join();
    EXPECT_EQ(total, int64_t{pools} * jobs * tiles * 2);
  }
}

} // namespace
