//===- Maximum.h - The larger of two elements ------------------*- C++ -*-===//
//
// The one maximum over ranks: the runner and the interpreter both call it, so
// that it depends neither on them nor on the order of the ranks.
//
//===----------------------------------------------------------------------===//

#ifndef MF_TENSOR_MAXIMUM_H
#define MF_TENSOR_MAXIMUM_H

#include <cmath>
#include <type_traits>

namespace mf {

/// As IEEE 754-2019 has `maximum`: a NaN if either is one, and +0 is larger
/// than -0.
template <typename Element> Element getMaximum(Element a, Element b) {
  if constexpr (std::is_floating_point_v<Element>) {
    if (std::isnan(a) || std::isnan(b))
      return std::isnan(a) ? a : b;
    if (a == b)
      return std::signbit(a) ? b : a;
  }
  return b > a ? b : a;
}

} // namespace mf

#endif // MF_TENSOR_MAXIMUM_H
