//===- CommunicatorTest.cpp - Ranks that are threads of one process -------===//
// SPDX-License-Identifier: Apache-2.0

#include "CommunicatorTesting.h"
#include <atomic>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace mf;
using namespace mf::program;
using namespace mf::runner;

namespace {

Channel makeTransfer(int64_t from, int64_t to) {
  Channel channel;
  channel.name = "x";
  channel.isTransfer = true;
  channel.axis = "pp";
  channel.fromStage = from;
  channel.toStage = to;
  return channel;
}

//===----------------------------------------------------------------------===//
// Transfers
//===----------------------------------------------------------------------===//

TEST(CommunicatorTest, TimesWhatItMovesWithoutTheWaiting) {
  auto communicator =
      makeLocalCommunicator(Mesh({{"pp", 2}}), {makeTransfer(0, 1)});
  int64_t value = 0;
  auto *data = reinterpret_cast<std::byte *>(&value);
  WorkTimes sent, received;
  std::chrono::steady_clock::time_point came;
  std::thread sender([&] {
    EXPECT_EQ(llvm::toString(communicator->send(0, 0, data, 8, &sent)), "");
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  came = std::chrono::steady_clock::now();
  EXPECT_EQ(llvm::toString(communicator->receive(0, 1, data, 8, &received)),
            "");
  sender.join();
  EXPECT_GE(sent.start, came);
  EXPECT_LE(sent.start, sent.end);
  EXPECT_EQ(sent.start, received.start);
  EXPECT_EQ(sent.end, received.end);
}

TEST(CommunicatorTest, TimesCollectivesFromWhenAllHaveCome) {
  auto communicator =
      makeLocalCommunicator(Mesh({{"pp", 1}, {"dp", 3}}), {makeGroup({"dp"})});
  const Exchange exchange = makeExchange(CollectiveKind::AllReduce, DType::F32);
  std::vector<WorkTimes> times(3);
  std::chrono::steady_clock::time_point came;
  runThreads(3, [&](int64_t rank) {
    float value = 1;
    auto *data = reinterpret_cast<std::byte *>(&value);
    if (rank == 1) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      came = std::chrono::steady_clock::now();
    }
    EXPECT_EQ(llvm::toString(communicator->collective(
                  0, rank, exchange, {data, data, 4, 4}, &times[rank])),
              "");
    EXPECT_EQ(value, 3);
  });
  for (const WorkTimes &ofRank : times) {
    EXPECT_GE(ofRank.start, came);
    EXPECT_LE(ofRank.start, ofRank.end);
    EXPECT_EQ(ofRank.start, times[0].start);
    EXPECT_EQ(ofRank.end, times[0].end);
  }
}

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

TEST(CommunicatorTest, KeepsGroupsOfOneChannelApart) {
  // Two groups of two: each sums its own, again and again.
  auto communicator = makeLocalCommunicator(
      Mesh({{"pp", 1}, {"dp", 2}, {"mp", 2}}), {makeGroup({"dp"})});
  const Exchange exchange = makeExchange(CollectiveKind::AllReduce, DType::F32);
  runThreads(4, [&](int64_t rank) {
    for (int i = 0; i < 300; ++i) {
      Bytes value = toBytes<float>({static_cast<float>(rank + i)});
      EXPECT_EQ(run(*communicator, rank, exchange, value, value), "");
      EXPECT_EQ(value, toBytes<float>(
                           {static_cast<float>(2 * (rank % 2) + 2 + 2 * i)}));
    }
  });
}

TEST(CommunicatorTest, RefusesInputsOfDifferentSizes) {
  auto communicator =
      makeLocalCommunicator(Mesh({{"pp", 1}, {"mp", 2}}), {makeGroup({"mp"})});
  std::vector<std::string> messages(2);
  runThreads(2, [&](int64_t rank) {
    Bytes data(rank == 0 ? 8 : 16);
    messages[rank] =
        run(*communicator, rank,
            makeExchange(CollectiveKind::AllReduce, DType::F32), data, data);
  });
  EXPECT_EQ(messages[0], "channel 'r': expected 8 bytes, but rank 1 has 16");
  EXPECT_EQ(messages[1], "channel 'r': expected 16 bytes, but rank 0 has 8");
}

TEST(CommunicatorTest, ReleasesEveryoneOnAbort) {
  auto communicator = makeLocalCommunicator(
      Mesh({{"pp", 2}}),
      {makeTransfer(0, 1), makeTransfer(1, 0), makeGroup({"pp"})});
  std::byte data[4] = {};
  std::atomic<int> failures{0};
  auto expectFailure = [&](llvm::Error error) {
    failures += static_cast<bool>(error);
    EXPECT_THAT(llvm::toString(std::move(error)),
                ::testing::HasSubstr("is closed because a rank failed"));
  };
  Exchange exchange = makeExchange(CollectiveKind::AllReduce, DType::F32);
  std::thread sender([&] { expectFailure(communicator->send(0, 0, data, 4)); });
  std::thread receiver(
      [&] { expectFailure(communicator->receive(1, 0, data, 4)); });
  std::thread reducer([&] {
    expectFailure(communicator->collective(2, 0, exchange, {data, data, 4, 4}));
  });
  communicator->abort();
  sender.join();
  receiver.join();
  reducer.join();
  expectFailure(communicator->receive(1, 0, data, 4));
  EXPECT_EQ(failures, 4);
}

} // namespace
