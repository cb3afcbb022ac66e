//===- TrainerKernel.h - Operators that the trainer has as one --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_DIALECTS_MF_TRAINERKERNEL_H
#define MF_DIALECTS_MF_TRAINERKERNEL_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Operation.h"

namespace mf::ir {

/// Several operators of a layer that the trainer of the YAML computes in its
/// own way, such as by one fused kernel. The account of the trainer's memory
/// takes the numbers below in place of what the operators would keep. The
/// numbers have no effect on mf's own program.
struct TrainerKernel {
  /// The attribute of each of the operators:
  ///
  /// ```mlir
  /// mf.trainer_kernel = {name = "core_attention", keeps_operands,
  ///                      keeps_results, kept = 1024, forward = 0,
  ///                      backward = 512}
  /// ```
  ///
  /// Operators of one layer with equal attributes are one kernel.
  static constexpr llvm::StringLiteral attributeName = "mf.trainer_kernel";

  /// The name in the layer, under which reports have the kernel.
  llvm::StringRef name;
  /// Whether backward reads the values from outside of the kernel that the
  /// kernel reads, and those of its own that others read.
  bool keepsOperands = false, keepsResults = false;
  /// The bytes on one rank of what the kernel keeps beside these values, and
  /// of what is alive beside all of them in its forward and in its backward.
  int64_t keptBytes = 0, forwardBytes = 0, backwardBytes = 0;

  /// Returns the kernel of an operator; none without the attribute.
  static std::optional<TrainerKernel> find(mlir::Operation *op);
  mlir::DictionaryAttr getAttr(mlir::MLIRContext *context) const;
  static mlir::LogicalResult verify(mlir::Operation *op, mlir::Attribute value);
};

} // namespace mf::ir

#endif // MF_DIALECTS_MF_TRAINERKERNEL_H
