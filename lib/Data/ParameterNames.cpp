//===- ParameterNames.cpp - Parameters under other names ------------------===//

#include "mf/Data/ParameterNames.h"
#include "ParameterNameTable.h"
#include "ParameterRows.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/Twine.h"

using namespace llvm;

namespace mf {

namespace {

struct SchemeName {
  NameScheme scheme;
  const char *name;
};

constexpr SchemeName schemeNames[] = {
    {NameScheme::Llama, "Llama"},
    {NameScheme::LlamaConcatenated, "LlamaConcatenated"},
    {NameScheme::Qwen, "Qwen"},
    {NameScheme::QwenConcatenated, "QwenConcatenated"},
    {NameScheme::Telechat, "Telechat"},
    {NameScheme::ChatGlm, "ChatGlm"},
    {NameScheme::ChatGlmSeparate, "ChatGlmSeparate"},
    {NameScheme::Mcore, "Mcore"},
    {NameScheme::HuggingFace, "HuggingFace"},
    {NameScheme::HuggingFaceBaichuan, "HuggingFaceBaichuan"},
    {NameScheme::HuggingFaceQwen, "HuggingFaceQwen"},
    {NameScheme::HuggingFaceTelechat, "HuggingFaceTelechat"},
    {NameScheme::HuggingFaceChatGlm, "HuggingFaceChatGlm"},
};

} // namespace

StringRef getName(NameScheme scheme) {
  for (const SchemeName &entry : schemeNames)
    if (entry.scheme == scheme)
      return entry.name;
  llvm_unreachable("unknown scheme");
}

ArrayRef<NameScheme> getAllNameSchemes() {
  static const std::vector<NameScheme> schemes = [] {
    std::vector<NameScheme> all;
    all.reserve(std::size(schemeNames));
    for (const SchemeName &entry : schemeNames)
      all.push_back(entry.scheme);
    return all;
  }();
  return schemes;
}

std::optional<ParameterName> parseParameterName(StringRef name) {
  ParameterName parsed;
  const ParameterPattern *pattern =
      matchParameterPattern(name, parsed.layer, parsed.isBias);
  if (!pattern)
    return std::nullopt;
  parsed.parts = pattern->parts.get();
  parsed.order = pattern->order;
  return parsed;
}

std::vector<std::string> translateParameterName(StringRef name,
                                                NameScheme scheme) {
  std::vector<std::string> names;
  const std::optional<ParameterName> parsed = parseParameterName(name);
  if (!parsed)
    return names;
  for (ParameterPart part : parsed->parts) {
    std::string found;
    for (const ParameterPattern &pattern : getParameterPatterns())
      if (pattern.isIn(scheme) && pattern.has(part))
        found = pattern.getName(parsed->layer, parsed->isBias);
    if (found.empty())
      return {};
    if (names.empty() || names.back() != found)
      names.push_back(std::move(found));
  }
  return names;
}

Expected<std::vector<NamedShape>>
convertParameterList(ArrayRef<NamedShape> parameters, NameScheme scheme,
                     const ParameterLayout &layout) {
  std::vector<NamedShape> converted;
  StringSet<> seen;
  for (const NamedShape &parameter : parameters) {
    const std::vector<std::string> names =
        translateParameterName(parameter.name, scheme);
    if (names.empty())
      return createStringError(inconvertibleErrorCode(),
                               "parameter '" + parameter.name +
                                   "' has no name in the scheme " +
                                   getName(scheme));
    const ParameterName own = *parseParameterName(parameter.name);
    Expected<PartRows> rows =
        PartRows::create(parameter.name, own, parameter.shape.dims, layout);
    if (!rows)
      return rows.takeError();
    for (const std::string &name : names) {
      if (!seen.insert(name).second)
        continue;
      NamedShape result{name, parameter.shape};
      if (!result.shape.dims.empty()) {
        result.shape.dims[0] = 0;
        const ParameterName other = *parseParameterName(name);
        for (ParameterPart part : other.parts)
          result.shape.dims[0] += rows->getRows(part);
      }
      converted.push_back(std::move(result));
    }
  }
  return converted;
}

} // namespace mf
