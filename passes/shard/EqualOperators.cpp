//===- EqualOperators.cpp - Operators that are equal but for values -------===//
// SPDX-License-Identifier: Apache-2.0

#include "EqualOperators.h"
#include "mlir/IR/OperationSupport.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace mf::passes {

static uint64_t getHash(Operation *op) {
  const llvm::hash_code hash = OperationEquivalence::computeHash(
      op, OperationEquivalence::ignoreHashValue,
      OperationEquivalence::ignoreHashValue,
      OperationEquivalence::IgnoreLocations);
  // The two largest numbers are reserved by the map.
  return static_cast<uint64_t>(llvm::hash_combine(
             hash, llvm::hash_combine_range(op->getOperandTypes()))) >>
         1;
}

std::pair<unsigned, bool> EqualOperators::add(Operation *op,
                                              llvm::SmallBitVector flags) {
  llvm::SmallVector<Group, 1> &alike = groups[getHash(op)];
  auto found = llvm::find_if(alike, [&](const Group &group) {
    return group.flags == flags &&
           OperationEquivalence::isEquivalentTo(
               group.first, op, OperationEquivalence::ignoreValueEquivalence,
               nullptr, OperationEquivalence::IgnoreLocations);
  });
  if (found != alike.end())
    return {found->number, false};
  alike.push_back({op, std::move(flags), numGroups});
  return {numGroups++, true};
}

} // namespace mf::passes
