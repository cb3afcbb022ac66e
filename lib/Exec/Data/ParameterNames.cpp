//===- ParameterNames.cpp - Naming schemes of parameters ------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Exec/Data/ParameterNames.h"
#include "ParameterNameTable.h"
#include "ParameterParts.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/Twine.h"
#include <array>
#include <set>

using namespace llvm;

namespace mf {

std::optional<ParameterName> parseParameterName(StringRef name,
                                                const ParameterLayout &layout) {
  ParameterName where;
  const ParameterPattern *pattern = matchParameterPattern(name, layout, where);
  if (!pattern)
    return std::nullopt;
  return pattern->describe(where);
}

/// Returns the names in `scheme` of the parts of `parsed`; empty if one of them
/// has none.
static std::vector<std::string> translate(const ParameterName &parsed,
                                          NameScheme scheme,
                                          const ParameterLayout &layout) {
  std::vector<std::string> names;
  const int64_t experts = parsed.isStacked() ? layout.numExperts : 1;
  for (int64_t expert = 0; expert < experts; ++expert)
    for (ParameterPart part : parsed.parts) {
      ParameterName where = parsed;
      if (parsed.isStacked())
        where.expert = expert;
      std::string found;
      for (const ParameterPattern &pattern : getParameterPatterns(layout))
        if (pattern.isIn(scheme) && pattern.has(part))
          if (std::string own = pattern.getName(where, layout); !own.empty())
            found = std::move(own);
      if (found.empty())
        return {};
      if (names.empty() || names.back() != found)
        names.push_back(std::move(found));
    }
  return names;
}

std::vector<std::string> translateParameterName(StringRef name,
                                                NameScheme scheme,
                                                const ParameterLayout &layout) {
  const std::optional<ParameterName> parsed = parseParameterName(name, layout);
  return parsed ? translate(*parsed, scheme, layout)
                : std::vector<std::string>();
}

/// Adds the copies of embedding and head that `scheme` has in the layers that
/// predict more tokens.
static void addCopies(ArrayRef<NamedShape> parameters, NameScheme scheme,
                      const ParameterLayout &layout,
                      std::vector<NamedShape> &converted) {
  const NamedShape *table = nullptr;
  std::set<int64_t> layers;
  for (const NamedShape &parameter : parameters) {
    const ParameterName name = *parseParameterName(parameter.name, layout);
    if (name.parts[0] == ParameterPart::Embedding)
      table = &parameter;
    if (name.parts[0] == ParameterPart::PredictionNorm)
      layers.insert(name.layer);
  }
  if (!table)
    return;
  for (int64_t layer : layers)
    for (const ParameterPart &part :
         {ParameterPart::PredictionEmbedding, ParameterPart::PredictionHead}) {
      ParameterName wanted;
      wanted.layer = layer;
      wanted.parts = part;
      for (std::string &name : translate(wanted, scheme, layout))
        converted.push_back({std::move(name), table->shape});
    }
}

Expected<std::vector<NamedShape>>
convertParameterList(ArrayRef<NamedShape> parameters, NameScheme scheme,
                     const ParameterLayout &layout) {
  std::vector<NamedShape> converted;
  StringSet<> seen;
  for (const NamedShape &parameter : parameters) {
    const std::vector<std::string> names =
        translateParameterName(parameter.name, scheme, layout);
    if (names.empty())
      return createStringError(inconvertibleErrorCode(),
                               "parameter '" + parameter.name +
                                   "' has no name in the scheme " +
                                   getName(scheme) +
                                   "; only models whose parameters all have "
                                   "names there can be converted");
    Expected<PartShapes> shapes = PartShapes::create(
        parameter.name, *parseParameterName(parameter.name, layout),
        parameter.shape.dims, layout);
    if (!shapes)
      return shapes.takeError();
    for (const std::string &name : names) {
      if (!seen.insert(name).second)
        continue;
      NamedShape result{name, {parameter.shape.type, {}}};
      append_range(result.shape.dims,
                   shapes->getDims(*parseParameterName(name, layout)));
      converted.push_back(std::move(result));
    }
  }
  addCopies(parameters, scheme, layout, converted);
  return converted;
}

//===----------------------------------------------------------------------===//
// All names of all schemes
//===----------------------------------------------------------------------===//

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
