//===- Comparisons.h - Pairs of computations with equal results -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_BENCHMARKS_KERNELS_COMPARISONS_H
#define MF_BENCHMARKS_KERNELS_COMPARISONS_H

#include "KernelBenchmark.h"

namespace mf {

/// The products of experts grouped against one after another, at several widths
/// and loads; rotary embedding and SwiGLU fused against the chains of kernels
/// that a model without the fusion launches. Operands are of `type`.
void compareKernels(Benchmark &benchmark, DType type);

} // namespace mf

#endif // MF_BENCHMARKS_KERNELS_COMPARISONS_H
