//===- NumberText.h - Times and memory in messages ------------*- C++ -*-===//

#ifndef MF_LIB_PLAN_NUMBERTEXT_H
#define MF_LIB_PLAN_NUMBERTEXT_H

#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>
#include <string>

namespace mf::plan {

/// Prints ten digits, which hides the rounding errors of sums of decimal
/// fractions; whole numbers, such as bytes, are printed in full.
inline std::string toText(double number) {
  constexpr double mostWhole = 1e15;
  const bool isWhole =
      std::abs(number) < mostWhole && number == std::round(number);
  std::string text;
  llvm::raw_string_ostream(text)
      << llvm::format(isWhole ? "%.0f" : "%.10g", number);
  return text;
}

} // namespace mf::plan

#endif // MF_LIB_PLAN_NUMBERTEXT_H
