//===- DropRates.cpp - Fractions of tokens that experts dropped -----------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Program/DropRates.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;

namespace mf {

bool isDropRate(const std::string &quantity) {
  return StringRef(quantity).starts_with(drop_rate::logged) ||
         StringRef(quantity).starts_with(drop_rate::dropped);
}

int64_t getLayerNumber(StringRef parameter) {
  const auto [before, behind] = parameter.split("layers.");
  int64_t layer = 0;
  StringRef rest = behind;
  if (rest.consumeInteger(10, layer))
    return 0;
  return layer;
}

std::vector<DropRates>
collectDropRates(const std::map<std::string, std::vector<float>> &reports) {
  std::map<int64_t, DropRates> layers;
  for (const auto &[quantity, values] : reports) {
    StringRef name = quantity;
    const bool isLogged = name.consume_front(drop_rate::logged);
    if (!isLogged && !name.consume_front(drop_rate::dropped))
      continue;
    DropRates &rates = layers[getLayerNumber(name)];
    rates.layer = getLayerNumber(name);
    (isLogged ? rates.logged : rates.dropped) = values;
  }
  std::vector<DropRates> sorted;
  for (auto &[layer, rates] : layers)
    sorted.push_back(std::move(rates));
  return sorted;
}

std::vector<std::string> formatDropRates(const std::vector<DropRates> &rates) {
  std::vector<std::string> lines;
  for (const DropRates &layer : rates)
    for (float rate : layer.logged)
      lines.push_back(
          formatv("INFO - layer: {0}, drop_rate: {1:f5}", layer.layer, rate)
              .str());
  return lines;
}

} // namespace mf
