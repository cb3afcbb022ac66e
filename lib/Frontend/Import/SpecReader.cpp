//===- SpecReader.cpp - Typed reads from a model configuration ------------===//
// SPDX-License-Identifier: Apache-2.0

#include "SpecReader.h"
#include "mf/Support/NearestName.h"
#include "mf/Support/NumberText.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"
#include <limits>
#include <set>

namespace mf {

void SpecReader::markRead(const Keys &keys) {
  for (llvm::StringRef key : getNames(keys))
    if (!wasRead(key))
      readKeys.push_back(key);
}

void SpecReader::listRead(llvm::StringRef prefix,
                          std::map<std::string, std::string> &keys) const {
  for (const llvm::StringRef key : readKeys)
    if (const Node value = section[key]; !value.isUndefinedOrNull())
      keys[(prefix + key).str()] = describeKeyValue(value);
  keys.insert(besideKeys.begin(), besideKeys.end());
}

void SpecReader::markWithoutEffect(const Keys &keys, llvm::StringRef why) {
  markRead(keys);
  const llvm::StringRef key = nameOf(keys);
  auto found = llvm::find_if(
      described, [&](const KeyHelp &help) { return help.name == key; });
  if (found == described.end())
    found = described.insert(found, KeyHelp());
  found->name = key;
  found->effect = ("none " + why).str();
}

Node SpecReader::find(const Keys &keys) {
  markRead(keys);
  llvm::StringRef chosen = findName(keys);
  Node value = section[chosen];
  if (value.isUndefinedOrNull())
    return Node();
  if (llvm::is_contained(conflicting, chosen))
    return value;
  for (llvm::StringRef key : getNames(keys)) {
    Node other = section[key];
    if (other.isUndefinedOrNull() || other.repr() == value.repr())
      continue;
    diagnostics
        .error(other.getLocation(), quote(key) + " and " + quote(chosen) +
                                        " are two names of one key, but say " +
                                        other.repr(60) + " and " +
                                        value.repr(60) + "; remove one")
        .attachNote(quote(chosen) + " is here", value.getLocation());
    conflicting.append({chosen, key});
  }
  return value;
}

Location SpecReader::locate(const Keys &keys) const {
  Node value = section[findName(keys)];
  return value ? value.getLocation() : section.getLocation();
}

Diagnostic &SpecReader::rejectValue(const Keys &keys, const Node &value,
                                    const llvm::Twine &wanted) {
  // An empty value lies where the next key begins.
  const Node place = value.getKind() == NodeKind::Null
                         ? section.getKeyNode(findName(keys))
                         : value;
  return diagnostics.error(
      place.getLocation(),
      "expected " + wanted + " for " + quote(findName(keys)) + ", but got " +
          describe(value.getKind()) + ", " + value.repr(60));
}

void SpecReader::record(const Keys &keys, llvm::StringRef takes,
                        llvm::StringRef missing,
                        std::vector<std::string> values) {
  const llvm::SmallVector<llvm::StringRef> names = getNames(keys);
  const llvm::StringRef name = names.front();
  auto found = llvm::find_if(
      described, [&](const KeyHelp &help) { return help.name == name; });
  if (found == described.end())
    found = described.insert(found, KeyHelp());
  found->name = name;
  found->otherNames.clear();
  for (const llvm::StringRef other : llvm::drop_begin(names))
    found->otherNames.push_back(other.str());
  found->takes = takes;
  found->missing = missing;
  found->values = std::move(values);
}

static constexpr llvm::StringLiteral sizeWords =
    "an int of at least 1 that fits 32 bits";

std::optional<int64_t> SpecReader::readOptionalSize(const Keys &keys) {
  record(keys, sizeWords);
  Node value = find(keys);
  if (!value)
    return std::nullopt;
  std::optional<int64_t> number = value.getInt();
  if (value.isInt() && number && *number >= 1 &&
      *number <= std::numeric_limits<int32_t>::max())
    return number;
  rejectValue(keys, value, sizeWords);
  return std::nullopt;
}

int64_t SpecReader::readSize(const Keys &keys, std::optional<int64_t> missing) {
  size_t errors = diagnostics.getErrorCount();
  std::optional<int64_t> size = readOptionalSize(keys);
  record(keys, sizeWords,
         missing ? std::to_string(*missing) : "none, the key is required");
  if (size)
    return *size;
  if (!missing && diagnostics.getErrorCount() == errors)
    diagnostics.error(locate(keys), "expected " + quote(nameOf(keys)) + " in " +
                                        sectionName + ", which has no default");
  return missing.value_or(1);
}

int64_t SpecReader::readInt(const Keys &keys, int64_t missing) {
  record(keys, "an int", std::to_string(missing));
  Node value = find(keys);
  if (!value)
    return missing;
  std::optional<int64_t> number = value.getInt();
  if (value.isInt() && number)
    return *number;
  rejectValue(keys, value, "an int");
  return missing;
}

bool SpecReader::readBool(const Keys &keys, bool missing) {
  record(keys, "a bool", missing ? "True" : "False", {"True", "False"});
  Node value = find(keys);
  if (!value)
    return missing;
  if (value.isBool())
    return *value.getBool();
  rejectValue(keys, value, "a bool (True or False)");
  return missing;
}

static std::string show(double number) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%g", number);
  return text;
}

