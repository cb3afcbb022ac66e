//===- SpecReader.cpp - Typed reads from a model configuration ------------===//
// SPDX-License-Identifier: Apache-2.0

#include "SpecReader.h"
#include "mf/Frontend/Import/ModelSpec.h"
#include "mf/Support/NumberText.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Support/xxhash.h"
#include <limits>

namespace mf {

/// Returns the effective key of `keys`: the first one with a value, or else the
/// first one in the map, or else the preferred name.
llvm::StringRef SpecReader::findKey(Keys keys) const {
  llvm::StringRef written;
  for (llvm::StringRef key : keys) {
    Node value = section[key];
    if (!value.isUndefinedOrNull())
      return key;
    if (value && written.empty())
      written = key;
  }
  return written.empty() ? llvm::StringRef(*keys.begin()) : written;
}

void SpecReader::markRead(Keys keys) {
  for (llvm::StringRef key : keys)
    if (!wasRead(key))
      readKeys.push_back(key);
}

std::string describeKeyValue(const Node &value) {
  constexpr size_t longest = 60;
  std::string text = value.repr(SIZE_MAX);
  if (text.size() <= longest)
    return text;
  return text.substr(0, longest) + "... (" +
         llvm::utohexstr(llvm::xxh3_64bits(text), /*LowerCase=*/true) + ")";
}

void SpecReader::listRead(llvm::StringRef prefix,
                          std::map<std::string, std::string> &keys) const {
  for (const llvm::StringRef key : readKeys)
    if (const Node value = section[key]; !value.isUndefinedOrNull())
      keys[(prefix + key).str()] = describeKeyValue(value);
  keys.insert(besideKeys.begin(), besideKeys.end());
}

void SpecReader::markWithoutEffect(llvm::StringLiteral key,
                                   llvm::StringRef why) {
  markRead({key});
  auto found = llvm::find_if(
      described, [&](const KeyHelp &help) { return help.name == key; });
  if (found == described.end())
    found = described.insert(found, KeyHelp());
  found->name = key;
  found->effect = ("none " + why).str();
}

Node SpecReader::find(Keys keys) {
  markRead(keys);
  llvm::StringRef chosen = findKey(keys);
  Node value = section[chosen];
  if (value.isUndefinedOrNull())
    return Node();
  if (llvm::is_contained(conflicting, chosen))
    return value;
  for (llvm::StringRef key : keys) {
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

Location SpecReader::locate(Keys keys) const {
  Node value = section[findKey(keys)];
  return value ? value.getLocation() : section.getLocation();
}

Diagnostic &SpecReader::rejectValue(Keys keys, const Node &value,
                                    const llvm::Twine &wanted) {
  // An empty value lies where the next key begins.
  const Node place = value.getKind() == NodeKind::Null
                         ? section.getKeyNode(findKey(keys))
                         : value;
  return diagnostics.error(
      place.getLocation(),
      "expected " + wanted + " for " + quote(findKey(keys)) + ", but got " +
          describe(value.getKind()) + ", " + value.repr(60));
}

void SpecReader::record(Keys keys, llvm::StringRef takes,
                        llvm::StringRef missing,
                        std::vector<std::string> values) {
  const llvm::StringRef name = *keys.begin();
  auto found = llvm::find_if(
      described, [&](const KeyHelp &help) { return help.name == name; });
  if (found == described.end())
    found = described.insert(found, KeyHelp());
  found->name = name;
  found->otherNames.clear();
  for (const llvm::StringRef other : llvm::drop_begin(keys))
    found->otherNames.push_back(other.str());
  found->takes = takes;
  found->missing = missing;
  found->values = std::move(values);
}

static constexpr llvm::StringLiteral sizeWords =
    "an int of at least 1 that fits 32 bits";

std::optional<int64_t> SpecReader::readOptionalSize(Keys keys) {
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

int64_t SpecReader::readSize(Keys keys, std::optional<int64_t> missing) {
  size_t errors = diagnostics.getErrorCount();
  std::optional<int64_t> size = readOptionalSize(keys);
  record(keys, sizeWords,
         missing ? std::to_string(*missing) : "none, the key is required");
  if (size)
    return *size;
  if (!missing && diagnostics.getErrorCount() == errors)
    diagnostics.error(locate(keys), "expected " + quote(*keys.begin()) +
                                        " in " + sectionName +
                                        ", which has no default");
  return missing.value_or(1);
}

int64_t SpecReader::readInt(Keys keys, int64_t missing) {
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

bool SpecReader::readBool(Keys keys, bool missing) {
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

std::optional<double> SpecReader::readNumber(Keys keys) {
  record(keys, "a number");
  Node value = find(keys);
  if (!value)
    return std::nullopt;
  std::optional<double> number = value.getNumber();
  if (!number)
    rejectValue(keys, value, "a number");
  return number;
}

std::optional<double> SpecReader::readOptionalPositive(Keys keys) {
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

double SpecReader::readPositive(Keys keys, double missing) {
  const std::optional<double> number = readOptionalPositive(keys);
  record(keys, "a number above 0", show(missing));
  return number.value_or(missing);
}

double SpecReader::readShare(Keys keys, double missing) {
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

Diagnostic &SpecReader::error(Keys keys, const llvm::Twine &text) const {
  return diagnostics.error(locate(keys), text);
}

void SpecReader::warn(Keys keys, const llvm::Twine &text) const {
  diagnostics.warning(locate(keys), text);
}

bool SpecReader::hasNumberOrNothing(Keys keys, double missing) {
  Node value = section[findKey(keys)];
  if (!value || value.isInt() || value.isFloat())
    return true;
  markRead(keys);
  rejectValue(keys, value, "a number")
      .attachNote(
          value.getNumber()
              ? "YAML reads this as text; a number has no quotes, and a "
                "point before its exponent, as 1.0e-1 has"
              : "remove the key for its default, " + formatDigits(missing, 6));
  return false;
}

int64_t SpecReader::readStrictSize(Keys keys, int64_t missing) {
  return hasNumberOrNothing(keys, static_cast<double>(missing))
             ? readSize(keys, missing)
             : missing;
}

double SpecReader::readStrictPositive(Keys keys, double missing) {
  return hasNumberOrNothing(keys, missing) ? readPositive(keys, missing)
                                           : missing;
}

double SpecReader::readStrictShare(Keys keys, double missing) {
  return hasNumberOrNothing(keys, missing) ? readShare(keys, missing) : missing;
}

Node SpecReader::readMap(Keys keys) {
  Node value = find(keys);
  if (!value || value.isMap())
    return value;
  rejectValue(keys, value, "a map of keys and values");
  return Node();
}

std::string SpecReader::readString(Keys keys, llvm::StringRef missing) {
  record(keys, "a string", missing);
  Node value = find(keys);
  if (!value)
    return missing.str();
  if (value.isString())
    return value.getText().str();
  rejectValue(keys, value, "a string");
  return missing.str();
}

static constexpr std::pair<llvm::StringLiteral, DType> typeNames[] = {
    {"float32", DType::F32},
    {"float16", DType::F16},
    {"bfloat16", DType::BF16},
};

DType SpecReader::readType(Keys keys, DType missing) {
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

} // namespace mf
