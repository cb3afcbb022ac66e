//===- FlowTest.cpp - Collectives as pieces on links ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Moves each piece of each collective over links, step after step, and counts
// what each link carries: formulas must give the same times, also for many
// groups side by side, whose pieces share links if any do.
//
//===----------------------------------------------------------------------===//

#include "mf/Perf/Target/Topology.h"
#include "llvm/ADT/STLExtras.h"
#include "gtest/gtest.h"
#include <map>
#include <numeric>
#include <random>
#include <set>

using namespace mf;
using namespace mf::target;

namespace {

using Group = std::vector<int64_t>;
/// A piece of a rank, for a rank: {from, to}.
using Piece = std::pair<int64_t, int64_t>;

constexpr int64_t nodeSize = 8, numRanks = 64;

Target makeTarget(Wiring inner) {
  Target target;
  target.name = "links";
  target.networks = {{"inner", "npu", nodeSize, inner, 20e9, 0.5},
                     {"outer", "inner", 0, Wiring::Switch, 25e9, 0.8}};
  return target;
}

/// Ranks that send each other pieces over links.
class Links {
public:
  explicit Links(const Target &target) : target(target) {}

  void hold(int64_t rank, Piece piece) { held[rank].insert(piece); }
  bool holds(int64_t rank, Piece piece) { return held[rank].count(piece) != 0; }

  void send(int64_t from, int64_t to, Piece piece, double bytes) {
    ASSERT_TRUE(holds(from, piece)) << from << " has nothing to send";
    arriving.push_back({to, piece});
    const bool isInside = from / nodeSize == to / nodeSize;
    const Network &network = target.networks[isInside ? 0 : 1];
    const double seconds =
        bytes / (network.bytesPerSecond * network.collectiveShare);
    if (isInside && network.wiring == Wiring::Mesh) {
      busy[{0, from, to}] += seconds;
      return;
    }
    busy[{isInside ? 1 : 2, from, -1}] += seconds;
    busy[{isInside ? 1 : 2, -1, to}] += seconds;
  }

  /// All that was sent arrives, as late as over the busiest link.
  void finishStep() {
    double longest = 0;
    for (const auto &[link, seconds] : busy)
      longest = std::max(longest, seconds);
    total += longest;
    for (const auto &[rank, piece] : arriving)
      hold(rank, piece);
    arriving.clear();
    busy.clear();
  }

