//===- HighwayTargets.h - Instruction sets compiled for -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// On x86-64, AVX-512, and AVX2 for every other supported processor
// (InstructionSet.h rejects the rest). Highway's baseline, one element at a
// time, and the sets in between would take three quarters of the time to
// compile loops. On AArch64, NEON, which each processor has: vectors of SVE
// have another number of lanes, and so other bits, on each processor. Include
// this before Highway's own headers.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_EXEC_KERNELS_HIGHWAYTARGETS_H
#define MF_LIB_EXEC_KERNELS_HIGHWAYTARGETS_H

#if defined(__x86_64__)
#define HWY_BASELINE_TARGETS HWY_AVX2
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL)
#elif defined(__aarch64__)
#define HWY_BASELINE_TARGETS HWY_NEON
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE_256 | HWY_SVE2 | HWY_SVE2_128)
#else
#error "kernels are for x86-64 and AArch64"
#endif

#endif // MF_LIB_EXEC_KERNELS_HIGHWAYTARGETS_H
