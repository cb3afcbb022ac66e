//===- MemorySize.cpp - Sizes as users write them -------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Frontend/Config/MemorySize.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <tuple>

namespace mf {

std::optional<int64_t> parseMemorySize(llvm::StringRef text) {
  int64_t unit = 1;
  if (text.consume_back("GB"))
    unit = int64_t(1) << 30;
  else if (text.consume_back("MB"))
    unit = int64_t(1) << 20;
  else if (text.consume_back("KB"))
    unit = int64_t(1) << 10;
  double number = 0;
  if (text.empty() ||
      text.find_first_not_of("0123456789.") != llvm::StringRef::npos ||
      text.getAsDouble(number))
    return std::nullopt;
  double bytes = number * static_cast<double>(unit);
  if (bytes < 1 || bytes > static_cast<double>(int64_t(1) << 50))
    return std::nullopt;
  return static_cast<int64_t>(bytes);
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
