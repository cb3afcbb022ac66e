//===- SectionReader.cpp - Typed reads from one section -------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "SectionReader.h"
#include "mf/Support/NearestName.h"
#include "llvm/ADT/StringExtras.h"

namespace mf {

void checkKeys(const Node &section, const KnownSection &known,
               DiagnosticList &diagnostics) {
  const std::vector<llvm::StringRef> names = known.getNames();
  for (const Node::Entry &entry : section.getEntries()) {
    llvm::StringRef name = entry.key.getText();
    const KnownKey *key = known.find(name);
    if (!llvm::is_contained(names, name)) {
      std::string text = "unknown key " + quote(name) + " in " +
                         known.name.str() + suggestName(name, names);
      if (known.isStrict)
        diagnostics.error(entry.key.getLocation(), text);
      else
        diagnostics.warning(entry.key.getLocation(),
                            text + " (the key is ignored)");
      continue;
    }
    if (key && key->use == KeyUse::NotModelled && !key->isNeutral(entry.value))
      diagnostics.warning(entry.key.getLocation(),
                          quote(name) + " in " + known.name.str() +
                              " changes the training step, but is not "
                              "modelled; it is ignored");
  }
}

SectionReader::SectionReader(const Node &section, const KnownSection &known,
                             DiagnosticList &diagnostics)
    : diagnostics(diagnostics), section(section), known(known) {
  if (section.isUndefinedOrNull() || section.isMap()) {
    checkKeys(section, known, diagnostics);
    return;
  }
  Diagnostic &error = diagnostics.error(
      section.getLocation(), "expected a map for " + known.name + ", but got " +
                                 describe(section.getKind()));
  llvm::StringRef text = section.getText();
  if (text.contains('='))
    error.attachNote(
        "write " +
        quote((text.split('=').first + ": " + text.split('=').second).str()));
  this->section = Node();
}

void SectionReader::rejectValue(const KnownKey &key, const Node &value,
                                const llvm::Twine &wanted) {
  mf::rejectValue(value, wanted + " for " + quote(key.name), diagnostics);
}

bool SectionReader::readBool(const KnownKey &key, bool missing) {
  Node value = get(key);
  if (!value)
    return missing;
  if (value.isBool())
    return *value.getBool();
  rejectValue(key, value, "a bool (True or False)");
  return missing;
}

int64_t SectionReader::readInt(const KnownKey &key, int64_t missing) {
  Node value = get(key);
  if (!value)
    return missing;
  std::optional<int64_t> number = value.getInt();
  if (number && key.takesMinusOne && *number == -1)
    return -1;
  if (number && *number >= key.smallest && *number <= key.largest)
    return *number;
  rejectValue(key, value, key.describeNumbers(number && *number > key.largest));
  return missing;
}

double SectionReader::readFloat(const KnownKey &key, double missing,
                                const NumberRange &range) {
  Node value = get(key);
  if (!value)
    return missing;
  std::optional<double> number = value.getNumber();
  if (number && range.contains(*number))
    return *number;
  rejectValue(key, value, number ? range.words : NumberRange().words);
  return missing;
}

std::string SectionReader::readString(const KnownKey &key,
                                      llvm::StringRef missing,
                                      llvm::ArrayRef<llvm::StringRef> choices) {
  Node value = get(key);
  if (!value)
    return missing.str();
  llvm::StringRef text = value.getText();
  if (!value.isString())
    rejectValue(key, value, "a string");
  else if (choices.empty() || llvm::is_contained(choices, text))
    return text.str();
  else
    diagnostics.error(value.getLocation(),
                      "unknown " + key.name + " " + quote(text) +
                          suggestName(text, choices) + "; known are " +
                          llvm::join(choices, ", "));
  return missing.str();
}

void SectionReader::read(const KnownKey &key, TrainingConfig &config) {
  Node value = get(key);
  if (!key.field || !value ||
      (key.takesNull && value.getKind() == NodeKind::Null))
    return;
  auto readValue = [&](auto &member) {
    using Value = std::decay_t<decltype(member)>;
    if constexpr (std::is_same_v<Value, bool>)
      member = readBool(key, member);
    else if constexpr (std::is_same_v<Value, int64_t>)
      member = readInt(key, member);
    else if constexpr (std::is_same_v<Value, double>)
      member = readFloat(key, member, key.range);
    else if constexpr (std::is_same_v<Value, std::string>)
      member = readString(key, member,
                          key.choices ? key.choices()
                                      : llvm::ArrayRef<llvm::StringRef>());
    else if constexpr (std::is_same_v<Value, LayerSetting>)
      if (auto setting =
              readLayerSetting(value, key.name, key.takesPatterns, diagnostics))
        member = std::move(*setting);
  };
  auto readMember = [&](auto member) {
    using Value = decltype(member);
    if constexpr (std::is_pointer_v<Value>) {
      if constexpr (std::is_same_v<Value, std::optional<bool> *> ||
                    std::is_same_v<Value, std::optional<int64_t> *> ||
                    std::is_same_v<Value, std::optional<double> *>)
        readValue(member->emplace());
      else
        readValue(*member);
    }
  };
  std::visit(readMember, key.field(config));
}

void SectionReader::warnOfKeys(PartId part, const llvm::Twine &reason) {
  for (const KnownKey &key : known.keys)
    if (Node value = key.part == part ? get(key) : Node())
      diagnostics.warning(value.getLocation(),
                          quote(key.name) + " has no effect: " + reason);
}

void SectionReader::readAll(TrainingConfig &config) {
  for (const KnownKey &key : known.keys)
    read(key, config);
}

} // namespace mf
