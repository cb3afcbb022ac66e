//===- HighwayTargets.h - Instruction sets compiled for -------*- C++ -*-===//
//
// AVX-512, AVX2, and the baseline for every other x86-64. Those in between
// would only lengthen the build. Include before Highway's own headers.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_KERNELS_HIGHWAYTARGETS_H
#define MF_LIB_KERNELS_HIGHWAYTARGETS_H

#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL)

#endif // MF_LIB_KERNELS_HIGHWAYTARGETS_H
