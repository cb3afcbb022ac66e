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

#include "ElementTypes.h"
#include <cstdint>
#include <type_traits>

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
#define MF_LOOP(...)                                                           \
  (*(mf::getLoopSet() == mf::LoopSet::Avx512 ? &N_AVX3::__VA_ARGS__            \
                                             : &N_AVX2::__VA_ARGS__))
#else
#define MF_LOOP(...) (*&N_NEON::__VA_ARGS__)
#endif

// Names of functions take no parentheses.
// NOLINTBEGIN(bugprone-macro-parentheses)

/// The same of a function template, for the C++ type of a floating-point type.
#define MF_LOOP_OF(type, function)                                             \
  (*mf::dispatchFloat(type, [](auto *element) {                                \
    return &MF_LOOP(function<std::remove_pointer_t<decltype(element)>>);       \
  }))

/// The same for the C++ types of two floating-point types.
#define MF_LOOP_OF_TWO(type, other, function)                                  \
  (*mf::dispatchFloat(type, [&](auto *first) {                                 \
    return mf::dispatchFloat(other, [](auto *second) {                         \
      return &MF_LOOP(function<std::remove_pointer_t<decltype(first)>,         \
                               std::remove_pointer_t<decltype(second)>>);      \
    });                                                                        \
  }))

// NOLINTEND(bugprone-macro-parentheses)

#endif // MF_LIB_EXEC_KERNELS_LOOPDISPATCH_H
