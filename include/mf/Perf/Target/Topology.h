//===- Topology.h - The time of communication -------------------*- C++ -*-===//

#ifndef MF_TARGET_TOPOLOGY_H
#define MF_TARGET_TOPOLOGY_H

#include "mf/Perf/Target/Target.h"
#include "mf/Program/Signatures/Collective.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

namespace mf::target {

/// The time of a collective or a message when nothing else uses its links.
struct TransferCost {
  /// Time before bytes move.
  double latency = 0;
  /// Time in which bytes move.
  double seconds = 0;
  /// The share of all of it that does not hold up the device's computing: the
  /// networks' own, by the time in each.
  double hidden = 1;
  /// The networks (of Target::networks) whose links each member keeps busy
  /// meanwhile.
  llvm::SmallVector<uint32_t, 2> networks;
};

/// Where ranks are in the networks of a target: rank r is device r.
class Topology {
public:
  /// An error that says how many ranks the networks join if they are more. The
  /// target must pass check() and outlive the topology.
  static llvm::Expected<Topology> create(const Target &target,
                                         int64_t numRanks);

  /// `bytes` are those of the largest tensor of one rank: what an all_gather
  /// makes, what a reduce_scatter takes, what an all_to_all takes and makes; an
  /// all_to_all_v is taken for even. `ranks` are the members, none twice.
  ///
  /// S bytes take S / (n w) to gather among n members of a mesh, each part
  /// straight to its peer, and S (n - 1) / n / w on a switch, around a ring,
  /// where w are bytes per second times the collective's share; reduce_scatter
  /// the same, all_reduce and broadcast twice that, a broadcast on the
  /// outermost switch S / w. Where a group has k members in each group of an
  /// inner network those of the outer one have S / k left, each through a link
  /// or port of its own. Where there are not as many everywhere all are one
  /// ring, as fast as its slowest link. An all_to_all goes straight to its
  /// peers, over all networks at once. Links of groups apart are apart, so
  /// groups side by side take as long as one. A group of one takes no time.
  TransferCost getCollective(CollectiveKind kind, int64_t bytes,
                             llvm::ArrayRef<int64_t> ranks) const;

  /// Over the innermost network that joins the two; `bytes` over its bytes per
  /// second times the message's share. None to itself.
  TransferCost getMessage(int64_t bytes, int64_t from, int64_t to) const;

private:
  explicit Topology(const Target &target);

  const Target *target;
  /// By network, the ranks of a group of it; 0 for any number.
  std::vector<int64_t> groupRanks;
};

} // namespace mf::target

#endif // MF_TARGET_TOPOLOGY_H
