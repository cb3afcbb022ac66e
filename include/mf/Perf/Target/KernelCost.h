//===- KernelCost.h - The time of a launch ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_PERF_TARGET_KERNELCOST_H
#define MF_PERF_TARGET_KERNELCOST_H

#include "mf/Perf/Target/Target.h"

namespace mf::target {

/// The component that determines the time of a launch.
enum class Limit : uint8_t { Compute, Memory, Latency };

/// The time of a launch, and its limit.
struct KernelCost {
  /// The duration of the launch on the device.
  double seconds = 0;
  Limit limit = Limit::Latency;
};

/// Properties of the compilation that the duration of a kernel depends on, in
/// addition to its specification.
struct Compilation {
  /// jit_level O1: vector operators are fused, kernel by kernel.
  bool graphKernelFusion = false;
  /// For kernels with the operand `counts`, whose number of rows is data: the
  /// fraction of the available rows that are filled. FLOPs and rows are scaled
  /// by it.
  double filledRows = 1;
};

/// The duration of one launch is the longer of
///   flops / (peak * peakShare * saturations)   and   passes * bytes / rate
/// plus the latency of the kind. The peak is that of the kernel's engine for
/// the element type of the largest input. If peakShare is 0, operations take no
/// time. The rate is that of device memory. For the vector engine it includes
/// the gain for data that stay in the cache. Passes are those of fused kernels
/// if the program was compiled so and the kind has them. The time of a chain is
/// the sum of its steps; whether the device fuses them depends on the program's
/// compilation. A kernel that multiplies gradients by factors takes as long as
/// one with a launch for each product, because devices run it so.
///
/// Fails if the target has no rate for the kernel's kind or engine, or if the
/// rate depends on a measure that the kernel does not have. The message names
/// the kernel, its kind and the target.
llvm::Expected<KernelCost> getKernelCost(const Target &target,
                                         const KernelSignature &signature,
                                         const KernelSpec &spec,
                                         const Compilation &compilation);

} // namespace mf::target

#endif // MF_PERF_TARGET_KERNELCOST_H
