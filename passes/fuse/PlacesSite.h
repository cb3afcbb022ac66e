//===- PlacesSite.h - Patterns that place choices in experts ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_PASSES_FUSE_PLACESSITE_H
#define MF_PASSES_FUSE_PLACESSITE_H

#include "dialects/mf/MfOps.h"

namespace mf::passes {

/// The assignment of choices to places in experts of limited capacity, computed
/// by operators on tensors [rows, choices, experts].
struct PlacesSite {
  mf::ir::OneHotOp mask;
  mlir::Value chosen; ///< [rows, tokens, k], i32
  /// True if all first choices get places before the second ones.
  bool isKMajor = false;
  int64_t capacity = 0;

  /// 1 + the token of each place, 0 for none: [rows, experts, capacity], i32.
  mf::ir::CastOp dispatch;
  /// (capacity + 1) * expert + place: [rows, tokens, k], i32.
  mf::ir::CastOp combine;
  /// The operator that computes if a choice has a place: [rows, tokens, k].
  mf::ir::CompareScalarOp kept;
  /// The number of kernels that the fusion removes.
  int64_t numKernels = 0;
};

/// Returns the site in which `mask` is the one-hot form of the choices, if it
/// is one.
std::optional<PlacesSite> matchPlaces(mf::ir::OneHotOp mask);

} // namespace mf::passes

#endif // MF_PASSES_FUSE_PLACESSITE_H
