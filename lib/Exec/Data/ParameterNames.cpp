//===- ParameterNames.cpp - Naming schemes of parameters ------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Exec/Data/ParameterNames.h"
#include "ParameterNameTable.h"
#include "ParameterParts.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/Twine.h"
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

} // namespace mf
