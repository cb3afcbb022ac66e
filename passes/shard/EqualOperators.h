//===- EqualOperators.h - Operators that are equal but for values -*- C++ -*-=//

#ifndef MF_PASSES_SHARD_EQUALOPERATORS_H
#define MF_PASSES_SHARD_EQUALOPERATORS_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallBitVector.h"

namespace mf::passes {

/// Groups operators that have the same name, attributes and types, whatever
/// values they read. Layers of one kind have the same operators, so what
/// depends on nothing else is found out once. Operators must not change or be
/// erased while they are in a group.
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
  /// By hash.
  llvm::DenseMap<uint64_t, llvm::SmallVector<Group, 1>> groups;
  unsigned numGroups = 0;
};

} // namespace mf::passes

#endif // MF_PASSES_SHARD_EQUALOPERATORS_H
