//===- Topology.h - The time of communication -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_PERF_TARGET_TOPOLOGY_H
#define MF_PERF_TARGET_TOPOLOGY_H

#include "mf/Perf/Target/Target.h"
#include "mf/Program/Signatures/Collective.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

namespace mf::target {

/// The duration of a collective or a message when nothing else uses its links.
struct TransferCost {
  /// The time before bytes are transferred.
  double latency = 0;
  /// The time in which bytes are transferred.
  double seconds = 0;
  /// The speed that kernels on the same device keep, and the speed that the
  /// transfer keeps beside them, as shares of their speeds alone: means over
  /// the networks, weighted by the time in each.
  double hidden = 1;
  double besideKernels = 1;
  /// Indices into Target::networks of the networks whose links each member
  /// uses.
  llvm::SmallVector<uint32_t, 2> networks;

  /// Returns whether the transfer and kernels slow each other.
  bool slowsKernels() const { return hidden < 1 || besideKernels < 1; }
};

/// The places of ranks in the networks of a target. Rank r is device r.
class Topology {
public:
  /// Fails if there are more ranks than the networks join; the error states how
  /// many they join. The target must pass check() and outlive the topology.
  static llvm::Expected<Topology> create(const Target &target,
                                         int64_t numRanks);

  /// Returns the duration of a collective. `bytes` is the size of the largest
  /// tensor of one rank: the output of an all_gather, the input of a
  /// reduce_scatter, the input or output of an all_to_all. An all_to_all_v is
  /// assumed to be even. `ranks` are the members without duplicates.
  ///
  /// Let S be the bytes, n the members, and w the bytes per second multiplied
  /// by the collective's share. Gathering in a mesh takes S / (n w), because
  /// each part goes directly to its peer. On a switch it takes S (n - 1) / n /
  /// w around a ring. A reduce_scatter takes the same time, an all_reduce or
  /// broadcast twice that, and a broadcast on the outermost switch S / w. If
  /// the group has k members in each group of an inner network, those of the
  /// outer network transfer the remaining S / k, each over its own link or
  /// port. If these numbers differ, all members form one ring that is as fast
  /// as its slowest link. An all_to_all sends directly to its peers, over all
  /// networks at once. Disjoint groups use disjoint links, so several groups at
  /// the same time take as long as one. A group of one member takes no time.
  TransferCost getCollective(CollectiveKind kind, int64_t bytes,
                             llvm::ArrayRef<int64_t> ranks) const;

  /// Returns the duration of a message. It uses the innermost network that
  /// joins the two ranks: `bytes` divided by its bytes per second times the
  /// message's share. A message from a rank to itself takes no time.
  TransferCost getMessage(int64_t bytes, int64_t from, int64_t to) const;

private:
  explicit Topology(const Target &target);

  const Target *target;
  /// For each network, the number of ranks in one of its groups; 0 for no
  /// limit.
  std::vector<int64_t> groupRanks;
};

} // namespace mf::target

#endif // MF_PERF_TARGET_TOPOLOGY_H
