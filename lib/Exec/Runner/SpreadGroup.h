//===- SpreadGroup.h - A collective over several processes ------*- C++ -*-===//

#ifndef MF_LIB_RUNNER_SPREADGROUP_H
#define MF_LIB_RUNNER_SPREADGROUP_H

#include "GroupBarrier.h"
#include <optional>

namespace mf::runner {

/// A group whose ranks are in several processes, as one of them sees it.
struct SpreadGroup {
  std::vector<int64_t> members;
  /// Places of those that live here; the first of them receives for all.
  std::vector<size_t> here;
  /// Places of those that do not.
  std::vector<size_t> elsewhere;
  /// The first place of `elsewhere` in each process.
  std::vector<size_t> receivers;
  std::optional<GroupBarrier> barrier;
};

/// One member's part in one collective.
struct MemberPart {
  SpreadGroup &group;
  size_t place;
  uint32_t channel;
  const program::Exchange &exchange;
  const Contribution &own;

  size_t getNumMembers() const { return group.members.size(); }
  bool isReceiver() const { return place == group.here.front(); }
  ranks::ByteRange getShareOf(size_t member) const {
    return ranks::getShare(exchange, own.inputBytes, getNumMembers(), member);
  }
  /// Whether `member` has a block of what all members want; in a broadcast only
  /// the first one has.
  bool hasBlock(size_t member) const {
    return exchange.kind != CollectiveKind::Broadcast || member == 0;
  }
  ranks::ByteRange getBlock(size_t member) const {
    if (exchange.kind == CollectiveKind::AllReduce)
      return getShareOf(member);
    if (exchange.kind == CollectiveKind::AllGather)
      return {static_cast<int64_t>(member) * own.inputBytes, own.inputBytes};
    return {0, own.inputBytes};
  }
  /// Where a member that lives here has its block.
  const std::byte *getBlockData(size_t member,
                                const Contribution &contribution) const {
    return exchange.kind == CollectiveKind::AllReduce
               ? contribution.output + getBlock(member).begin
               : contribution.input;
  }
};

} // namespace mf::runner

#endif // MF_LIB_RUNNER_SPREADGROUP_H
