//===- KernelCost.h - What a launch takes ---------------------*- C++ -*-===//

#ifndef MF_TARGET_KERNELCOST_H
#define MF_TARGET_KERNELCOST_H

#include "mf/Target/Target.h"

namespace mf::target {

/// What limits a launch.
enum class Limit : uint8_t { Compute, Memory, Latency };

struct KernelCost {
  double seconds = 0;
  Limit limit = Limit::Latency;
};

/// How programs were compiled for the device.
struct Compilation {
  /// jit_level O1: vector operators are fused, kernel by kernel.
  bool graphKernelFusion = false;
};

/// The time of one launch. An error if the target has no rate for the kernel's
/// kind or engine; it names the kind and the target.
llvm::Expected<KernelCost> getKernelCost(const Target &target,
                                         const KernelSignature &signature,
                                         const KernelSpec &spec,
                                         const Compilation &compilation);

} // namespace mf::target

#endif // MF_TARGET_KERNELCOST_H