  double getSeconds() const { return total; }

private:
  const Target &target;
  std::map<int64_t, std::set<Piece>> held;
  std::map<std::tuple<int, int64_t, int64_t>, double> busy;
  std::vector<std::pair<int64_t, Piece>> arriving;
  double total = 0;
};

/// Members of a group by their node.
std::vector<Group> getNodes(const Group &group) {
  std::map<int64_t, Group> nodes;
  for (int64_t rank : group)
    nodes[rank / nodeSize].push_back(rank);
  std::vector<Group> result;
  for (auto &[node, members] : nodes)
    result.push_back(std::move(members));
  return result;
}

/// Rings of the n-th members of all nodes, the pieces of whose nodes' members
/// go around; then each tells its node.
double gather(const Target &target, const std::vector<Group> &groups,
              double bytes) {
  Links links(target);
  const double part = bytes / static_cast<double>(groups.front().size());
  for (const Group &group : groups)
    for (int64_t rank : group)
      links.hold(rank, {rank, 0});
  const size_t numNodes = getNodes(groups.front()).size();
  for (size_t step = 1; step < numNodes; ++step) {
    for (const Group &group : groups) {
      const std::vector<Group> nodes = getNodes(group);
      for (size_t n = 0; n < numNodes; ++n)
        for (size_t i = 0; i < nodes[n].size(); ++i)
          links.send(nodes[n][i], nodes[(n + 1) % numNodes][i],
                     {nodes[(n + numNodes - step + 1) % numNodes][i], 0}, part);
    }
    links.finishStep();
  }
  for (const Group &group : groups)
    for (const Group &node : getNodes(group))
      for (int64_t from : node)
        for (int64_t to : node)
          for (int64_t rank : group)
            if (from != to && links.holds(from, {rank, 0}))
              links.send(from, to, {rank, 0}, part);
  links.finishStep();
  for (const Group &group : groups)
    for (int64_t rank : group)
      for (int64_t other : group)
        EXPECT_TRUE(links.holds(rank, {other, 0}));
  return links.getSeconds();
}

double ring(const Target &target, const Group &group, double bytes) {
  Links links(target);
  const size_t n = group.size();
  for (int64_t rank : group)
    links.hold(rank, {rank, 0});
  for (size_t step = 1; step < n; ++step) {
    for (size_t i = 0; i < n; ++i)
      links.send(group[i], group[(i + 1) % n],
                 {group[(i + n - step + 1) % n], 0},
                 bytes / static_cast<double>(n));
    links.finishStep();
  }
  for (int64_t rank : group)
    for (int64_t other : group)
      EXPECT_TRUE(links.holds(rank, {other, 0}));
  return links.getSeconds();
}

double exchange(const Target &target, const std::vector<Group> &groups,
                double bytes) {
  Links links(target);
  for (const Group &group : groups)
    for (int64_t from : group)
      for (int64_t to : group) {
        links.hold(from, {from, to});
        if (from != to)
          links.send(from, to, {from, to},
                     bytes / static_cast<double>(group.size()));
      }
  links.finishStep();
  for (const Group &group : groups)
    for (int64_t from : group)
      for (int64_t to : group)
        EXPECT_TRUE(links.holds(to, {from, to}));
  return links.getSeconds();
}

double getSeconds(const Target &target, CollectiveKind kind, int64_t bytes,
                  const Group &group) {
  llvm::Expected<Topology> topology = Topology::create(target, numRanks);
  EXPECT_TRUE(static_cast<bool>(topology));
  return topology->getCollective(kind, bytes, group).seconds;
}

/// All groups of the axes whose bits are set, of a mesh of 4 x 4 x 4 ranks.
std::vector<Group> getMeshGroups(unsigned axes) {
  std::map<std::vector<int64_t>, Group> groups;
  for (int64_t rank = 0; rank < numRanks; ++rank) {
    std::vector<int64_t> others;
    for (unsigned axis = 0; axis < 3; ++axis)
      if (!(axes >> axis & 1))
        others.push_back(rank >> (2 * axis) & 3);
    groups[others].push_back(rank);
  }
  std::vector<Group> result;
  for (auto &[others, group] : groups)
    result.push_back(std::move(group));
  return result;
}

constexpr int64_t size = int64_t{1} << 26;

class FlowTest : public ::testing::TestWithParam<Wiring> {};

TEST_P(FlowTest, GroupsOfAMeshSideBySide) {
  const Target target = makeTarget(GetParam());
  for (unsigned axes = 1; axes < 8; ++axes) {
    const std::vector<Group> groups = getMeshGroups(axes);
    const double gathered = gather(target, groups, size);
    const double exchanged = exchange(target, groups, size);
    for (const Group &group : groups) {
      EXPECT_NEAR(getSeconds(target, CollectiveKind::AllGather, size, group),
                  gathered, 1e-9 * gathered)
          << axes;
      EXPECT_NEAR(
          getSeconds(target, CollectiveKind::ReduceScatter, size, group),
          gathered, 1e-9 * gathered);
      EXPECT_NEAR(getSeconds(target, CollectiveKind::AllReduce, size, group),
                  2 * gathered, 1e-9 * gathered);
      EXPECT_NEAR(getSeconds(target, CollectiveKind::AllToAll, size, group),
                  exchanged, 1e-9 * exchanged)
          << axes;
    }
  }
}

/// As many members of some nodes each, or any.
TEST_P(FlowTest, RandomGroups) {
  const Target target = makeTarget(GetParam());
  std::mt19937 random(11);
  int numEven = 0, numUneven = 0;
  for (int trial = 0; trial < 400; ++trial) {
    Group group(numRanks);
    std::iota(group.begin(), group.end(), 0);
    std::shuffle(group.begin(), group.end(), random);
    if (trial % 2 == 0) {
      const size_t perNode = 1 + random() % nodeSize;
      const int64_t nodes = 1 + static_cast<int64_t>(random() % 8);
      std::map<int64_t, size_t> taken;
      llvm::erase_if(group, [&](int64_t rank) {
        return rank / nodeSize >= nodes || taken[rank / nodeSize]++ >= perNode;
      });
    } else {
      group.resize(1 + random() % 24);
    }
    llvm::sort(group);
    const std::vector<Group> nodes = getNodes(group);
    const bool isEven = llvm::all_of(nodes, [&](const Group &node) {
      return node.size() == nodes.front().size();
    });
    (isEven ? numEven : numUneven) += 1;
    const double gathered =
        isEven ? gather(target, {group}, size) : ring(target, group, size);
    EXPECT_NEAR(getSeconds(target, CollectiveKind::AllGather, size, group),
                gathered, 1e-9 * gathered)
        << ::testing::PrintToString(group);
    const double exchanged = exchange(target, {group}, size);
    EXPECT_NEAR(getSeconds(target, CollectiveKind::AllToAllV, size, group),
                exchanged, 1e-9 * exchanged)
        << ::testing::PrintToString(group);
  }
  EXPECT_GT(numEven, 100);
  EXPECT_GT(numUneven, 100);
}

INSTANTIATE_TEST_SUITE_P(Wirings, FlowTest,
                         ::testing::Values(Wiring::Mesh, Wiring::Switch),
                         [](const auto &wiring) {
                           return wiring.param == Wiring::Mesh ? "Mesh"
                                                               : "Switch";
                         });

} // namespace
