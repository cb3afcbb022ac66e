//===- Topology.cpp - The time of communication ---------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Perf/Target/Topology.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <limits>

using namespace llvm;

namespace mf::target {

//===----------------------------------------------------------------------===//
// Places of ranks
//===----------------------------------------------------------------------===//

namespace {
/// The part of a group in one network: members of the network that have ranks
/// of the group, for each group of the network.
struct Level {
  uint32_t network = 0;
  /// The smallest and the largest number of members that are joined in one
  /// group.
  int64_t fewest = 0, most = 0;
  /// The most ranks of a member, and the most ranks that one of them reaches in
  /// other members.
  int64_t mostRanks = 0, mostPeers = 0;

  bool isUneven() const { return fewest != most; }
};

/// A place, and the number of ranks of a group that are there.
using Place = std::pair<int64_t, int64_t>;
} // namespace

/// Joins places that are in the same group of a network, whose groups have
/// `size` ranks. If that is 0, the network has one group. Places are sorted,
/// and stay so.
static Level joinPlaces(std::vector<Place> &places, int64_t size,
                        int64_t placeSize) {
  Level level;
  level.fewest = std::numeric_limits<int64_t>::max();
  std::vector<Place> groups;
  for (auto begin = places.begin(); begin != places.end();) {
    auto getGroup = [&](const Place &place) {
      return size == 0 ? 0 : place.first * placeSize / size;
    };
    const int64_t group = getGroup(*begin);
    int64_t ranks = 0;
    auto end = begin;
    for (; end != places.end() && getGroup(*end) == group; ++end)
      ranks += end->second;
    const int64_t members = end - begin;
    for (const Place &place : make_range(begin, end)) {
      level.mostPeers = std::max(level.mostPeers, ranks - place.second);
      if (members > 1)
        level.mostRanks = std::max(level.mostRanks, place.second);
    }
    level.fewest = std::min(level.fewest, members);
    level.most = std::max(level.most, members);
    groups.push_back({group, ranks});
    begin = end;
  }
  places = std::move(groups);
  return level;
}

/// Returns the networks that join the ranks, starting with the innermost: those
/// in which some group of ranks has more than one member.
static SmallVector<Level, 2> getLevels(ArrayRef<int64_t> groupRanks,
                                       ArrayRef<int64_t> ranks) {
  std::vector<Place> places;
  for (int64_t rank : ranks)
    places.push_back({rank, 1});
  sort(places);
  SmallVector<Level, 2> levels;
  int64_t placeSize = 1;
  for (auto [network, size] : enumerate(groupRanks)) {
    if (places.size() <= 1)
      break;
    Level level = joinPlaces(places, size, placeSize);
    level.network = static_cast<uint32_t>(network);
    if (level.most > 1)
      levels.push_back(level);
    placeSize = size;
  }
  return levels;
}

Topology::Topology(const Target &target) : target(&target) {
  int64_t ranks = 1;
  for (const Network &network : target.networks) {
    if (MulOverflow(ranks, network.size, ranks))
      ranks = std::numeric_limits<int64_t>::max();
    groupRanks.push_back(ranks);
  }
}

Expected<Topology> Topology::create(const Target &target, int64_t numRanks) {
  Topology topology(target);
  const int64_t joined =
      target.networks.empty() ? 1 : topology.groupRanks.back();
  if (joined == 0 || numRanks <= joined)
    return topology;
  if (target.networks.empty())
    return createStringError(
        "target '" + target.name + "' has no network, but the program has " +
        Twine(numRanks) + " ranks; add a network that joins them");
  return createStringError(
      "the networks of target '" + target.name + "' join " + Twine(joined) +
      " ranks, but the program has " + Twine(numRanks) +
      "; raise the size of '" + target.networks.back().name +
      "' or add a network that joins groups of it");
}

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

static double getCollectiveRate(const Network &network) {
  return network.bytesPerSecond * network.collectiveShare;
}

/// Returns the duration of an all_gather or reduce_scatter of `bytes` among the
/// members of one group of a network.
static double getPhaseSeconds(const Network &network, double bytes,
                              int64_t members) {
  const auto count = static_cast<double>(members);
  const double rate = getCollectiveRate(network);
  return network.wiring == Wiring::Mesh ? bytes / count / rate
                                        : bytes * (count - 1) / count / rate;
}

/// Returns the number of phases of getPhaseSeconds that a collective has in
/// each network.
static double getNumPhases(CollectiveKind kind) {
  switch (kind) {
  case CollectiveKind::AllGather:
  case CollectiveKind::ReduceScatter:
    return 1;
  case CollectiveKind::AllReduce:
  case CollectiveKind::Broadcast:
    return 2;
  case CollectiveKind::AllToAll:
  case CollectiveKind::AllToAllV:
    break;
  }
  llvm_unreachable("goes straight to its peers");
}

namespace {
/// Sums the durations of the phases of a collective.
class Phases {
public:
  explicit Phases(const Target &target) : target(target) {}

