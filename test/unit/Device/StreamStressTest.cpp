//===- StreamStressTest.cpp - Many launches, many events ------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Exec/Device/Device.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include <chrono>
#include <ctime>
#include <random>
#include <thread>
#include <vector>

using namespace mf;

namespace {

std::unique_ptr<Device> make(const Device::Options &options = {}) {
  llvm::Expected<std::unique_ptr<Device>> device = Device::create(options);
  EXPECT_TRUE(static_cast<bool>(device));
  return std::move(*device);
}

std::string textOf(llvm::Error error) {
  return llvm::toString(std::move(error));
}

/// A random program over cells in plain memory: before a stream touches a cell
/// it waits for the event of the stream that touched the cell last.
TEST(StreamStressTest, RandomDependenciesGiveTheSequentialResult) {
  std::unique_ptr<Device> device = make();
  constexpr int streams = 3, cells = 16, steps = 5000;
  std::vector<Stream *> all;
  for (int i = 0; i < streams; ++i)
    all.push_back(&device->createStream("s" + std::to_string(i)));
  std::vector<Event> lastUse(cells);
  std::vector<bool> used(cells);
  std::vector<uint64_t> values(cells, 1), expected(cells, 1);
  std::mt19937 random(7);
  auto mix = [](uint64_t a, uint64_t b) {
    return a * 6364136223846793005u + b;
  };
  for (int step = 0; step < steps; ++step) {
    Stream &stream = *all[random() % streams];
    int from = random() % cells, to = random() % cells;
    for (int cell : {from, to})
      if (used[cell])
        stream.wait(lastUse[cell]);
    stream.launch([&values, from, to, mix] {
      values[to] = mix(values[to], values[from]);
    });
    for (int cell : {from, to}) {
      stream.record(lastUse[cell]);
      used[cell] = true;
    }
    expected[to] = mix(expected[to], expected[from]);
  }
  EXPECT_EQ(textOf(device->synchronize()), "");
  EXPECT_EQ(values, expected);
}

TEST(StreamStressTest, SeveralHostsIssueToTheirOwnDevices) {
  constexpr int ranks = 3, launches = 3000;
  std::vector<std::thread> hosts;
  std::vector<int64_t> counts(ranks);
  for (int rank = 0; rank < ranks; ++rank)
    hosts.emplace_back([rank, &counts] {
      std::unique_ptr<Device> device = make();
      Stream &compute = device->createStream("compute");
      Stream &copy = device->createStream("copy");
      Event done, copied;
      for (int i = 0; i < launches; ++i) {
        if (i > 0)
          compute.wait(copied);
        compute.launch([&counts, rank] { ++counts[rank]; });
        compute.record(done);
        copy.wait(done);
        copy.launch([&counts, rank] { ++counts[rank]; });
        copy.record(copied);
      }
      EXPECT_EQ(textOf(device->synchronize()), "");
    });
  for (std::thread &host : hosts)
    host.join();
  for (int64_t count : counts)
    EXPECT_EQ(count, 2 * launches);
}

TEST(StreamStressTest, AbortAtAnyMomentNeverHangs) {
  for (int trial = 0; trial < 100; ++trial) {
    std::unique_ptr<Device> device = make();
    Stream &a = device->createStream("a");
    Stream &b = device->createStream("b");
    Event ab, ba;
    b.record(ba);
    std::thread aborter([&] {
      std::this_thread::sleep_for(std::chrono::microseconds(trial * 5));
      device->abort("stop");
    });
    for (int i = 0; i < 200; ++i) {
      a.wait(ba);
      a.launch([] {});
      a.record(ab);
      b.wait(ab);
      b.launch([] {});
      b.record(ba);
    }
    aborter.join();
    EXPECT_EQ(textOf(device->synchronize()), "stop");
  }
}

TEST(StreamStressTest, LaunchesAreInOrderAndCheap) {
  std::unique_ptr<Device> device = make();
  Stream &stream = device->createStream("compute");
  constexpr int launches = 100000;
  int64_t count = 0;
  bool areInOrder = true;
  // The time of processors, of which a busy machine needs no more.
  const std::clock_t begin = std::clock();
  for (int i = 0; i < launches; ++i)
    stream.launch([&, i] { areInOrder &= count++ == i; });
  EXPECT_EQ(textOf(stream.synchronize()), "");
  const double elapsed = 1e6 * double(std::clock() - begin) / CLOCKS_PER_SEC;
  EXPECT_EQ(count, launches);
  EXPECT_TRUE(areInOrder);
  EXPECT_EQ(stream.getStatistics().launches, launches);
  RecordProperty("microseconds_per_launch", std::to_string(elapsed / launches));
  // The aim is under 2 us; the bound is loose for slow and sanitized runs.
  EXPECT_LT(elapsed / launches, 50);
}

} // namespace
