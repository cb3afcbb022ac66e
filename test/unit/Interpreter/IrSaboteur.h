//===- IrSaboteur.h - Breaks operations at random ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_TEST_UNIT_INTERPRETER_IRSABOTEUR_H
#define MF_TEST_UNIT_INTERPRETER_IRSABOTEUR_H

#include "mlir/IR/Operation.h"
#include <random>
#include <string>

namespace mf::tools {

/// Breaks an operation at random: leaves it out, repeats it, exchanges
/// operands, takes another operand, changes an attribute or exchanges what a
/// function returns.
class IrSaboteur {
public:
  explicit IrSaboteur(uint64_t seed) : random(seed) {}

  /// Breaks one of the operations. Says what it did; empty if there was nothing
  /// to do in the operation that it drew.
  std::string breakOne(llvm::ArrayRef<mlir::Operation *> operations);

private:
  size_t draw(size_t count);
  std::string leaveOut(mlir::Operation *op);
  std::string repeat(mlir::Operation *op);
  std::string exchange(mlir::Operation *op);
  std::string takeAnother(mlir::Operation *op);
  std::string changeAttribute(mlir::Operation *op);
  mlir::Attribute change(mlir::Attribute attribute);

  std::mt19937_64 random;
};

} // namespace mf::tools

#endif // MF_TEST_UNIT_INTERPRETER_IRSABOTEUR_H
