//===- TopologyTest.cpp - The time of communication -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Against numbers worked by hand from the Ascend values of
// docs/sources.md: 13.4 GB/s of a HCCS link's 28, 18 GB/s of RoCE's 25.
//
//===----------------------------------------------------------------------===//

#include "mf/Perf/Target/Topology.h"
#include "gtest/gtest.h"
#include <numeric>
#include <random>

using namespace mf;
using namespace mf::target;

namespace {

constexpr double w = 13.4e9, r = 18e9, setUp = 15e-6;

Target makeTarget(int64_t nodes = 0) {
  Target target;
  target.name = "a2";
  target.networks = {
      {"hccs", "npu", 8, Wiring::Mesh, 28e9, w / 28e9, 0.7, setUp, 1e-5, 0.5},
      {"roce", "hccs", nodes, Wiring::Switch, 25e9, r / 25e9, 0.72, setUp, 6e-5,
       0.2}};
  return target;
}

TransferCost getCost(const Target &target, CollectiveKind kind, int64_t bytes,
                     const std::vector<int64_t> &ranks) {
  llvm::Expected<Topology> topology = Topology::create(target, 64);
  if (topology)
    return topology->getCollective(kind, bytes, ranks);
  ADD_FAILURE() << llvm::toString(topology.takeError());
  return {};
}

std::vector<int64_t> getRanks(int64_t first, int64_t count, int64_t step = 1) {
  std::vector<int64_t> ranks;
  for (int64_t i = 0; i < count; ++i)
    ranks.push_back(first + i * step);
  return ranks;
}

/// A tensor of Llama2-70B in sequence parallel training: 4096 * 8192 in bf16.
constexpr int64_t size = 4096 * 8192 * 2;

TEST(TopologyTest, ANodeGathersOverALinkToEachPeer) {
  const Target target = makeTarget();
  const TransferCost gather =
      getCost(target, CollectiveKind::AllGather, size, getRanks(4, 4));
  EXPECT_NEAR(gather.seconds, size / (4 * w), 1e-12);
  EXPECT_NEAR(gather.seconds * 1e3, 1.25203, 1e-4);
  EXPECT_EQ(gather.latency, setUp);
  EXPECT_DOUBLE_EQ(gather.hidden, 0.5);
  EXPECT_EQ(gather.networks, (llvm::SmallVector<uint32_t, 2>{0}));
  // Eight have twice the links: 107 GB/s, as HCCL's test tool counts.
  EXPECT_NEAR(
      size / getCost(target, CollectiveKind::AllGather, size, getRanks(0, 8))
                 .seconds,
      107.2e9, 1e3);
  // In any order.
  EXPECT_EQ(
      getCost(target, CollectiveKind::AllGather, size, {7, 5, 4, 6}).seconds,
      gather.seconds);
  EXPECT_EQ(getCost(target, CollectiveKind::ReduceScatter, size, getRanks(0, 4))
                .seconds,
            gather.seconds);
  for (CollectiveKind twice :
       {CollectiveKind::AllReduce, CollectiveKind::Broadcast})
    EXPECT_NEAR(getCost(target, twice, size, getRanks(0, 4)).seconds,
                2 * gather.seconds, 1e-12);
  for (CollectiveKind exchange :
       {CollectiveKind::AllToAll, CollectiveKind::AllToAllV})
    EXPECT_NEAR(getCost(target, exchange, size, getRanks(0, 4)).seconds,
                size / (4 * w), 1e-12);
}

TEST(TopologyTest, NodesReduceAroundRings) {
  const Target target = makeTarget();
  const std::vector<int64_t> ranks = getRanks(3, 8, 8);
  const TransferCost gather =
      getCost(target, CollectiveKind::AllGather, size, ranks);
  EXPECT_NEAR(gather.seconds, size * 7.0 / 8 / r, 1e-12);
  EXPECT_DOUBLE_EQ(gather.hidden, 0.2);
  EXPECT_EQ(gather.networks, (llvm::SmallVector<uint32_t, 2>{1}));
  const TransferCost reduce =
      getCost(target, CollectiveKind::AllReduce, size, ranks);
  EXPECT_NEAR(reduce.seconds * 1e3, 6.5244, 1e-3);
  EXPECT_NEAR(getCost(target, CollectiveKind::AllToAll, size, ranks).seconds,
              size * 7.0 / 8 / r, 1e-12);
  EXPECT_NEAR(getCost(target, CollectiveKind::Broadcast, size, ranks).seconds,
              size / r, 1e-12);
}

/// Four nodes of eight: an eighth is left for each port.
TEST(TopologyTest, GroupsAcrossNodesGatherInsideAndBetween) {
  const Target target = makeTarget();
  const std::vector<int64_t> ranks = getRanks(0, 32);
  const double inside = size / (8 * w), between = size / 8.0 * 3 / 4 / r;
  const TransferCost gather =
      getCost(target, CollectiveKind::AllGather, size, ranks);
  EXPECT_NEAR(gather.seconds, inside + between, 1e-12);
  EXPECT_EQ(gather.latency, 2 * setUp);
  EXPECT_NEAR(gather.hidden,
              (0.5 * (inside + setUp) + 0.2 * (between + setUp)) /
                  (inside + between + 2 * setUp),
              1e-12);
  EXPECT_EQ(gather.networks, (llvm::SmallVector<uint32_t, 2>{0, 1}));
  EXPECT_NEAR(getCost(target, CollectiveKind::AllReduce, size, ranks).seconds,
              2 * (inside + between), 1e-12);
  // Straight to 31 peers, 24 of them through the port.
  EXPECT_NEAR(getCost(target, CollectiveKind::AllToAll, size, ranks).seconds,
              size * 24.0 / 32 / r, 1e-12);
  EXPECT_NEAR(getCost(target, CollectiveKind::Broadcast, size, ranks).seconds,
              2 * inside + size / 8.0 / r, 1e-12);
  // Every second rank of two nodes.
  EXPECT_NEAR(
      getCost(target, CollectiveKind::AllGather, size, getRanks(0, 8, 2))
          .seconds,
      size / (4 * w) + size / 4.0 / 2 / r, 1e-12);
}

TEST(TopologyTest, UnevenGroupsAreOneRing) {
  const Target target = makeTarget();
  // 8 and 4: a ring of twelve, whose links inside are the slower ones.
  const TransferCost gather =
      getCost(target, CollectiveKind::AllGather, size, getRanks(0, 12));
  EXPECT_NEAR(gather.seconds, size * 11.0 / 12 / w, 1e-12);
  EXPECT_EQ(gather.networks.size(), 2u);
  EXPECT_NEAR(
      getCost(target, CollectiveKind::AllReduce, size, {0, 1, 8}).seconds,
      2 * size * 2.0 / 3 / w, 1e-12);
  EXPECT_NEAR(
      getCost(target, CollectiveKind::Broadcast, size, {0, 1, 8}).seconds,
      size / w, 1e-12);
  // Rank 8 sends two thirds through its port.
  EXPECT_NEAR(
      getCost(target, CollectiveKind::AllToAll, size, {0, 1, 8}).seconds,
      size * 2.0 / 3 / r, 1e-12);
}

TEST(TopologyTest, AGroupOfOneTakesNoTime) {
  for (int kind = 0; kind <= static_cast<int>(CollectiveKind::AllToAllV);
       ++kind) {
    const TransferCost cost =
        getCost(makeTarget(), static_cast<CollectiveKind>(kind), size, {5});
    EXPECT_EQ(cost.seconds + cost.latency, 0);
    EXPECT_TRUE(cost.networks.empty());
  }
}

TEST(TopologyTest, MessagesTakeTheInnermostNetwork) {
  const Target target = makeTarget();
  llvm::Expected<Topology> topology = Topology::create(target, 64);
  ASSERT_TRUE(static_cast<bool>(topology));
  const TransferCost inside = topology->getMessage(size, 8, 15);
  EXPECT_NEAR(inside.seconds, size / (0.7 * 28e9), 1e-12);
  EXPECT_EQ(inside.latency, 1e-5);
  EXPECT_EQ(inside.networks, (llvm::SmallVector<uint32_t, 2>{0}));
  const TransferCost between = topology->getMessage(size, 15, 16);
  EXPECT_NEAR(between.seconds * 1e3, 3.7283, 1e-3);
  EXPECT_EQ(between.latency, 6e-5);
  EXPECT_DOUBLE_EQ(between.hidden, 0.2);
  EXPECT_EQ(topology->getMessage(size, 3, 3).seconds, 0);
}

TEST(TopologyTest, NetworksMustJoinAllRanks) {
  auto check = [](const Target &target, int64_t ranks) {
    llvm::Expected<Topology> topology = Topology::create(target, ranks);
    return topology ? "" : llvm::toString(topology.takeError());
  };
  EXPECT_EQ(check(makeTarget(), int64_t{1} << 40), "");
  EXPECT_EQ(check(makeTarget(4), 32), "");
  EXPECT_EQ(
      check(makeTarget(4), 33),
      "the networks of target 'a2' join 32 ranks, but the program has 33; "
      "raise the size of 'roce' or add a network that joins groups of it");
  Target alone = makeTarget();
  alone.networks.clear();
  EXPECT_EQ(check(alone, 1), "");
  EXPECT_EQ(check(alone, 2),
            "target 'a2' has no network, but the program has 2 "
            "ranks; add a network that joins them");
  alone.networks = {makeTarget().networks[0]};
  EXPECT_EQ(check(alone, 8), "");
  EXPECT_EQ(
      check(alone, 9),
      "the networks of target 'a2' join 8 ranks, but the program has 9; "
      "raise the size of 'hccs' or add a network that joins groups of it");
}

/// More bytes never take less; more nodes never do.
TEST(TopologyTest, MoreIsNeverFaster) {
  const Target target = makeTarget();
  std::mt19937 random(3);
  for (int trial = 0; trial < 500; ++trial) {
    std::vector<int64_t> ranks(64);
    std::iota(ranks.begin(), ranks.end(), 0);
    std::shuffle(ranks.begin(), ranks.end(), random);
    ranks.resize(2 + random() % 20);
    const int64_t bytes = random() % size, more = bytes + random() % size;
    const int64_t nodes = 2 + random() % 7, step = 1 + random() % 2;
    for (int number = 0; number <= static_cast<int>(CollectiveKind::AllToAllV);
         ++number) {
      const auto kind = static_cast<CollectiveKind>(number);
      EXPECT_LE(getCost(target, kind, bytes, ranks).seconds,
                getCost(target, kind, more, ranks).seconds);
      const int64_t inNode = 8 / step;
      EXPECT_LE(
          getCost(target, kind, bytes, getRanks(0, (nodes - 1) * inNode, step))
              .seconds,
          getCost(target, kind, bytes, getRanks(0, nodes * inNode, step))
                  .seconds *
              (1 + 1e-12));
    }
  }
}

} // namespace
