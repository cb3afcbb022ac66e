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

/// FlowTest has gathers and exchanges of any groups.
TEST(TopologyTest, TakesTheTimeOfTheBusiestLinks) {
  using Kind = CollectiveKind;
  struct Case {
    Kind kind;
    std::vector<int64_t> ranks;
    double seconds;
  };
  const std::vector<int64_t> node = getRanks(0, 4), uneven = {0, 1, 8},
                             ring = getRanks(3, 8, 8), nodes = getRanks(0, 32);
  const Case cases[] = {
      // A link to each peer. Eight have twice the links: 107 GB/s, as HCCL's
      // test tool counts.
      {Kind::AllGather, node, 1.25203e-3},
      {Kind::AllGather, getRanks(0, 8), size / 107.2e9},
      // In any order.
      {Kind::AllGather, {7, 5, 4, 6}, size / (4 * w)},
      {Kind::ReduceScatter, node, size / (4 * w)},
      {Kind::AllReduce, node, 2 * size / (4 * w)},
      {Kind::Broadcast, node, 2 * size / (4 * w)},
      {Kind::AllToAllV, node, size / (4 * w)},
      // One rank of each of eight nodes.
      {Kind::AllReduce, ring, 2 * size * 7.0 / 8 / r},
      {Kind::Broadcast, ring, size / r},
      // Four nodes of eight: an eighth is left for each port.
      {Kind::AllGather, nodes, size / (8 * w) + size / 8.0 * 3 / 4 / r},
      {Kind::Broadcast, nodes, 2 * size / (8 * w) + size / 8.0 / r},
      // Straight to 31 peers, 24 of them through the port.
      {Kind::AllToAll, nodes, size * 24.0 / 32 / r},
      // 8 and 4: a ring of twelve, whose links inside are the slower ones.
      {Kind::AllGather, getRanks(0, 12), size * 11.0 / 12 / w},
      {Kind::Broadcast, uneven, size / w}};
  for (const Case &one : cases)
    EXPECT_NEAR(getCost(makeTarget(), one.kind, size, one.ranks).seconds,
                one.seconds, 1e-5 * one.seconds)
        << getName(one.kind).str() << " of "
        << ::testing::PrintToString(one.ranks);
}

TEST(TopologyTest, NamesNetworksAndWhatTheyHide) {
  using Networks = llvm::SmallVector<uint32_t, 2>;
  const TransferCost inside = getCost(makeTarget(), CollectiveKind::AllGather,
                                      size, getRanks(4, 4)),
                     between = getCost(makeTarget(), CollectiveKind::AllGather,
                                       size, getRanks(3, 8, 8)),
                     both = getCost(makeTarget(), CollectiveKind::AllGather,
                                    size, getRanks(0, 32));
  EXPECT_EQ(inside.latency, setUp);
  EXPECT_DOUBLE_EQ(inside.hidden, 0.5);
  EXPECT_EQ(inside.networks, Networks({0}));
  EXPECT_DOUBLE_EQ(between.hidden, 0.2);
  EXPECT_EQ(between.networks, Networks({1}));
  EXPECT_EQ(both.latency, 2 * setUp);
  const double first = size / (8 * w), second = size / 8.0 * 3 / 4 / r;
  EXPECT_NEAR(both.hidden,
              (0.5 * (first + setUp) + 0.2 * (second + setUp)) /
                  (first + second + 2 * setUp),
              1e-12);
  EXPECT_EQ(both.networks, Networks({0, 1}));
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

} // namespace
