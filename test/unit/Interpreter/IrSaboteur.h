//===- IrSaboteur.h - Random wrong rewrites of a step ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_TEST_UNIT_INTERPRETER_IRSABOTEUR_H
#define MF_TEST_UNIT_INTERPRETER_IRSABOTEUR_H

#include "mlir/IR/BuiltinOps.h"
#include <random>
#include <string>

namespace mf::tools {

/// Breaks one operation of a training step at random: leaves it out, repeats
/// it, exchanges operands, takes another operand, changes an attribute or
/// exchanges what a function returns. Breaks the functions and routines of
/// chunks, in the mf dialect or in the ascend dialect, and their runs in a
/// schedule or calls in a step; not what updates parameters.
class IrSaboteur {
public:
  explicit IrSaboteur(uint64_t seed) : random(seed) {}

  /// Says what it did; empty if there was nothing to do in the operation that
  /// it drew.
  std::string breakOne(mlir::ModuleOp module);

private:
  size_t draw(size_t count);
  std::string leaveOut(mlir::Operation *op);
  std::string repeat(mlir::Operation *op);
  std::string exchange(mlir::Operation *op);
  std::string takeAnother(mlir::Operation *op);
  std::string changeAttribute(mlir::Operation *op);
  mlir::Attribute change(mlir::Attribute attribute);
  bool isBreakable(mlir::Operation *op);

  std::mt19937_64 random;
};

} // namespace mf::tools

#endif // MF_TEST_UNIT_INTERPRETER_IRSABOTEUR_H
