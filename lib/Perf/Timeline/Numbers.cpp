//===- Numbers.cpp - Numbers in JSON --------------------------------------===//

#include "Numbers.h"
#include <charconv>
#include <cmath>
#include <iterator>

namespace mf::timeline {

std::string formatNumber(double value) {
  if (!std::isfinite(value))
    return "null";
  char buffer[32];
  const auto result =
      std::to_chars(std::begin(buffer), std::end(buffer), value);
  return std::string(std::begin(buffer), result.ptr);
}

void addNumber(llvm::json::OStream &json, llvm::StringRef name, double value) {
  json.attributeBegin(llvm::json::fixUTF8(name));
  json.rawValue(formatNumber(value));
  json.attributeEnd();
}

} // namespace mf::timeline
