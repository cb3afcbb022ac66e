//===- HighwayTargets.h - Instruction sets compiled for -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// AVX-512, and AVX2 for every other supported processor (InstructionSet.h
// rejects the rest). Highway's baseline, one element at a time, and the sets in
// between would take three quarters of the time to compile loops. Include this
// before Highway's own headers.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_EXEC_KERNELS_HIGHWAYTARGETS_H
#define MF_LIB_EXEC_KERNELS_HIGHWAYTARGETS_H

#define HWY_BASELINE_TARGETS HWY_AVX2
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL)

#endif // MF_LIB_EXEC_KERNELS_HIGHWAYTARGETS_H
