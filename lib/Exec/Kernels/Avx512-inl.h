//===- Avx512-inl.h - Code for AVX-512 ------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Code between MF_BEGIN_AVX512 and MF_END_AVX512 is compiled for processors
// with MatrixUnit::Avx512, and may only be called on those. Functions that make
// bf16 need MatrixUnit::Amx.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_EXEC_KERNELS_AVX512_INL_H
#define MF_LIB_EXEC_KERNELS_AVX512_INL_H

#include "hwy/base.h"
#include <immintrin.h>

#define MF_BEGIN_AVX512                                                        \
  HWY_PUSH_ATTRIBUTES("avx512f,avx512bw,avx512dq,avx512vl,avx512bf16,avx2,"    \
                      "fma")
#define MF_END_AVX512 HWY_POP_ATTRIBUTES

#endif // MF_LIB_EXEC_KERNELS_AVX512_INL_H
