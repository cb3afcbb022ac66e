//===- CannPlan.h - What CANN needs of a program ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// This file decides which launches get a larger workspace. It takes and returns
// plain values and does not depend on MLIR.
//
//===----------------------------------------------------------------------===//

#ifndef MF_PASSES_CANN_CANNPLAN_H
#define MF_PASSES_CANN_CANNPLAN_H

#include "mf/Program/Signatures/KernelSpec.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/raw_ostream.h"

namespace mf::passes {

/// A launch before the pass has changed it.
struct LaunchForCann {
  KernelSpec spec;
  int64_t workspaceBytes = 0;
};

/// A workspace that replaces the one of a launch, if it has one.
struct PlannedWorkspace {
  /// The index of the launch in the list that was given.
  size_t launch = 0;
  int64_t bytes = 0;
};

/// Sums up the launches of one kernel that need temporary memory on CANN.
struct KernelOnCann {
  std::string name;
  /// The number of launches that get a larger workspace, and the number of all
  /// launches that need one.
  int64_t changed = 0, launches = 0;
  /// The size of the largest workspace in bytes, and the temporaries that lie
  /// in it, for example "i64[32], f32[32x64]".
  int64_t bytes = 0;
  std::string temporaries;
};

/// Counts the launches of a kernel that programs on CANN cannot launch.
struct MissingKernel {
  std::string name;
  /// The reason, or empty if CANN has no counterpart of the kernel.
  std::string refusal;
  int64_t launches = 0;
};

/// The changes that a program needs before it can run on CANN.
struct CannPlan {
  std::vector<PlannedWorkspace> workspaces;
  /// The kernels that need temporary memory, sorted by name.
  std::vector<KernelOnCann> kernels;
  std::vector<MissingKernel> missing;
};

/// Finds what the launches need from the records of their kernels.
CannPlan planForCann(llvm::ArrayRef<LaunchForCann> launches);

/// Prints one line for each kernel of the plan.
void printCannPlan(const CannPlan &plan, llvm::raw_ostream &os);

} // namespace mf::passes

#endif // MF_PASSES_CANN_CANNPLAN_H
