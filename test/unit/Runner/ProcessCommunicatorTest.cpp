//===- ProcessCommunicatorTest.cpp - Ranks in several processes -----------===//
// SPDX-License-Identifier: Apache-2.0

#include "CommunicatorTesting.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <random>

using namespace mf;
using namespace mf::program;
using namespace mf::runner;

namespace {

Channel makeTransfer(const std::string &axis, int64_t shift) {
  Channel channel;
  channel.name = "x";
  channel.isTransfer = true;
  channel.axis = axis;
  channel.toStage = 1;
  channel.shift = shift;
  return channel;
}

constexpr CollectiveKind kinds[] = {
    CollectiveKind::AllReduce, CollectiveKind::AllGather,
    CollectiveKind::ReduceScatter, CollectiveKind::AllToAll,
    CollectiveKind::Broadcast};

bool mayBeInPlace(CollectiveKind kind) {
  return kind == CollectiveKind::AllReduce || kind == CollectiveKind::Broadcast;
}

/// fp32 values whose sum depends on the order.
Bytes makeInput(int64_t elements, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<float> values(-1, 1);
  Bytes bytes(elements * sizeof(float));
  for (int64_t i = 0; i < elements; ++i) {
    const float value = values(random) * std::exp(20 * values(random));
    std::memcpy(&bytes[i * sizeof(float)], &value, sizeof(value));
  }
  return bytes;
}

/// Runs several collectives of a kind in a row on all ranks; the outputs.
std::vector<Bytes> runAll(const std::function<Communicator &(int64_t)> &of,
                          const Mesh &mesh, const Channel &channel,
                          CollectiveKind kind, bool inPlace, uint64_t seed) {
  constexpr int repetitions = 3;
  const int64_t members = mesh.getNumMembers(channel.group);
  // All but all_reduce and broadcast cut into equal parts.
  const int64_t elements = mayBeInPlace(kind) ? 1337 : members * 211;
  int64_t bytes = elements * 4;
  if (kind == CollectiveKind::AllGather)
    bytes *= members;
  if (kind == CollectiveKind::ReduceScatter)
    bytes /= members;
  std::vector<Bytes> outputs(mesh.getNumRanks());
  runThreads(mesh.getNumRanks(), [&](int64_t rank) {
    for (int i = 0; i < repetitions; ++i) {
      Bytes input = makeInput(elements, seed * 1000 + rank * 10 + i);
      Bytes output(bytes);
      EXPECT_EQ(run(of(rank), rank, makeExchange(kind), input,
                    inPlace ? input : output),
                "");
      const Bytes &result = inPlace ? input : output;
      outputs[rank].insert(outputs[rank].end(), result.begin(), result.end());
    }
  });
  return outputs;
}

TEST(ProcessCommunicatorTest, GivesTheBitsOfOneProcess) {
  // Groups within a process, over several, with one and with more members in
  // each, and with members that are not neighbours.
  const Mesh mesh({{"pp", 2}, {"dp", 2}, {"mp", 3}});
  uint64_t seed = 0;
  for (const std::vector<std::string> &axes : {std::vector<std::string>{"mp"},
                                               {"dp"},
                                               {"pp"},
                                               {"dp", "mp"},
                                               {"pp", "mp"},
                                               {"pp", "dp", "mp"}})
    for (int64_t numProcesses : {1, 2, 3, 4, 6, 12})
      for (CollectiveKind kind : kinds)
        for (bool inPlace : {false, true}) {
          if (inPlace && !mayBeInPlace(kind))
            continue;
          const Channel channel = makeGroup(axes);
          PretendedProcesses processes(mesh, {channel}, numProcesses);
          auto local = makeLocalCommunicator(mesh, {channel});
          ++seed;
          EXPECT_EQ(runAll([&](int64_t rank)
                               -> Communicator & { return processes.of(rank); },
                           mesh, channel, kind, inPlace, seed),
                    runAll([&](int64_t) -> Communicator & { return *local; },
                           mesh, channel, kind, inPlace, seed))
              << getName(kind).str() << " over " << axes.front() << " in "
              << numProcesses << " processes";
        }
}

TEST(ProcessCommunicatorTest, SendsNoMoreThanMembersNeed) {
  const Mesh mesh({{"pp", 1}, {"mp", 4}});
  const Channel channel = makeGroup({"mp"});
  auto count = [&](CollectiveKind kind, int64_t numProcesses) {
    PretendedProcesses processes(mesh, {channel}, numProcesses);
    runThreads(4, [&](int64_t rank) {
      Bytes input(1600);
      Bytes output(kind == CollectiveKind::AllGather ? 6400 : 1600);
      EXPECT_EQ(
          run(processes.of(rank), rank, makeExchange(kind), input, output), "");
    });
    return processes.hub.sentBytes.load();
  };
  // One rank in each: 4 * 3/4 of the input each way, as a ring sends.
  EXPECT_EQ(count(CollectiveKind::AllReduce, 4), 2 * 4 * 1200);
  EXPECT_EQ(count(CollectiveKind::ReduceScatter, 4), 4 * 1200);
  EXPECT_EQ(count(CollectiveKind::AllToAll, 4), 4 * 1200);
  EXPECT_EQ(count(CollectiveKind::AllGather, 4), 4 * 4800);
  EXPECT_EQ(count(CollectiveKind::Broadcast, 4), 3 * 1600);
  // Two in each: what both want comes once.
  EXPECT_EQ(count(CollectiveKind::AllReduce, 2), 4 * 800 + 4 * 400);
  EXPECT_EQ(count(CollectiveKind::ReduceScatter, 2), 4 * 800);
  EXPECT_EQ(count(CollectiveKind::AllGather, 2), 4 * 1600);
  EXPECT_EQ(count(CollectiveKind::Broadcast, 2), 1600);
  EXPECT_EQ(count(CollectiveKind::AllReduce, 1), 0);
}

/// Each rank has a thread that sends and one that receives on the ring of its
/// stage, and one between the stages.
void expectOrder(const std::function<Communicator &(int64_t)> &of) {
  constexpr int64_t count = 200;
  runThreads(18, [&](int64_t number) {
    const int64_t rank = number % 6, role = number / 6;
    Communicator &own = of(rank);
    for (int64_t i = 0; i < count; ++i) {
      const bool isSend = role == 0 || (role == 2 && rank < 3);
      const uint32_t channel = role == 2 ? 0 : 1;
      int64_t value = isSend ? rank * count + i : -1;
      auto *data = reinterpret_cast<std::byte *>(&value);
      ASSERT_EQ(llvm::toString(isSend ? own.send(channel, rank, data, 8)
                                      : own.receive(channel, rank, data, 8)),
                "");
      const int64_t sender =
          isSend ? rank
                 : (role == 2 ? rank - 3 : rank / 3 * 3 + (rank + 2) % 3);
      EXPECT_EQ(value, sender * count + i);
    }
  });
}

TEST(ProcessCommunicatorTest, KeepsTheOrderOfTransfers) {
  const Mesh mesh({{"pp", 2}, {"cp", 3}});
  const std::vector<Channel> channels = {makeTransfer("pp", 0),
                                         makeTransfer("cp", 1)};
  for (int64_t numProcesses : {1, 2, 3, 6}) {
    PretendedProcesses processes(mesh, channels, numProcesses);
    expectOrder(
        [&](int64_t rank) -> Communicator & { return processes.of(rank); });
  }
  auto local = makeLocalCommunicator(mesh, channels);
  expectOrder([&](int64_t) -> Communicator & { return *local; });
}

TEST(ProcessCommunicatorTest, RefusesInputsOfDifferentSizes) {
  PretendedProcesses processes(Mesh({{"pp", 1}, {"mp", 2}}),
                               {makeGroup({"mp"})}, 2);
  std::vector<std::string> messages(2);
  runThreads(2, [&](int64_t rank) {
    Bytes data(rank == 0 ? 8 : 16);
    messages[rank] = run(processes.of(rank), rank,
                         makeExchange(CollectiveKind::AllReduce), data, data);
  });
  EXPECT_EQ(messages[0], "channel 'r': expected 4 bytes, but rank 1 sent 8");
  EXPECT_EQ(messages[1], "channel 'r': expected 8 bytes, but rank 0 sent 4");
}

TEST(ProcessCommunicatorTest, ReleasesEveryoneOnAbort) {
  PretendedProcesses processes(Mesh({{"pp", 1}, {"mp", 4}}),
                               {makeGroup({"mp"})}, 2);
  std::vector<std::string> messages(3);
  std::thread aborting([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    // Rank 3 does not come.
    processes.of(0).abort();
    processes.of(3).abort();
  });
  runThreads(3, [&](int64_t rank) {
    Bytes data(8);
    messages[rank] = run(processes.of(rank), rank,
                         makeExchange(CollectiveKind::AllReduce), data, data);
  });
  aborting.join();
  EXPECT_THAT(messages, ::testing::Each(::testing::HasSubstr(
                            "is closed because a rank failed")));
}

TEST(ProcessCommunicatorTest, CountsItsTags) {
  MessageHub hub;
  MemoryTransport transport(hub, 0, 2);
  const std::vector<Channel> channels(2000, makeGroup({"mp"}));
  auto made = makeProcessCommunicator(Mesh({{"pp", 1}, {"mp", 64}}), channels,
                                      transport, 32, 1);
  EXPECT_EQ(
      llvm::toString(made.takeError()),
      "expected at most 1048576 pairs of ranks and channels for this MPI, "
      "but got 2048000: run fewer ranks in each process");
}

} // namespace
