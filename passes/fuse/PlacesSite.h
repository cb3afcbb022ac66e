//===- PlacesSite.h - Patterns that place choices in experts ----*- C++ -*-===//

#ifndef MF_PASSES_FUSE_PLACESSITE_H
#define MF_PASSES_FUSE_PLACESSITE_H

#include "dialects/mf/MfOps.h"

namespace mf::passes {

/// The places of choices in experts of limited capacity, as operators of
/// tensors [rows, choices, experts] compute them.
struct PlacesSite {
  mf::ir::OneHotOp mask;
  mlir::Value chosen; ///< [rows, tokens, k], i32
  /// Places go to all first choices before the second ones.
  bool isKMajor = false;
  int64_t capacity = 0;

  /// 1 + the token of each place, 0 for none: [rows, experts, capacity], i32.
  mf::ir::CastOp dispatch;
  /// (capacity + 1) per expert, plus the place: [rows, tokens, k], i32.
  mf::ir::CastOp combine;
  /// Whether a choice has a place: [rows, tokens, k].
  mf::ir::CompareScalarOp kept;
  /// Kernels that are gone with it.
  int64_t numKernels = 0;
};

/// The site whose choices `mask` spreads out, if it is one.
std::optional<PlacesSite> matchPlaces(mf::ir::OneHotOp mask);

} // namespace mf::passes

#endif // MF_PASSES_FUSE_PLACESSITE_H
