//===- LossParts.cpp - The losses whose sum is the loss -------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Exec/Data/LossParts.h"
#include "llvm/ADT/STLExtras.h"
#include <tuple>

namespace mf {

bool isLossPart(llvm::StringRef quantity) {
  return quantity.ends_with("_loss");
}

void sortLossParts(LossParts &parts) {
  auto getPlace = [](llvm::StringRef name) {
    int64_t depth = 0;
    if (name == "lm_loss")
      return std::tuple(0, depth, name);
    if (name.consume_front("mtp_") && !name.consumeInteger(10, depth))
      return std::tuple(2, depth, name);
    return std::tuple(1, depth, name);
  };
  llvm::sort(parts, [&](const auto &one, const auto &other) {
    return getPlace(one.first) < getPlace(other.first);
  });
}

} // namespace mf
