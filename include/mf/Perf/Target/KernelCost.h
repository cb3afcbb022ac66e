//===- KernelCost.h - The time of a launch ----------------------*- C++ -*-===//

#ifndef MF_TARGET_KERNELCOST_H
#define MF_TARGET_KERNELCOST_H

#include "mf/Perf/Target/Target.h"

namespace mf::target {

/// The part of a launch's time that is longest.
enum class Limit : uint8_t { Compute, Memory, Latency };

struct KernelCost {
  /// Time of the launch from its start to its end on the device.
  double seconds = 0;
  Limit limit = Limit::Latency;
};

/// The compiler's choices that a kernel's time depends on, besides its
/// specification.
struct Compilation {
  /// jit_level O1: vector operators are fused, kernel by kernel.
  bool graphKernelFusion = false;
  /// For kernels that take `counts`, where the number of rows is data: the
  /// share of the rows with room that are filled. Their FLOPs and rows are
  /// scaled by it.
  double filledRows = 1;
};

/// The time of one launch: the longer of
///   flops / (peak * peakShare * saturations)   and   passes * bytes / rate,
/// and the kind's latency on top. The peak is that of the kernel's engine for
/// the element type of the largest input; without a share of it operations take
/// no time. The rate is the memory's, for the vector engine with its gain for
/// data that stay in the cache. Passes are those of fused kernels where the
/// program was compiled so and the kind has them. A chain takes the sum of its
/// steps: whether the device fuses them is the program's compilation. A kernel
/// that multiplies gradients by factors takes as long as with a launch for each
/// product, as devices have it.
///
/// It is an error if the target has no rate for the kernel's kind or engine, or
/// makes it depend on a measure that the kernel does not have; the message
/// names the kernel, its kind and the target.
llvm::Expected<KernelCost> getKernelCost(const Target &target,
                                         const KernelSignature &signature,
                                         const KernelSpec &spec,
                                         const Compilation &compilation);

} // namespace mf::target

#endif // MF_TARGET_KERNELCOST_H
