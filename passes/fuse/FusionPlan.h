//===- FusionPlan.h - Chooses operators to fuse -----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The decisions of the fusions as a plain value. This file does not depend on
// MLIR.
//
//===----------------------------------------------------------------------===//

#ifndef MF_PASSES_FUSE_FUSIONPLAN_H
#define MF_PASSES_FUSE_FUSIONPLAN_H

#include "llvm/Support/raw_ostream.h"
#include <cstdint>
#include <string>
#include <vector>

namespace mf::passes {

/// Operators of a layer that may be fused into one.
struct FusionSite {
  std::string layer; ///< the layer of the model, for example `layers.0`
  std::string name;  ///< the name of the fused operator
  /// The numbers of kernels before and after the fusion.
  int64_t kernelsBefore = 1, kernelsAfter = 1;
  /// The bytes that backward needs of the unfused and of the fused operators.
  int64_t keptBefore = 0, keptAfter = 0;
  /// True if MindSpore Transformers has no unfused form.
  bool isAlways = false;
  /// True if its layer class has no fused form: a dense layer in a model that
  /// has layers with experts.
  bool isNever = false;
  /// The decision.
  bool isFused = false;
};

struct FusionPlan {
  std::vector<FusionSite> sites;

  int64_t getNumFused() const;
  /// Return the number of kernels that no longer run, and the bytes that are no
  /// longer kept.
  int64_t getKernelsSaved() const;
  int64_t getBytesSaved() const;

  /// `what` is the fused operator.
  void print(llvm::StringRef what, llvm::raw_ostream &os) const;
};

/// Fuses all sites if `isAsked` is true, and otherwise those that always are.
FusionPlan planFusion(std::vector<FusionSite> sites, bool isAsked);

} // namespace mf::passes

#endif // MF_PASSES_FUSE_FUSIONPLAN_H