std::optional<double> SpecReader::readNumber(const Keys &keys) {
  record(keys, "a number");
  Node value = find(keys);
  if (!value)
    return std::nullopt;
  std::optional<double> number = value.getNumber();
  if (!number)
    rejectValue(keys, value, "a number");
  return number;
}

std::optional<double> SpecReader::readOptionalPositive(const Keys &keys) {
  record(keys, "a number above 0");
  Node value = find(keys);
  if (!value)
    return std::nullopt;
  std::optional<double> number = value.getNumber();
  if (number && *number > 0)
    return number;
  rejectValue(keys, value, "a number above 0");
  return std::nullopt;
}

double SpecReader::readPositive(const Keys &keys, double missing) {
  const std::optional<double> number = readOptionalPositive(keys);
  record(keys, "a number above 0", show(missing));
  return number.value_or(missing);
}

double SpecReader::readShare(const Keys &keys, double missing) {
  record(keys, "a number from 0 to below 1", show(missing));
  Node value = find(keys);
  if (!value)
    return missing;
  std::optional<double> number = value.getNumber();
  if (number && *number >= 0 && *number < 1)
    return *number;
  rejectValue(keys, value, "a number from 0 to below 1");
  return 0;
}

static std::string putName(llvm::StringRef name, const llvm::Twine &text) {
  const std::string whole = text.str();
  return llvm::join(llvm::split(whole, "{key}"), quote(name));
}

Diagnostic &SpecReader::error(const Keys &keys, const llvm::Twine &text) const {
  return diagnostics.error(locate(keys), putName(findName(keys), text));
}

void SpecReader::warn(const Keys &keys, const llvm::Twine &text) const {
  diagnostics.warning(locate(keys), putName(findName(keys), text));
}

bool SpecReader::hasNumberOrNothing(const Keys &keys, double missing) {
  Node value = section[findName(keys)];
  if (!value || value.isInt() || value.isFloat())
    return true;
  markRead(keys);
  rejectValue(keys, value, "a number")
      .attachNote(value.getNumber()
                      ? "YAML reads this as text; a number has no quotes, and "
                        "a point before its exponent, as 1.0e-1 has"
                      : "remove the key for its default, " +
                            formatDigits(missing, 6));
  return false;
}

int64_t SpecReader::readStrictSize(const Keys &keys, int64_t missing) {
  return hasNumberOrNothing(keys, static_cast<double>(missing))
             ? readSize(keys, missing)
             : missing;
}

double SpecReader::readStrictPositive(const Keys &keys, double missing) {
  return hasNumberOrNothing(keys, missing) ? readPositive(keys, missing)
                                           : missing;
}

double SpecReader::readStrictShare(const Keys &keys, double missing) {
  return hasNumberOrNothing(keys, missing) ? readShare(keys, missing) : missing;
}

Node SpecReader::readMap(const Keys &keys) {
  Node value = find(keys);
  if (!value || value.isMap())
    return value;
  rejectValue(keys, value, "a map of keys and values");
  return Node();
}

std::string SpecReader::readString(const Keys &keys, llvm::StringRef missing) {
  record(keys, "a string", missing);
  Node value = find(keys);
  if (!value)
    return missing.str();
  if (value.isString())
    return value.getText().str();
  rejectValue(keys, value, "a string");
  return missing.str();
}

int64_t SpecReader::readSize(const KnownKey &key) {
  const std::optional<double> missing = key.getDefaultNumber();
  return missing ? readSize(key, static_cast<int64_t>(*missing))
                 : readSize(key, std::nullopt);
}

bool SpecReader::readBool(const KnownKey &key) {
  return readBool(key, key.neutral == "True");
}

double SpecReader::readNumberOrDefault(const KnownKey &key) {
  return readNumber(key).value_or(key.getDefaultNumber().value_or(0.0));
}

