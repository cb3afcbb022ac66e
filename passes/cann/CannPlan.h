//===- CannPlan.h - What CANN needs of a program ----------------*- C++ -*-===//
//
// The decision as a plain value. Knows no MLIR.
//
//===----------------------------------------------------------------------===//

#ifndef MF_PASSES_CANN_CANNPLAN_H
#define MF_PASSES_CANN_CANNPLAN_H

#include "mf/Program/Signatures/KernelSpec.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/raw_ostream.h"

namespace mf::passes {

/// A launch as it is.
struct LaunchForCann {
  KernelSpec spec;
  int64_t workspaceBytes = 0;
};

/// A workspace that a launch gets, in place of the one that it may have.
struct PlannedWorkspace {
  size_t launch = 0;
  int64_t bytes = 0;
};

/// The launches of one kernel that need memory on CANN.
struct KernelOnCann {
  std::string name;
  /// The launches that get a larger workspace, and all.
  int64_t changed = 0, launches = 0;
  /// The largest workspace, and what lies in it: "i64[32], f32[32x64]".
  int64_t bytes = 0;
  std::string temporaries;
};

/// The launches of a kernel that CANN has no counterpart of.
struct MissingKernel {
  std::string name;
  int64_t launches = 0;
};

struct CannPlan {
  std::vector<PlannedWorkspace> workspaces;
  /// By name.
  std::vector<KernelOnCann> kernels;
  std::vector<MissingKernel> missing;
};

/// Derives all from the records of the kernels.
CannPlan planForCann(llvm::ArrayRef<LaunchForCann> launches);

/// A line for each kernel.
void printCannPlan(const CannPlan &plan, llvm::raw_ostream &os);

} // namespace mf::passes

#endif // MF_PASSES_CANN_CANNPLAN_H
