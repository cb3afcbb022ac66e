//===- KernelTable.h - Kernels and their lower bounds -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A kernel takes at least the time of its matrix products at the rate of large
// products, and the time in which its operands stream through memory. The time
// of kernels above these bounds is the time that a step could still save.
//
//===----------------------------------------------------------------------===//

#ifndef MF_PERF_TIMELINE_KERNELTABLE_H
#define MF_PERF_TIMELINE_KERNELTABLE_H

#include "mf/Perf/Timeline/StepTimeline.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/raw_ostream.h"
#include <vector>

namespace mf::timeline {

/// All calls of equal kernels in the step, on all stages that are shown.
/// Numbers are sums over these calls.
struct KernelWork {
  /// Activity::kind and Activity::name. The name is empty in a sum over all
  /// kernels of a kind.
  std::string kind, name;
  /// The shapes of the operands. Empty in a sum over all kernels of a kind.
  std::vector<TensorShape> inputs, outputs;
  int64_t calls = 0;
  double seconds = 0;
  int64_t flops = 0;
  /// The bytes of all operands. Operands that are read and written count twice.
  int64_t bytes = 0;
  /// The sum over all calls of the larger of the times of FLOPs and bytes at
  /// the given rates, in seconds.
  double bound = 0;

  /// Adds the calls of another sum with their times and bounds.
  void add(const KernelWork &work);

  double getExcess() const { return seconds - bound; }
  /// Returns the bound divided by the time; 0 if the kernels took no time.
  double getBoundShare() const { return seconds > 0 ? bound / seconds : 0; }
};

/// Returns the element type that a kernel works in
/// (mf/Program/Signatures/KernelSpec.h).
DType getWorkType(const Activity &kernel);

/// Returns the kernels of a step by name, types and shapes, in descending order
/// of their excess over the bound. FLOPs count at the rate of the type that the
/// kernel works in, or of f32 if there is no rate for that type. They do not
/// count if there is none for f32 either.
std::vector<KernelWork> listKernels(const StepTimeline &timeline,
                                    const BoundRates &rates);

/// Sums kernels up by kind.
std::vector<KernelWork> sumByKind(llvm::ArrayRef<KernelWork> kernels);

/// Prints a table by kind, and a table by name and shapes in which kernels that
/// take little time are merged into one line.
void printKernels(llvm::ArrayRef<KernelWork> kernels, const BoundRates &rates,
                  llvm::raw_ostream &os);

} // namespace mf::timeline

#endif // MF_PERF_TIMELINE_KERNELTABLE_H
