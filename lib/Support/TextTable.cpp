//===- TextTable.cpp - Aligned columns of text ----------------------------===//

#include "mf/Support/TextTable.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatAdapters.h"
#include "llvm/Support/FormatVariadic.h"
#include <algorithm>
#include <cmath>

namespace mf {

void TextTable::print(llvm::raw_ostream &os) const {
  if (empty())
    return;
  std::vector<size_t> widths(rows.front().size(), 0);
  for (const std::vector<std::string> &row : rows)
    for (size_t i = 0; i < row.size(); ++i)
      widths[i] = std::max(widths[i], row[i].size());
  for (const std::vector<std::string> &row : rows) {
    os << llvm::left_justify(row.front(), widths.front());
    for (size_t i = 1; i < row.size(); ++i)
      os << "  " << llvm::right_justify(row[i], widths[i]);
    os << "\n";
  }
}

/// Digits behind the point with which `value` shows `digits` that count.
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

} // namespace mf
