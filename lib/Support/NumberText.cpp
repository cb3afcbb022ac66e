//===- NumberText.cpp - Numbers as text -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Support/NumberText.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

namespace mf {

/// Returns the number of decimals with which `value` is printed with `digits`
/// significant digits.
static int getDecimals(double value, int digits, int fewest) {
  constexpr int most = 9;
  if (!(std::abs(value) > 0) || !std::isfinite(value))
    return fewest;
  const int magnitude =
      static_cast<int>(std::floor(std::log10(std::abs(value))));
  return std::clamp(digits - 1 - magnitude, fewest, most);
}

int getDecimals(double value, int fewest) {
  return getDecimals(value, 4, fewest);
}

std::string formatRounded(double value) {
  std::string text = formatFixed(value, getDecimals(value, 6, 0));
  if (text.find('.') == std::string::npos)
    return text;
  text.resize(text.find_last_not_of('0') + 1);
  if (text.back() == '.')
    text.pop_back();
  return text;
}

std::string formatFixed(double value, int decimals) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%.*f", decimals, value);
  return text;
}

std::string formatDigits(double value, int digits) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%.*g", digits, value);
  return text;
}

std::string formatAmount(double value) {
  constexpr double mostWhole = 1e15;
  const bool isWhole =
      std::abs(value) < mostWhole && value == std::round(value);
  return isWhole ? formatFixed(value, 0) : formatDigits(value, 10);
}

std::string formatExact(double value) {
  // The shortest form of a double has at most 24 characters.
  std::array<char, 32> buffer{};
  const std::to_chars_result end =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  return {buffer.data(), end.ptr};
}

} // namespace mf
