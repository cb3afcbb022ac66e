//===- StepKernels.h - The kernels of a step of a 134M Llama ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_BENCHMARKS_KERNELS_STEPKERNELS_H
#define MF_BENCHMARKS_KERNELS_STEPKERNELS_H

#include "KernelBenchmark.h"

namespace mf {

/// 12 layers, hidden 768, feed-forward 2048, vocabulary 32000, batch 4,
/// sequence 512, 12 heads; and kernels that steps of other models have, with no
/// calls.
std::vector<StepKernel> listStepKernels(DType type);

} // namespace mf

#endif // MF_BENCHMARKS_KERNELS_STEPKERNELS_H
