//===- SwiGluSite.h - Patterns of SiLU times a product ----------*- C++ -*-===//

#ifndef MF_PASSES_FUSE_SWIGLUSITE_H
#define MF_PASSES_FUSE_SWIGLUSITE_H

#include "dialects/mf/MfOps.h"

namespace mf::passes {

/// silu(gate) * up.
struct SwiGluSite {
  mf::ir::MulOp product;
  mf::ir::SiluOp silu;
  mlir::Value gate, up;
  /// The value of which both are halves, or none: along dimension `dim`, whose
  /// first half is the gate.
  mlir::Value whole;
  int64_t dim = 0;

  /// Whether gate and up alternate: there is nothing behind `dim`, which is 2.
  bool alternates() const;
};

/// The site whose product is `product`, if it is one.
std::optional<SwiGluSite> matchSwiGlu(mf::ir::MulOp product);

/// [..., 2, width] of gate and up, for mf.swiglu. Operators are named for the
/// Cell `cell`, or all of them `name` if it is not empty.
mlir::Value joinGateAndUp(mlir::OpBuilder &builder, const SwiGluSite &site,
                          llvm::StringRef cell, llvm::StringRef name);

} // namespace mf::passes

#endif // MF_PASSES_FUSE_SWIGLUSITE_H