std::string SpecReader::readString(const KnownKey &key) {
  return readString(key, key.getDefaultText());
}

static constexpr std::pair<llvm::StringLiteral, DType> typeNames[] = {
    {"float32", DType::F32},
    {"float16", DType::F16},
    {"bfloat16", DType::BF16},
};

DType SpecReader::readType(const Keys &keys, DType missing) {
  constexpr llvm::StringLiteral words = "float32, float16 or bfloat16";
  std::vector<std::string> names;
  llvm::StringRef given;
  for (const auto &[name, type] : typeNames) {
    names.push_back(name.str());
    if (type == missing)
      given = name;
  }
  record(keys, words, given, std::move(names));
  Node value = find(keys);
  if (!value)
    return missing;
  if (value.isString())
    for (const auto &[name, type] : typeNames)
      if (value.getText() == name)
        return type;
  rejectValue(keys, value, words);
  return missing;
}

//===----------------------------------------------------------------------===//
// Descriptions, and keys that were not read
//===----------------------------------------------------------------------===//

bool isWritten(const Node &section, llvm::StringRef key) {
  Node value = section[key];
  return value && !(value.getLocation() == section.getLocation());
}

std::vector<KeyHelp> SpecReader::describeKeys() const {
  std::vector<KeyHelp> keys = described;
  std::set<std::string> names;
  const auto listNames = [&](const KeyHelp &key) {
    names.insert(key.name);
    names.insert(key.otherNames.begin(), key.otherNames.end());
  };
  llvm::for_each(keys, listNames);
  // Keys whose form is their own.
  for (const llvm::StringRef name : readKeys)
    if (names.insert(name.str()).second)
      keys.emplace_back().name = name;
  for (KeyHelp &key : keys)
    if (const ModelKey *known = findModelKey(key.name))
      key.meaning = known->meaning;
    else if (const KnownKey *ofExperts = moeSection.find(key.name))
      key.meaning = ofExperts->meaning;
  for (KeyHelp &key : mf::describeKeys(getUnreadModelKeys()))
    if (names.insert(key.name).second)
      keys.push_back(std::move(key));
  return keys;
}

/// Returns the name under which the class reads the quantity that `name` is for
/// in other classes. Empty if there is none, or if the YAML has it as well.
static llvm::StringRef findOwnName(llvm::StringRef name,
                                   const SpecReader &reader) {
  const ModelKey *key = findModelKey(name);
  if (!key || !key->isWrongElsewhere)
    return {};
  for (const llvm::StringRef own : key->getAllNames())
    if (reader.wasRead(own))
      return reader.getNode()[own] ? llvm::StringRef() : own;
  return {};
}

void reportUnreadKeys(const SpecReader &reader, const Node &written) {
  // A misspelt key is compared with those that are read first.
  std::vector<llvm::StringRef> names = reader.getReadKeys().vec();
  llvm::append_range(names, getUnreadModelKeys().getNames());
  for (const Node::Entry &entry : written.getEntries()) {
    llvm::StringRef name = entry.key.getText();
    if (reader.wasRead(name))
      continue;
    const std::string start = quote(name) + " in " + reader.getName().str();
    const KnownKey *known = getUnreadModelKeys().find(name);
    const bool isUnknown = !llvm::is_contained(names, name);
    // A misspelt size whose right name is missing would be the default, so that
    // the model would be another one.
    const llvm::StringRef meant =
        isUnknown && entry.value.getInt()
            ? findNearestName(name, reader.getReadKeys())
            : llvm::StringRef();
    constexpr unsigned mostEdits = 2;
    llvm::StringRef own = findOwnName(name, reader);
    if (!meant.empty() && !isWritten(written, meant) &&
        name.edit_distance(meant) <= mostEdits)
      reader.diagnostics.error(
          entry.key.getLocation(),
          "unknown key " + start + "; write " + quote(meant) +
              ", which is missing and would have its default otherwise");
    else if (!own.empty() && !(known && known->isNeutral(entry.value)))
      reader.diagnostics.warning(
          entry.key.getLocation(),
          start + " is a key of other classes; this one reads " + quote(own) +
              " (the key is ignored)");
    else if (isUnknown)
      reader.diagnostics.warning(entry.key.getLocation(),
                                 "unknown key " + start +
                                     suggestName(name, names) +
                                     " (the key is ignored)");
    else if (known && !known->isNeutral(entry.value))
      reader.diagnostics.warning(entry.key.getLocation(),
                                 start + " " +
                                     (known->meaning.empty()
                                          ? "changes the training step"
                                          : known->meaning) +
                                     ", but is not modelled; it is ignored");
  }
}

} // namespace mf