  void add(uint32_t network, double seconds) {
    total += seconds;
    hiddenSeconds += seconds * target.networks[network].hidden;
    besideSeconds += seconds * target.networks[network].besideKernels;
  }

  /// Returns the cost of all phases in these networks. Each network's latency
  /// counts once.
  TransferCost finish(ArrayRef<Level> levels) {
    TransferCost cost;
    cost.seconds = total;
    for (const Level &level : levels) {
      const Network &network = target.networks[level.network];
      cost.latency += network.collectiveLatency;
      hiddenSeconds += network.collectiveLatency * network.hidden;
      besideSeconds += network.collectiveLatency * network.besideKernels;
      cost.networks.push_back(level.network);
    }
    const double all = cost.latency + cost.seconds;
    cost.hidden = all > 0 ? std::min(1.0, hiddenSeconds / all) : 1;
    cost.besideKernels = all > 0 ? std::min(1.0, besideSeconds / all) : 1;
    return cost;
  }

private:
  const Target &target;
  double total = 0, hiddenSeconds = 0, besideSeconds = 0;
};
} // namespace

/// Returns the cost if each part is sent directly to its peer, over all
/// networks at once. In a mesh the busiest link leads to the group with the
/// most ranks.
static TransferCost getExchangeCost(const Target &target, double bytes,
                                    size_t numRanks, ArrayRef<Level> levels) {
  const double part = bytes / static_cast<double>(numRanks);
  uint32_t slowest = levels.front().network;
  double seconds = 0;
  for (const Level &level : levels) {
    const Network &network = target.networks[level.network];
    const int64_t parts =
        network.wiring == Wiring::Mesh ? level.mostRanks : level.mostPeers;
    const double busy =
        part * static_cast<double>(parts) / getCollectiveRate(network);
    if (busy > seconds) {
      seconds = busy;
      slowest = level.network;
    }
  }
  Phases phases(target);
  phases.add(slowest, seconds);
  return phases.finish(levels);
}

/// Returns the cost of one ring of all ranks, which all wait for its slowest
/// links. It is used if groups have different numbers of ranks.
static TransferCost getRingCost(const Target &target, CollectiveKind kind,
                                double bytes, size_t numRanks,
                                ArrayRef<Level> levels) {
  const Level &slowest =
      *min_element(levels, [&](const Level &a, const Level &b) {
        return getCollectiveRate(target.networks[a.network]) <
               getCollectiveRate(target.networks[b.network]);
      });
  const double rate = getCollectiveRate(target.networks[slowest.network]);
  const auto count = static_cast<double>(numRanks);
  const double rounds = kind == CollectiveKind::Broadcast
                            ? 1
                            : getNumPhases(kind) * (count - 1) / count;
  Phases phases(target);
  phases.add(slowest.network, rounds * bytes / rate);
  return phases.finish(levels);
}

/// Returns the cost of a collective that runs in one network after another: the
/// part with which each leaves a rank is gathered or scattered by the next one.
static TransferCost getNestedCost(const Target &target, CollectiveKind kind,
                                  double bytes, ArrayRef<Level> levels) {
  Phases phases(target);
  for (const Level &level : levels) {
    const Network &network = target.networks[level.network];
    const bool isOutermost = &level == &levels.back();
    if (kind == CollectiveKind::Broadcast && isOutermost &&
        network.wiring == Wiring::Switch)
      // A broadcast goes down a chain in pieces.
      phases.add(level.network, bytes / getCollectiveRate(network));
    else
      phases.add(level.network,
                 getNumPhases(kind) *
                     getPhaseSeconds(network, bytes, level.most));
    bytes /= static_cast<double>(level.most);
  }
  return phases.finish(levels);
}

TransferCost Topology::getCollective(CollectiveKind kind, int64_t bytes,
                                     ArrayRef<int64_t> ranks) const {
  const SmallVector<Level, 2> levels = getLevels(groupRanks, ranks);
  if (levels.empty())
    return {};
  const auto amount = static_cast<double>(bytes);
  if (kind == CollectiveKind::AllToAll || kind == CollectiveKind::AllToAllV)
    return getExchangeCost(*target, amount, ranks.size(), levels);
  if (any_of(levels, [](const Level &level) { return level.isUneven(); }))
    return getRingCost(*target, kind, amount, ranks.size(), levels);
  return getNestedCost(*target, kind, amount, levels);
}

TransferCost Topology::getMessage(int64_t bytes, int64_t from,
                                  int64_t to) const {
  if (from == to)
    return {};
  const Level level = getLevels(groupRanks, {from, to}).front();
  const Network &network = target->networks[level.network];
  TransferCost cost;
  cost.latency = network.messageLatency;
  cost.seconds = static_cast<double>(bytes) /
                 (network.bytesPerSecond * network.messageShare);
  cost.hidden = network.hidden;
  cost.besideKernels = network.besideKernels;
  cost.networks.push_back(level.network);
  return cost;
}

} // namespace mf::target
