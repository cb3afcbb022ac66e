//===- MemorySize.cpp - Sizes as users write them -------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Frontend/Config/MemorySize.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <tuple>

namespace mf {

/// Removes the unit from the end of `text` and returns its bytes; none if there
/// is no unit.
static std::optional<int64_t> consumeUnit(llvm::StringRef &text) {
  for (const auto &[letter, shift] :
       {std::pair("G", 30), std::pair("M", 20), std::pair("K", 10)})
    for (const char *rest : {"iB", "B", ""})
      if (text.consume_back(std::string(letter) + rest))
        return int64_t(1) << shift;
  if (text.consume_back("B"))
    return 1;
  return std::nullopt;
}

/// Returns the bytes of a number with a unit, in any range.
static std::optional<double> parseNumberWithUnit(llvm::StringRef text) {
  const std::optional<int64_t> unit = consumeUnit(text);
  double number = 0;
  if (!unit || text.empty() ||
      text.find_first_not_of("0123456789.") != llvm::StringRef::npos ||
      text.getAsDouble(number))
    return std::nullopt;
  return number * static_cast<double>(*unit);
}

std::optional<int64_t> parseMemorySize(llvm::StringRef text) {
  const std::optional<double> bytes = parseNumberWithUnit(text);
  if (!bytes || *bytes < 1 || *bytes > static_cast<double>(int64_t(1) << 50))
    return std::nullopt;
  return static_cast<int64_t>(*bytes);
}

std::string explainMemorySize(llvm::StringRef text) {
  if (parseNumberWithUnit(text) && !parseMemorySize(text))
    return "a size from 1B to 1048576GB, but got '" + text.str() + "'";
  std::string expected =
      "a size with a unit, such as 54GB, 512MiB or 4096B, but got '" +
      text.str() + "'";
  const std::string inGb = text.str() + "GB";
  if (const std::optional<int64_t> bytes = parseMemorySize(inGb))
    expected +=
        ", which has no unit; '" + inGb + "' is " + describeMemorySize(*bytes);
  return expected;
}

std::string writeMemorySize(int64_t bytes) {
  for (const auto &[name, shift] : {std::pair("GB", 30), std::pair("MB", 20)}) {
    const int64_t unit = int64_t(1) << shift;
    const double number =
        static_cast<double>(bytes) / static_cast<double>(unit);
    for (const char *format : {"{0:f0}", "{0:f1}", "{0:f2}"}) {
      const std::string text = llvm::formatv(format, number).str() + name;
      if (bytes >= unit && parseMemorySize(text) == bytes)
        return text;
    }
  }
  constexpr int64_t kib = 1 << 10;
  return std::to_string((bytes + kib - 1) / kib) + "KB";
}

std::string describeMemorySize(int64_t bytes) {
  const double gib =
      static_cast<double>(bytes) / static_cast<double>(int64_t(1) << 30);
  if (gib < 0.005)
    return std::to_string(bytes) + " bytes";
  return llvm::formatv("{0} bytes ({1:F2} GiB)", bytes, gib);
}

std::vector<std::pair<std::string, int64_t>>
sortBySize(const std::map<std::string, int64_t> &bytesByCategory) {
  std::vector<std::pair<std::string, int64_t>> sorted(bytesByCategory.begin(),
                                                      bytesByCategory.end());
  llvm::sort(sorted, [](const auto &lhs, const auto &rhs) {
    return std::tie(rhs.second, lhs.first) < std::tie(lhs.second, rhs.first);
  });
  return sorted;
}

} // namespace mf
