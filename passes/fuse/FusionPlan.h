//===- FusionPlan.h - Chooses operators to fuse -----------------*- C++ -*-===//
//
// The decision of the fusions as a plain value. Knows no MLIR.
//
//===----------------------------------------------------------------------===//

#ifndef MF_PASSES_FUSE_FUSIONPLAN_H
#define MF_PASSES_FUSE_FUSIONPLAN_H

#include "llvm/Support/raw_ostream.h"
#include <cstdint>
#include <string>
#include <vector>

namespace mf::passes {

/// Operators of a layer that may become one.
struct FusionSite {
  std::string layer; ///< of the model, as `layers.0`
  std::string name;  ///< that the one operator gets
  /// How many kernels run in place of how many.
  int64_t kernelsBefore = 1, kernelsAfter = 1;
  /// Bytes that backward needs of them, and of the one.
  int64_t keptBefore = 0, keptAfter = 0;
  /// MindSpore Transformers has no other form of it.
  bool isAlways = false;
  /// Its layer class has no fused form: a dense layer beside layers with
  /// experts.
  bool isNever = false;
  /// The decision.
  bool isFused = false;
};

struct FusionPlan {
  std::vector<FusionSite> sites;

  int64_t getNumFused() const;
  /// Kernels that do not run any more, and bytes that are no longer kept.
  int64_t getKernelsSaved() const;
  int64_t getBytesSaved() const;

  /// `what` is the operator that is made.
  void print(llvm::StringRef what, llvm::raw_ostream &os) const;
};

/// Fuses what `isAsked` for, and what always is.
FusionPlan planFusion(std::vector<FusionSite> sites, bool isAsked);

} // namespace mf::passes

#endif // MF_PASSES_FUSE_FUSIONPLAN_H
