//===- ParameterNameTable.cpp - All names of all schemes ------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "ParameterNameTable.h"
#include "llvm/ADT/StringExtras.h"
#include <array>

using namespace llvm;

namespace mf {

/// The facts of the kinds of attention whose parameters have different names.
static constexpr std::array<FactSet, 4> attentions = {
    Fact::Heads, Fact::TransposedHeads, Fact::Latent,
    Fact::Latent | Fact::LatentQuery};

/// Returns the index of the attention that reads parameters of `layout`.
static size_t getAttention(const ParameterLayout &layout) {
  if (!layout.latent)
    return layout.transposesQueries ? 1 : 0;
  return layout.latent->querySize > 0 ? 3 : 2;
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
    const StringRef fixed = pattern.take_until(
        [](char c) { return StringRef("#$%@").contains(c); });
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

std::string ParameterPattern::getName(const ParameterName &where,
                                      const ParameterLayout &layout) const {
  StringRef rest(pattern);
  const auto [weight, bias] = consumeKinds(rest);
  const bool isPrediction =
      layout.numLayers > 0 && where.layer >= layout.numLayers;
  if (where.isBias && weight.empty())
    return {};
  std::string name;
  for (char c : rest) {
    if ((c == '%' && !isPrediction) || (c == '$' && isPrediction))
      return {};
    if (c == '#' || c == '$')
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
  result.parts = stored.parts.get();
  result.order = stored.order;
  result.form = stored.form;
  result.rotatesPairs = stored.rotatesPairs;
  return result;
}

//===----------------------------------------------------------------------===//
// Patterns from the records of families
//===----------------------------------------------------------------------===//

/// Returns the parameters of a Cell: its weight, and its bias if it may have
/// one.
static StringRef getLeaf(const Stored &stored, const ModelCells &cells) {
  switch (stored.parts.parts[0]) {
  case ParameterPart::AttentionNorm:
  case ParameterPart::FeedForwardNorm:
  case ParameterPart::FinalNorm:
    return cells.norms;
  case ParameterPart::Query:
  case ParameterPart::Key:
  case ParameterPart::Value:
  case ParameterPart::AttentionOutput:
  case ParameterPart::Gate:
  case ParameterPart::Up:
  case ParameterPart::Down:
    return "*";
  default:
    return "weight";
  }
}

namespace {
/// Collects the names of all schemes, each once.
class PatternList {
public:
  explicit PatternList(FactSet attention) : attention(attention) {}

  void add(const NameSchemeRecord &record) {
    const ModelCells &cells = *record.cells;
    add(record, cells.model, "");
    // Layers inside of those that predict additional tokens have their names.
    const bool isInside = When(Fact::JoinsNext).mayHold({}, record.open);
    add(record, cells.layer, (cells.layers + (isInside ? ".$." : ".#.")).str());
    add(record, cells.join, (cells.joins + ".%.").str());
  }

  std::vector<ParameterPattern> take() { return std::move(patterns); }

private:
  void add(const NameSchemeRecord &record, ArrayRef<CellRow> rows,
           const std::string &prefix) {
    constexpr FactSet ofAttention =
        Fact::Heads | Fact::TransposedHeads | Fact::Latent | Fact::LatentQuery;
    const FactSet facts = record.facts | intersect(attention, record.open);
    const FactSet open = subtract(record.open, ofAttention);
    visitCells(
        rows, [&](When when) { return when.mayHold(facts, open); },
        [&](const CellRow &row, const std::string &path) {
          if (row.stored.parts.count == 0)
            return;
          std::string pattern = prefix + path;
          if (!row.isParameter)
            pattern += ("." + getLeaf(row.stored, *record.cells)).str();
          add(pattern, row.stored, record);
        });
  }

  void add(const std::string &pattern, const Stored &stored,
           const NameSchemeRecord &record) {
    auto isSame = [&](const ParameterPattern &known) {
      return known.pattern == pattern && known.stored == stored;
    };
    auto found = llvm::find_if(patterns, isSame);
    if (found == patterns.end())
      found = patterns.insert(found, {0, pattern, stored, {}, {}});
    found->schemes |= uint32_t{1} << static_cast<unsigned>(record.scheme);
    if (found->extraPrefix.empty())
      found->extraPrefix = record.cells->extraPrefix;
    if (found->missingPrefix.empty())
      found->missingPrefix = record.cells->missingPrefix;
  }

  FactSet attention;
  std::vector<ParameterPattern> patterns;
};
} // namespace

ArrayRef<ParameterPattern> getParameterPatterns(const ParameterLayout &layout) {
  static const auto all = [] {
    std::array<std::vector<ParameterPattern>, attentions.size()> lists;
    for (auto [list, attention] : zip_equal(lists, attentions)) {
      PatternList patterns(attention);
      for (const NameSchemeRecord &record : getNameSchemes())
        patterns.add(record);
      list = patterns.take();
    }
    return lists;
  }();
  return all[getAttention(layout)];
}

const ParameterPattern *matchParameterPattern(StringRef name,
                                              const ParameterLayout &layout,
                                              ParameterName &where) {
  const ArrayRef<ParameterPattern> patterns = getParameterPatterns(layout);
  for (const ParameterPattern &pattern : patterns)
    if (match(pattern.pattern, name, layout, where))
      return &pattern;
  for (const ParameterPattern &pattern : patterns) {
    StringRef rest = name;
    if (!pattern.extraPrefix.empty() &&
        rest.consume_front(pattern.extraPrefix) &&
        match(pattern.pattern, rest, layout, where))
      return &pattern;
  }
  return nullptr;
}

} // namespace mf
