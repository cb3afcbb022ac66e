//===- EqualOperators.h - Operators that differ only in values -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_PASSES_SHARD_EQUALOPERATORS_H
#define MF_PASSES_SHARD_EQUALOPERATORS_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallBitVector.h"

namespace mf::passes {

/// Groups operators that have the same name, attributes and types, regardless
/// of the values that they read. Layers of one kind have the same operators, so
/// that properties which depend only on these are computed once. Operators must
/// not change or be erased while they are in a group.
class EqualOperators {
public:
  /// Returns the number of the operator's group, and whether the operator is
  /// the first in it. Operators of one group have the same flags.
  std::pair<unsigned, bool> add(mlir::Operation *op,
                                llvm::SmallBitVector flags = {});

private:
  struct Group {
    mlir::Operation *first;
    llvm::SmallBitVector flags;
    unsigned number;
  };
  /// The groups by the hash of their operators.
  llvm::DenseMap<uint64_t, llvm::SmallVector<Group, 1>> groups;
  unsigned numGroups = 0;
};

} // namespace mf::passes

#endif // MF_PASSES_SHARD_EQUALOPERATORS_H
