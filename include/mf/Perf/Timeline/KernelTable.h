//===- KernelTable.h - Kernels beside their lower bounds ------*- C++ -*-===//
//
// No kernel can be faster than its products of matrices at the rate of large
// ones, or than its operands stream through memory. The time of kernels above
// these bounds is the time that a step could still gain.
//
//===----------------------------------------------------------------------===//

#ifndef MF_TIMELINE_KERNELTABLE_H
#define MF_TIMELINE_KERNELTABLE_H

#include "mf/Perf/Timeline/StepTimeline.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/raw_ostream.h"
#include <vector>

namespace mf::timeline {

/// All calls in the step of kernels that are alike, on all stages that are
/// shown. Everything but the names is summed up over the calls.
struct KernelWork {
  /// Activity::kind and Activity::name; the latter is empty for all kernels of
  /// a kind.
  std::string kind, name;
  /// The shapes of the operands; empty for all kernels of a kind.
  std::vector<TensorShape> inputs, outputs;
  int64_t calls = 0;
  double seconds = 0;
  int64_t flops = 0;
  /// Each operand once, those that are read and written twice.
  int64_t bytes = 0;
  /// In seconds: for each call, the larger of the times of its FLOPs and of its
  /// bytes at the rates.
  double bound = 0;

  /// Adds the calls of another, with their times and bounds.
  void add(const KernelWork &work);

  double getExcess() const { return seconds - bound; }
  /// The lower bound's share of the time; 0 if no time was taken.
  double getBoundShare() const { return seconds > 0 ? bound / seconds : 0; }
};

/// The element type that a kernel works in (mf/Program/Signatures/WorkType.h).
DType getWorkType(const Activity &kernel);

/// The kernels of a step by name, types and shapes. Largest excess first.
/// FLOPs count at the rate of the type that the kernel works in,
/// or of f32 if that has none; not at all if there is none for f32.
std::vector<KernelWork> listKernels(const StepTimeline &timeline,
                                    const BoundRates &rates);

/// Sums kernels up by kind.
std::vector<KernelWork> sumByKind(llvm::ArrayRef<KernelWork> kernels);

/// Tables by kind, and by name and shapes, where what takes little is one line.
void printKernels(llvm::ArrayRef<KernelWork> kernels, const BoundRates &rates,
                  llvm::raw_ostream &os);

} // namespace mf::timeline

#endif // MF_TIMELINE_KERNELTABLE_H
