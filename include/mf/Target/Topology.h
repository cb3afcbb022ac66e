//===- Topology.h - What communication takes ------------------*- C++ -*-===//

#ifndef MF_TARGET_TOPOLOGY_H
#define MF_TARGET_TOPOLOGY_H

#include "mf/Signatures/Collective.h"
#include "mf/Target/Target.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

namespace mf::target {

/// What a collective or a message takes when nothing else uses its links.
struct TransferCost {
  /// Before bytes move.
  double latency = 0;
  /// In which bytes move.
  double seconds = 0;
  /// The share of all of it that does not hold up the device's computing.
  double hidden = 1;
  /// The networks (of Target::networks) whose links each member keeps busy
  /// meanwhile.
  llvm::SmallVector<uint32_t, 2> networks;
};

/// Where ranks are in the networks of a target: rank r is device r.
class Topology {
public:
  /// An error if the networks do not join so many ranks.
  static llvm::Expected<Topology> create(const Target &target,
                                         int64_t numRanks);

  /// `bytes` are those of the largest tensor of one rank: what an all_gather
  /// makes, what a reduce_scatter takes, what an all_to_all takes and makes.
  /// `ranks` are the members. On a mesh all of whose members have links of
  /// their own each part goes straight to its peer; on a switch around a ring;
  /// across groups of an inner network first inside and then between them.
  TransferCost getCollective(CollectiveKind kind, int64_t bytes,
                             llvm::ArrayRef<int64_t> ranks) const;

  TransferCost getMessage(int64_t bytes, int64_t from, int64_t to) const;

private:
  explicit Topology(const Target &target);

  const Target *target;
  /// By network, the ranks of a group of it.
  std::vector<int64_t> groupRanks;
};

} // namespace mf::target

#endif // MF_TARGET_TOPOLOGY_H
