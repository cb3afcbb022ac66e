//===- ProblemJsonParts.cpp - Parts of the file of a problem --------------===//
// SPDX-License-Identifier: Apache-2.0

#include "ProblemJsonParts.h"
#include "mf/Support/NearestName.h"
#include "mf/Support/NumberText.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <cmath>

using llvm::StringRef;
using llvm::Twine;

namespace mf::solver {

void Complaint::add(const Twine &place, const Twine &problem) {
  if (!isThere())
    text = ("at " + place + ": " + problem).str();
}

std::string JsonPlace::describe() const {
  switch (value->kind()) {
  case llvm::json::Value::Null:
    return "null";
  case llvm::json::Value::Boolean:
    return *value->getAsBoolean() ? "true" : "false";
  case llvm::json::Value::Number:
    return formatAmount(*value->getAsNumber());
  case llvm::json::Value::String:
    return ("\"" + value->getAsString()->take_front(40) + "\"").str();
  case llvm::json::Value::Array:
    return "a list";
  case llvm::json::Value::Object:
    return "an object";
  }
  llvm_unreachable("covers all kinds");
}

namespace {

/// Describes a range. The upper end is only mentioned if a number is beyond it.
std::string describeRange(double least, double most, bool isBeyond = false) {
  std::string text = "from " + formatAmount(least);
  if (isBeyond || most < FieldRange().most)
    text += " to " + formatAmount(most);
  return text;
}

} // namespace

std::optional<double> readNumber(const JsonPlace &place, FieldRange range,
                                 Complaint &complaint) {
  std::optional<double> number = place.value->getAsNumber();
  if (number && std::isfinite(*number) && *number >= range.least &&
      *number <= range.most)
    return number;
  complaint.add(place.path,
                "found " + place.describe() + ", expected a number " +
                    describeRange(range.least, range.most,
                                  number && std::abs(*number) > range.most));
  return std::nullopt;
}

std::optional<int64_t> readInteger(const JsonPlace &place, int64_t least,
                                   int64_t most, Complaint &complaint) {
  std::optional<int64_t> number = place.value->getAsInteger();
  if (number && *number >= least && *number <= most)
    return number;
  complaint.add(place.path, "found " + place.describe() +
                                ", expected a whole number " +
                                describeRange(static_cast<double>(least),
                                              static_cast<double>(most)));
  return std::nullopt;
}

std::optional<std::string> readText(const JsonPlace &place,
                                    Complaint &complaint) {
  if (std::optional<StringRef> text = place.value->getAsString())
    return text->str();
  complaint.add(place.path,
                "found " + place.describe() + ", expected text in quotes");
  return std::nullopt;
}

std::optional<std::vector<JsonPlace>>
readList(const JsonPlace &place, const Twine &expected, Complaint &complaint) {
  const llvm::json::Array *list = place.value->getAsArray();
  if (!list) {
    complaint.add(place.path,
                  "found " + place.describe() + ", expected " + expected);
    return std::nullopt;
  }
  std::vector<JsonPlace> elements;
  for (auto [index, element] : llvm::enumerate(*list))
    elements.push_back(
        {&element, (place.path + "[" + Twine(index) + "]").str()});
  return elements;
}

JsonObject::JsonObject(JsonPlace where, Complaint &complaint)
    : place(std::move(where)), object(place.value->getAsObject()),
      complaint(complaint) {
  if (!object)
    complaint.add(place.path.empty() ? "the top" : place.path,
                  "found " + place.describe() + ", expected an object");
}

std::string JsonObject::getPath(StringRef name) const {
  return place.path.empty() ? name.str() : (place.path + "." + name).str();
}

std::vector<StringRef> JsonObject::getNames() const {
  std::vector<StringRef> names;
  if (object)
    for (const auto &member : *object)
      names.push_back(member.first);
  llvm::sort(names);
  return names;
}

std::optional<JsonPlace> JsonObject::find(StringRef name) {
  known.push_back(name.str());
  const llvm::json::Value *value = object ? object->get(name) : nullptr;
  if (!value)
    return std::nullopt;
  return JsonPlace{value, getPath(name)};
}

std::optional<JsonPlace> JsonObject::demand(StringRef name,
                                            const Twine &expected) {
  std::optional<JsonPlace> member = find(name);
  // If the name of a member may be misspelt, that is reported instead.
  if (!member && object) {
    std::string others;
    for (StringRef other : getNames())
      if (!llvm::is_contained(known, other) &&
          !suggestName(other, llvm::ArrayRef(name)).empty())
        others = ("; is '" + other + "' meant to be it?").str();
    complaint.add(place.path.empty() ? "the top" : place.path,
                  "'" + name + "' is missing, expected " + expected + others);
  }
  return member;
}

std::optional<double> JsonObject::findNumber(StringRef name, FieldRange range) {
  std::optional<JsonPlace> member = find(name);
  return member ? readNumber(*member, range, complaint) : std::nullopt;
}

double JsonObject::getNumber(StringRef name, double otherwise,
                             FieldRange range) {
  return findNumber(name, range).value_or(otherwise);
}

double JsonObject::demandNumber(StringRef name, FieldRange range) {
  std::optional<JsonPlace> member =
      demand(name, "a number " + describeRange(range.least, range.most));
  return member ? readNumber(*member, range, complaint).value_or(range.least)
                : range.least;
}

double JsonObject::getProduct(StringRef name, double ratio, double number) {
  const double product = ratio * number;
  if (product <= FieldRange().most)
    return product;
  complain(name, "makes " + formatAmount(product) + " of " +
                     formatAmount(number) + ", expected at most " +
                     formatAmount(FieldRange().most));
  return 0;
}

int64_t JsonObject::getInteger(StringRef name, int64_t otherwise, int64_t least,
                               int64_t most) {
  std::optional<JsonPlace> member = find(name);
  return member
             ? readInteger(*member, least, most, complaint).value_or(otherwise)
             : otherwise;
}

int64_t JsonObject::demandInteger(StringRef name, int64_t least, int64_t most) {
  std::optional<JsonPlace> member = demand(
      name, "a whole number " + describeRange(static_cast<double>(least),
                                              static_cast<double>(most)));
  return member ? readInteger(*member, least, most, complaint).value_or(least)
                : least;
}

std::string JsonObject::getText(StringRef name, StringRef otherwise) {
  std::optional<JsonPlace> member = find(name);
  return member ? readText(*member, complaint).value_or(otherwise.str())
                : otherwise.str();
}

bool JsonObject::getFlag(StringRef name, bool otherwise) {
  std::optional<JsonPlace> member = find(name);
  if (!member)
    return otherwise;
  if (std::optional<bool> flag = member->value->getAsBoolean())
    return *flag;
  complaint.add(member->path,
                "found " + member->describe() + ", expected true or false");
  return otherwise;
}

void JsonObject::exclude(StringRef first, StringRef second) {
  if (object && object->get(first) && object->get(second))
    complain(second,
             "there is '" + first + "' as well, expected one of the two");
}

void JsonObject::complain(StringRef name, const Twine &problem) {
  complaint.add(getPath(name), problem);
}

void JsonObject::finish() {
  for (StringRef name : getNames())
    if (!llvm::is_contained(known, name)) {
      const std::string suggestion = suggestName(name, known);
      complain(name, "'" + name + "' is not known here" +
                         (suggestion.empty()
                              ? ", expected one of " + llvm::join(known, ", ")
                              : suggestion));
    }
}

} // namespace mf::solver
