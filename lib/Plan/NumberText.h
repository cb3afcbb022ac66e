//===- NumberText.h - Times and memory in messages ------------*- C++ -*-===//

#ifndef MF_LIB_PLAN_NUMBERTEXT_H
#define MF_LIB_PLAN_NUMBERTEXT_H

#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>
#include <string>

namespace mf::plan {

/// Ten digits: what sums of decimal fractions have behind them is not shown. Of
/// whole numbers, as bytes are, all.
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
