//===- NumberText.h - Times and memory in messages ------------*- C++ -*-===//

#ifndef MF_LIB_PLAN_NUMBERTEXT_H
#define MF_LIB_PLAN_NUMBERTEXT_H

#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"
#include <string>

namespace mf::plan {

/// Ten digits: what sums of decimal fractions have behind them is not shown.
inline std::string toText(double number) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%.10g", number);
  return text;
}

} // namespace mf::plan

#endif // MF_LIB_PLAN_NUMBERTEXT_H
