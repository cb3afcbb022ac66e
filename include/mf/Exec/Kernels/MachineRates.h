//===- MachineRates.h - Measured peak rates of this machine -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Measures the rates from which lower bounds of kernels are computed, with the
// threads that run the kernels. Each measurement takes a fraction of a second.
// Nothing else should run meanwhile.
//
//===----------------------------------------------------------------------===//

#ifndef MF_EXEC_KERNELS_MACHINERATES_H
#define MF_EXEC_KERNELS_MACHINERATES_H

#include "mf/Exec/Kernels/ThreadPool.h"
#include "mf/Support/DType.h"

namespace mf {

/// Returns the time in seconds on some clock.
using Clock = llvm::function_ref<double()>;

/// Returns the FLOPs per second of a large product of square matrices, as the
/// fastest of a few runs. `type` must be a floating-point type.
double measureProductRate(DType type, ThreadPool &pool, Clock clock);

/// Returns the bytes read and written per second by `c = a + b` on arrays of 64
/// MiB each, as the fastest of a few runs. The loop is not a kernel.
double measureStreamingRate(ThreadPool &pool, Clock clock);

} // namespace mf

#endif // MF_EXEC_KERNELS_MACHINERATES_H
