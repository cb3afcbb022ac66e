//===- SwiGluSite.h - Patterns of SiLU times a product ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_PASSES_FUSE_SWIGLUSITE_H
#define MF_PASSES_FUSE_SWIGLUSITE_H

#include "dialects/mf/MfOps.h"

namespace mf::passes {

/// The pattern silu(gate) * up.
struct SwiGluSite {
  mf::ir::MulOp product;
  mf::ir::SiluOp silu;
  mlir::Value gate, up;
  /// The value of which both are halves, or null. They are halves along
  /// dimension `dim`, the first of which is the gate.
  mlir::Value whole;
  int64_t dim = 0;

  /// Returns whether gate and up alternate: `dim` is the last dimension and has
  /// size 2.
  bool alternates() const;
};

/// Returns the site with this product, if it is one.
std::optional<SwiGluSite> matchSwiGlu(mf::ir::MulOp product);

/// Returns [..., 2, width] of gate and up for mf.swiglu. Operators are named
/// for the Cell `cell`, or all get the name `name` if it is not empty.
mlir::Value joinGateAndUp(mlir::OpBuilder &builder, const SwiGluSite &site,
                          llvm::StringRef cell, llvm::StringRef name);

} // namespace mf::passes

#endif // MF_PASSES_FUSE_SWIGLUSITE_H
