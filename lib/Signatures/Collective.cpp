//===- Collective.cpp - What a group of ranks does together ---------------===//

#include "mf/Signatures/Collective.h"

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

} // namespace mf
