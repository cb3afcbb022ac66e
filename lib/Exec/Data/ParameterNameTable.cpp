//===- ParameterNameTable.cpp - All names of all schemes ------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "ParameterNameTable.h"
#include "llvm/ADT/StringExtras.h"
#include <array>

using namespace llvm;

namespace mf {

static AttentionKind getKind(const ParameterLayout &layout) {
  if (layout.transposesQueries)
    return AttentionKind::TransposedHeads;
  if (!layout.latent)
    return AttentionKind::Heads;
  return layout.latent->querySize > 0 ? AttentionKind::Latent
                                      : AttentionKind::DirectQueries;
}

/// Reads a number as names spell it: decimal, without leading zeros.
static bool consumeNumber(StringRef &name, int64_t &number) {
  const StringRef digits = name.take_while(isDigit);
  if (digits.empty() || (digits.size() > 1 && digits[0] == '0') ||
      digits.getAsInteger(10, number))
    return false;
  name = name.drop_front(digits.size());
  return true;
}

/// Removes the wildcard for weight or bias from the end of `pattern` and
/// returns the names that it stands for; empty names if there is none.
static std::pair<StringRef, StringRef> consumeKinds(StringRef &pattern) {
  if (pattern.consume_back("*"))
    return {"weight", "bias"};
  if (pattern.consume_back("~"))
    return {"gamma", "beta"};
  return {};
}

static bool match(StringRef pattern, StringRef name,
                  const ParameterLayout &layout, ParameterName &where) {
  where = ParameterName();
  const auto [weight, bias] = consumeKinds(pattern);
  while (!pattern.empty()) {
    const StringRef fixed =
        pattern.take_until([](char c) { return StringRef("#%@").contains(c); });
    if (!name.consume_front(fixed))
      return false;
    pattern = pattern.drop_front(fixed.size());
    if (pattern.empty())
      break;
    if (!consumeNumber(name, pattern[0] == '@' ? where.expert : where.layer))
      return false;
    if (pattern[0] == '%') {
      // Larger numbers could overflow the sum.
      constexpr int64_t limit = int64_t{1} << 32;
      if (layout.numLayers <= 0 || where.layer > limit)
        return false;
      where.layer += layout.numLayers;
    }
    pattern = pattern.drop_front();
  }
  if (weight.empty())
    return name.empty();
  where.isBias = name == bias;
  return where.isBias || name == weight;
}

/// In mcore the layers that predict additional tokens have their own names.
static constexpr StringLiteral decoderLayers = "decoder.layers.";
static constexpr StringLiteral predictionLayers = "mtp.layers.";
static constexpr StringLiteral transformerLayer = ".transformer_layer.";

/// Converts "mtp.layers.0.transformer_layer.x" to "decoder.layers.61.x".
static std::string countBehindDecoder(StringRef name,
                                      const ParameterLayout &layout) {
  StringRef rest = name;
  int64_t index = 0;
  if (layout.numLayers <= 0 || !rest.consume_front(predictionLayers) ||
      !consumeNumber(rest, index) || !rest.consume_front(transformerLayer) ||
      index > INT64_MAX - layout.numLayers)
    return name.str();
  return decoderLayers.str() + std::to_string(layout.numLayers + index) + "." +
         rest.str();
}

std::string ParameterPattern::getName(const ParameterName &where,
                                      const ParameterLayout &layout) const {
  StringRef rest(pattern);
  const auto [weight, bias] = consumeKinds(rest);
  const bool isPrediction =
      layout.numLayers > 0 && where.layer >= layout.numLayers;
  if (where.isBias && weight.empty())
    return {};
  std::string name;
  if (isPrediction && rest.consume_front(decoderLayers)) {
    rest = rest.drop_front(2); // "#."
    name = predictionLayers.str() +
           std::to_string(where.layer - layout.numLayers) +
           transformerLayer.str();
  }
  for (char c : rest) {
    if (c == '%' && !isPrediction)
      return {};
    if (c == '#')
      name += std::to_string(where.layer);
    else if (c == '%')
      name += std::to_string(where.layer - layout.numLayers);
    else if (c == '@')
      name += std::to_string(where.expert);
    else
      name += c;
  }
  name += where.isBias ? bias : weight;
  return name;
}

ParameterName ParameterPattern::describe(const ParameterName &where) const {
  ParameterName result = where;
  result.parts = parts.get();
  result.order = order;
  result.form = form;
  result.rotatesPairs = rotatesPairs;
  return result;
}

ArrayRef<const ParameterPattern *>
getParameterPatterns(const ParameterLayout &layout) {
  static const auto all = [] {
    std::array<std::vector<const ParameterPattern *>, 4> byKind;
    for (ArrayRef<ParameterPattern> table :
         {getDensePatterns(), getExpertPatterns(), getLatentPatterns(),
          getPredictionPatterns()})
      for (const ParameterPattern &pattern : table)
        for (auto [kind, list] : enumerate(byKind))
          if (pattern.isOf(static_cast<AttentionKind>(kind)))
            list.push_back(&pattern);
    return byKind;
  }();
  return all[static_cast<size_t>(getKind(layout))];
}

const ParameterPattern *matchParameterPattern(StringRef name,
                                              const ParameterLayout &layout,
                                              ParameterName &where) {
  // Mcore models may be wrapped in one more Cell.
  StringRef unwrapped = name;
  unwrapped.consume_front("model.");
  const std::string inMcore = countBehindDecoder(unwrapped, layout);
  const std::string own = unwrapped == name ? inMcore : name.str();
  const ArrayRef<const ParameterPattern *> patterns =
      getParameterPatterns(layout);
  for (const ParameterPattern *pattern : patterns)
    if (match(pattern->pattern, own, layout, where))
      return pattern;
  if (unwrapped != name)
    for (const ParameterPattern *pattern : patterns)
      if (pattern->isIn(NameScheme::Mcore) &&
          match(pattern->pattern, inMcore, layout, where))
        return pattern;
  return nullptr;
}

} // namespace mf
