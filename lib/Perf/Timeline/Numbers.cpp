//===- Numbers.cpp - Numbers in JSON --------------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "Numbers.h"
#include "mf/Support/NumberText.h"
#include <cmath>

namespace mf::timeline {

std::string formatJsonNumber(double value) {
  return std::isfinite(value) ? formatExact(value) : "null";
}

void addNumber(llvm::json::OStream &json, llvm::StringRef name, double value) {
  json.attributeBegin(llvm::json::fixUTF8(name));
  json.rawValue(formatJsonNumber(value));
  json.attributeEnd();
}

} // namespace mf::timeline
