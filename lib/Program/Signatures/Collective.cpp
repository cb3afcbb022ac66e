//===- Collective.cpp - Kinds of collectives ------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Program/Signatures/Collective.h"

namespace mf {

llvm::StringRef getName(CollectiveKind kind) {
  static constexpr llvm::StringLiteral names[] = {
      "all_reduce", "all_gather", "reduce_scatter",
      "all_to_all", "broadcast",  "all_to_all_v"};
  return names[static_cast<size_t>(kind)];
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
