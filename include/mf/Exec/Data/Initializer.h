//===- Initializer.h - Initial values of parameters -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Initial values of parameters. They depend only on the seed, the parameter's
// name and the element's index, not on the number of stages, ranks or threads,
// nor on the order in which parameters are filled. Any slice can be computed
// separately.
//
// Element i of the parameter called NAME uses word i mod 4 of Philox 4x32-10
// with counter (low, high half of i div 4; low, high half of the 64-bit FNV-1a
// hash of NAME) and the seed as key. A word w stands for the probability
// (w + 1/2) / 2^32, which the inverse normal distribution function (Wichura,
// Algorithm AS 241, PPND16) turns into a value, and Uniform stretches to its
// bounds; it is computed in double and rounded to fp32 once, then to the
// parameter's type.
//
// The distributions are MindSpore's (mindspore.common.initializer): Normal is
// not truncated, and its default sigma, which "normal" stands for, is 0.01.
//
//===----------------------------------------------------------------------===//

#ifndef MF_EXEC_DATA_INITIALIZER_H
#define MF_EXEC_DATA_INITIALIZER_H

#include "mf/Support/DType.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>

namespace mf {

/// The initial value of a parameter.
struct Initializer {
  enum class Kind : uint8_t { Zeros, Ones, Normal, Uniform };
  Kind kind = Kind::Zeros;
  /// The mean and the standard deviation of the normal distribution. A uniform
  /// distribution ranges from -sigma to sigma.
  double mean = 0;
  double sigma = 0.01;

  static Initializer zeros();
  static Initializer ones();
  static Initializer normal(double sigma = 0.01, double mean = 0);
  static Initializer uniform(double bound);
};

/// Returns the 64-bit FNV-1a hash of a name, which is the same on all machines
/// and in all releases.
uint64_t hashParameterName(llvm::StringRef name);

/// Fills `bytes` with elements [firstElement, firstElement + n) of parameter
/// `name` for `seed`, as `type` (f32, bf16 or f16). Callers may split a
/// parameter among threads. Fails on an integer type, on bytes that are not a
/// whole number of elements, and on an invalid distribution (sigma negative or
/// not finite, empty bounds).
llvm::Error initializeElements(const Initializer &initializer, uint64_t seed,
                               llvm::StringRef name, int64_t firstElement,
                               DType type,
                               llvm::MutableArrayRef<uint8_t> bytes);

/// Returns the standard normal quantile of `probability`, which must be in (0,
/// 1).
double inverseNormal(double probability);

} // namespace mf

#endif // MF_EXEC_DATA_INITIALIZER_H
