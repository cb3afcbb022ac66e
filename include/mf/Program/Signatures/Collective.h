//===- Collective.h - Kinds of collectives ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_PROGRAM_SIGNATURES_COLLECTIVE_H
#define MF_PROGRAM_SIGNATURES_COLLECTIVE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>

namespace mf {

/// Collectives as HCCL defines them, with n ranks. AllReduce: all ranks receive
/// the reduced inputs. AllGather: all ranks receive the inputs side by side.
/// ReduceScatter: rank i receives part i of the reduced inputs. AllToAll: rank
/// i receives part i of each input. Broadcast: all ranks receive the first
/// rank's input. AllToAllV: each rank receives as many rows of each input as
/// the counts say.
enum class CollectiveKind : uint8_t {
  AllReduce,
  AllGather,
  ReduceScatter,
  AllToAll,
  Broadcast,
  AllToAllV
};

/// The combination of elements. It is computed in fp32, in the order of ranks,
/// and rounded once.
enum class Reduction : uint8_t { Sum, Max };

/// Returns the dialect's spelling, for example "all_reduce".
llvm::StringRef getName(CollectiveKind kind);

llvm::ArrayRef<CollectiveKind> getCollectiveKinds();

/// Returns the bytes that one of `members` ranks sends, relative to those of
/// the collective's largest tensor, if nothing is sent more often than
/// necessary: (n-1)/n in general, twice that for all_reduce, and 1 for
/// broadcast.
double getSentShare(CollectiveKind kind, int64_t members);

} // namespace mf

#endif // MF_PROGRAM_SIGNATURES_COLLECTIVE_H
