//===- MachineRates.h - Measured peak rates of this machine -----*- C++ -*-===//
//
// Rates with which lower bounds of kernels are counted, measured with the
// threads that run the kernels. Each takes a fraction of a second; nothing else
// should run.
//
//===----------------------------------------------------------------------===//

#ifndef MF_KERNELS_MACHINERATES_H
#define MF_KERNELS_MACHINERATES_H

#include "mf/Exec/Kernels/ThreadPool.h"
#include "mf/Support/DType.h"

namespace mf {

/// Seconds on some clock.
using Clock = llvm::function_ref<double()>;

/// FLOPs per second of a large product of square matrices, the fastest of a few
/// runs. `type` is a floating-point type.
double measureProductRate(DType type, ThreadPool &pool, Clock clock);

/// Bytes per second, read and written together, of `c = a + b` on arrays of 64
/// MiB each: a plain loop, no kernel. The fastest of a few runs.
double measureStreamingRate(ThreadPool &pool, Clock clock);

} // namespace mf

#endif // MF_KERNELS_MACHINERATES_H
