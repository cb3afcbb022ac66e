//===- SectionReader.cpp - Typed reads from one section -------------------===//

#include "SectionReader.h"
#include <cmath>

namespace mf {

static bool isNeutral(const Node &value, llvm::StringRef neutral) {
  if (neutral.empty())
    return false;
  std::string text = value.repr();
  llvm::SmallVector<llvm::StringRef> spellings;
  neutral.split(spellings, '|');
  return llvm::is_contained(spellings, llvm::StringRef(text));
}

static const KnownKey *find(const KnownSection &known, llvm::StringRef name) {
  for (const KnownKey &key : known.keys)
    if (key.name == name)
      return &key;
  return nullptr;
}

void checkKeys(const Node &section, const KnownSection &known,
               DiagnosticList &diagnostics) {
  llvm::SmallVector<llvm::StringRef> names;
  for (const KnownKey &key : known.keys)
    names.push_back(key.name);
  for (const Node::Entry &entry : section.getEntries()) {
    llvm::StringRef name = entry.key.getText();
    const KnownKey *key = find(known, name);
    if (!key) {
      std::string text = "unknown key " + quote(name) + " in " +
                         known.name.str() + suggest(name, names);
      if (known.isStrict)
        diagnostics.error(entry.key.getLocation(), text);
      else
        diagnostics.warning(entry.key.getLocation(),
                            text + " (the key is ignored)");
      continue;
    }
    if (key->use == KeyUse::NotModelled &&
        !isNeutral(entry.value, key->neutral))
      diagnostics.warning(entry.key.getLocation(),
                          quote(name) + " in " + known.name.str() +
                              " changes the training step, but is not "
                              "modelled; it is ignored");
  }
}

SectionReader::SectionReader(const Node &parent, llvm::StringRef key,
                             const KnownSection &known,
                             DiagnosticList &diagnostics)
    : SectionReader(parent[key], known, diagnostics) {}

SectionReader::SectionReader(const Node &section, const KnownSection &known,
                             DiagnosticList &diagnostics)
    : diagnostics(diagnostics), section(section), name(known.name) {
  if (section.isUndefinedOrNull() || section.isMap()) {
    checkKeys(section, known, diagnostics);
    return;
  }
  Diagnostic &error = diagnostics.error(
      section.getLocation(), "expected a map for " + name + ", but got " +
                                 describe(section.getKind()));
  llvm::StringRef text = section.getText();
  if (text.contains('='))
    error.attachNote(
        "write " +
        quote((text.split('=').first + ": " + text.split('=').second).str()));
  this->section = Node();
}

void SectionReader::rejectValue(llvm::StringRef key, const Node &value,
                                const llvm::Twine &wanted) {
  diagnostics.error(value.getLocation(),
                    "expected " + wanted + " for '" + key + "', but got " +
                        describe(value.getKind()) + ", " + value.repr(60));
}

bool SectionReader::readBool(llvm::StringRef key, bool missing) {
  Node value = get(key);
  if (!value)
    return missing;
  if (value.isBool())
    return *value.getBool();
  rejectValue(key, value, "a bool (True or False)");
  return missing;
}

int64_t SectionReader::readInt(llvm::StringRef key, int64_t missing,
                               int64_t smallest, int64_t largest) {
  Node value = get(key);
  if (!value)
    return missing;
  std::optional<int64_t> number = value.getInt();
  if (number && *number >= smallest && *number <= largest)
    return *number;
  if (largest == std::numeric_limits<int32_t>::max())
    rejectValue(key, value, "an int of at least " + llvm::Twine(smallest));
  else
    rejectValue(key, value,
                "an int from " + llvm::Twine(smallest) + " to " +
                    llvm::Twine(largest));
  return missing;
}

std::optional<double> getLenientFloat(const Node &node) {
  std::optional<double> number = node.getFloat();
  double parsed = 0;
  if (node.isString() && !node.getText().empty() &&
      node.getText().find_first_not_of("0123456789.eE+-") ==
          llvm::StringRef::npos &&
      !node.getText().getAsDouble(parsed))
    number = parsed;
  if (!number || !std::isfinite(*number))
    return std::nullopt;
  return number;
}

double SectionReader::readFloat(llvm::StringRef key, double missing) {
  Node value = get(key);
  if (!value)
    return missing;
  if (std::optional<double> number = getLenientFloat(value))
    return *number;
  rejectValue(key, value, "a number");
  return missing;
}

std::string SectionReader::readString(llvm::StringRef key,
                                      llvm::StringRef missing) {
  Node value = get(key);
  if (!value)
    return missing.str();
  if (value.isString())
    return value.getText().str();
  rejectValue(key, value, "a string");
  return missing.str();
}

} // namespace mf
