//===- LoopDispatch.h - Which version of a loop runs ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Highway compiles each loop once for each instruction set. Highway's own
// choice between these versions is a library, which measures the resolution of
// the processor's clock whenever a process loads it: 6 ms, of the 9 ms in which
// mf-run starts. All else of Highway that kernels use is in its headers.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_EXEC_KERNELS_LOOPDISPATCH_H
#define MF_LIB_EXEC_KERNELS_LOOPDISPATCH_H

#include <cstdint>

namespace mf {

/// The instruction sets that loops are compiled for (HighwayTargets.h), in
/// ascending order. Loops have the same bits on AVX2 and on NEON, where a
/// vector is two of the processor's (EightLanes-inl.h).
enum class LoopSet : uint8_t { None, EightLanes, Avx512 };

/// Returns the best set that the processor, the system and oneDNN's limit
/// allow. Loops must not run if it is `None`.
LoopSet getLoopSet();

/// For tests: limits the result of getLoopSet() for its lifetime.
class LoopSetLimit {
public:
  explicit LoopSetLimit(LoopSet most);
  ~LoopSetLimit();
  LoopSetLimit(const LoopSetLimit &) = delete;
  LoopSetLimit &operator=(const LoopSetLimit &) = delete;
};

} // namespace mf

/// The version of a function of HWY_NAMESPACE for getLoopSet().
#if defined(__x86_64__)
#define MF_LOOP(function)                                                      \
  (*(mf::getLoopSet() == mf::LoopSet::Avx512 ? &N_AVX3::function               \
                                             : &N_AVX2::function))
#else
#define MF_LOOP(function) (*&N_NEON::function)
#endif

#endif // MF_LIB_EXEC_KERNELS_LOOPDISPATCH_H
