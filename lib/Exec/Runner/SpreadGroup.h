//===- SpreadGroup.h - A collective over several processes ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_EXEC_RUNNER_SPREADGROUP_H
#define MF_LIB_EXEC_RUNNER_SPREADGROUP_H

#include "GroupBarrier.h"
#include <optional>

namespace mf::runner {

/// A group whose ranks are in several processes, from the view of one process.
struct SpreadGroup {
  std::vector<int64_t> members;
  /// The places of the members in this process. The first of them receives for
  /// all.
  std::vector<size_t> here;
  /// The places of the other members.
  std::vector<size_t> elsewhere;
  /// The first place of `elsewhere` in each process.
  std::vector<size_t> receivers;
  std::optional<GroupBarrier> barrier;
};

/// One member's part in a collective.
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
  /// Returns whether `member` has a block of the data that all members need. In
  /// a broadcast only the first one does.
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
  /// Returns the block of a member of this process.
  const std::byte *getBlockData(size_t member,
                                const Contribution &contribution) const {
    return exchange.kind == CollectiveKind::AllReduce
               ? contribution.output + getBlock(member).begin
               : contribution.input;
  }
};

} // namespace mf::runner

#endif // MF_LIB_EXEC_RUNNER_SPREADGROUP_H
