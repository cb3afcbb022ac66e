//===- Collective.cpp - Kinds of collectives ------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Program/Signatures/Collective.h"

namespace mf {

llvm::StringRef getName(CollectiveKind kind) {
  switch (kind) {
  case CollectiveKind::AllReduce:
    return "all_reduce";
  case CollectiveKind::AllGather:
    return "all_gather";
  case CollectiveKind::ReduceScatter:
    return "reduce_scatter";
  case CollectiveKind::AllToAll:
    return "all_to_all";
  case CollectiveKind::Broadcast:
    return "broadcast";
  case CollectiveKind::AllToAllV:
    return "all_to_all_v";
  }
  return "";
}

llvm::ArrayRef<CollectiveKind> getCollectiveKinds() {
  static constexpr CollectiveKind kinds[] = {
      CollectiveKind::AllReduce,     CollectiveKind::AllGather,
      CollectiveKind::ReduceScatter, CollectiveKind::AllToAll,
      CollectiveKind::Broadcast,     CollectiveKind::AllToAllV};
  return kinds;
}

double getSentShare(CollectiveKind kind, int64_t members) {
  const auto others =
      static_cast<double>(members - 1) / static_cast<double>(members);
  switch (kind) {
  case CollectiveKind::AllReduce:
    // The data is scattered and then gathered.
    return 2 * others;
  case CollectiveKind::AllGather:
  case CollectiveKind::ReduceScatter:
  case CollectiveKind::AllToAll:
  case CollectiveKind::AllToAllV:
    return others;
  case CollectiveKind::Broadcast:
    return 1;
  }
  return 1;
}

} // namespace mf
