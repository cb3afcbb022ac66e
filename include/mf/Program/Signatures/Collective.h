//===- Collective.h - Kinds of collectives ----------------------*- C++ -*-===//

#ifndef MF_SIGNATURES_COLLECTIVE_H
#define MF_SIGNATURES_COLLECTIVE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>

namespace mf {

/// Collectives as HCCL defines them, with n ranks: the inputs reduced, to all;
/// the inputs side by side; of the inputs reduced the i-th part to rank i; of
/// each input the i-th part to rank i; the first rank's input; of each input as
/// many rows to each rank as counts say.
enum class CollectiveKind : uint8_t {
  AllReduce,
  AllGather,
  ReduceScatter,
  AllToAll,
  Broadcast,
  AllToAllV
};

/// How elements are combined: in fp32, rounded once, in the order of ranks.
enum class Reduction : uint8_t { Sum, Max };

/// "all_reduce".
llvm::StringRef getName(CollectiveKind kind);

/// All kinds, in their order.
llvm::ArrayRef<CollectiveKind> getCollectiveKinds();

/// The share of a collective's bytes (those of its largest tensor) that one of
/// `members` ranks sends if nothing is sent more often than it must be:
/// (n-1)/n, for all_reduce twice that, for broadcast 1.
double getSentShare(CollectiveKind kind, int64_t members);

} // namespace mf

#endif // MF_SIGNATURES_COLLECTIVE_H
