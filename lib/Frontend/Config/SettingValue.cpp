//===- SettingValue.cpp - New values for keys of a YAML -------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "SettingValue.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace mf {

SettingValue SettingValue::makeCollection(Kind kind) {
  SettingValue value;
  value.kind = kind;
  return value;
}

SettingValue SettingValue::fromName(StringRef name) {
  SettingValue value = makeCollection(Kind::Scalar);
  value.text = name.str();
  value.isString = true;
  return value;
}

SettingValue SettingValue::fromPattern(StringRef pattern) {
  SettingValue value = fromName(pattern);
  value.isQuoted = true;
  return value;
}

SettingValue SettingValue::fromInt(int64_t number) {
  SettingValue value = makeCollection(Kind::Scalar);
  value.text = std::to_string(number);
  return value;
}

SettingValue SettingValue::fromBool(bool flag) {
  SettingValue value = makeCollection(Kind::Scalar);
  value.text = flag ? "True" : "False";
  return value;
}

SettingValue SettingValue::fromInts(const std::vector<int64_t> &values) {
  SettingValue list = makeList();
  for (const int64_t value : values)
    list.elements.push_back(fromInt(value));
  return list;
}

static SettingValue toScalar(const Node &node) {
  if (node.isUndefinedOrNull())
    return SettingValue::fromName("null");
  SettingValue scalar = SettingValue::fromName(node.getText());
  scalar.isString = node.isString();
  // A text that can be written as a key without quotes can be written so as a
  // value.
  scalar.isQuoted = scalar.isString && printKey(scalar.text) != scalar.text;
  return scalar;
}

SettingValue SettingValue::fromNode(const Node &node) {
  if (node.isMap()) {
    SettingValue map = makeMap();
    for (const Node::Entry &entry : node.getEntries())
      map.entries.emplace_back(entry.key.getText().str(),
                               fromNode(entry.value));
    return map;
  }
  if (node.isList()) {
    SettingValue list = makeList();
    for (const Node &element : node.getElements())
      list.elements.push_back(fromNode(element));
    return list;
  }
  return toScalar(node);
}

const SettingValue *SettingValue::find(StringRef key) const {
  const auto found = llvm::find_if(
      entries, [&](const Entry &entry) { return entry.first == key; });
  return found == entries.end() ? nullptr : &found->second;
}

SettingValue &SettingValue::getSection(StringRef key) {
  for (Entry &entry : entries)
    if (entry.first == key)
      return entry.second;
  return entries.emplace_back(key.str(), SettingValue()).second;
}

void SettingValue::set(StringRef path, SettingValue value) {
  const auto [key, rest] = path.split('.');
  SettingValue &place = getSection(key);
  if (rest.empty())
    place = std::move(value);
  else
    place.set(rest, std::move(value));
}

void SettingValue::merge(const SettingValue &other) {
  for (const auto &[key, value] : other.entries) {
    SettingValue &place = getSection(key);
    if (value.kind == Kind::Section && place.kind == Kind::Section)
      place.merge(value);
    else
      place = value;
  }
}

static bool saysScalar(const Node &node, const SettingValue &value) {
  if (value.isString)
    return node.isString() && node.getText() == value.text;
  NodeData wanted;
  wanted.text = value.text;
  resolvePlainScalar(wanted);
  if (wanted.kind != node.getKind())
    return false;
  if (wanted.kind == NodeKind::Bool)
    return *node.getBool() == wanted.boolean;
  if (wanted.kind == NodeKind::Int)
    return node.getInt() && node.getInt() == wanted.integer;
  return node.getText() == value.text;
}

bool says(const Node &node, const SettingValue &value) {
  if (value.kind == SettingValue::Kind::Scalar)
    return saysScalar(node, value);
  if (value.kind == SettingValue::Kind::List)
    return node.isList() &&
           node.getElements().size() == value.elements.size() &&
           llvm::all_of(llvm::zip(node.getElements(), value.elements),
                        [](const auto &pair) {
                          return says(std::get<0>(pair), std::get<1>(pair));
                        });
  if (!node.isMap())
    return value.kind == SettingValue::Kind::Section && value.entries.empty();
  if (value.kind == SettingValue::Kind::Map &&
      node.getEntries().size() != value.entries.size())
    return false;
  return llvm::all_of(value.entries, [&](const SettingValue::Entry &entry) {
    return says(node[entry.first], entry.second);
  });
}

static std::string printQuoted(StringRef text) {
  std::string quoted = "'";
  for (const char c : text)
    quoted += c == '\'' ? "''" : std::string(1, c);
  return quoted + "'";
}

std::string printKey(StringRef key) {
  NodeData plain;
  plain.text = key.str();
  resolvePlainScalar(plain);
  const bool isName = key.find_first_not_of("abcdefghijklmnopqrstuvwxyz_"
                                            "0123456789") == StringRef::npos;
  return isName && plain.kind == NodeKind::String ? key.str()
                                                  : printQuoted(key);
}

std::string printFlow(const SettingValue &value, const FlowStyle &style) {
  if (value.kind == SettingValue::Kind::Scalar)
    return value.isQuoted ? printQuoted(value.text) : value.text;
  const bool isList = value.kind == SettingValue::Kind::List;
  std::string inside;
  auto add = [&](const std::string &text) {
    inside += (inside.empty() ? "" : style.separator).str() + text;
  };
  for (const SettingValue &element : value.elements)
    add(printFlow(element, style));
  for (const auto &[key, entry] : value.entries)
    add(printKey(key) + ": " + printFlow(entry, style));
  if (!inside.empty())
    inside = (style.padding + inside + style.padding).str();
  return (isList ? "[" : "{") + inside + (isList ? "]" : "}");
}

/// True if block style prints the value on several lines.
static bool hasLines(const SettingValue &value) {
  if (value.kind == SettingValue::Kind::List)
    return llvm::any_of(value.elements, [](const SettingValue &element) {
      return element.isMapOrSection();
    });
  return value.isMapOrSection() && !value.entries.empty();
}

std::string printBlock(const SettingValue &value, size_t indent, size_t step,
                       StringRef lineEnd) {
  std::string lines;
  const std::string blanks(indent, ' ');
  auto add = [&](const std::string &line) {
    lines += (lines.empty() ? "" : lineEnd.str()) + blanks + line;
  };
  for (const SettingValue &element : value.elements)
    add(printBlockElement(element, indent, step, lineEnd));
  for (const auto &[key, entry] : value.entries) {
    if (hasLines(entry))
      add(printKey(key) + ":" + lineEnd.str() +
          printBlock(entry, indent + step, step, lineEnd));
    else
      add(printKey(key) + ": " + printFlow(entry));
  }
  return lines;
}

std::string printBlockElement(const SettingValue &value, size_t indent,
                              size_t step, StringRef lineEnd) {
  if (!hasLines(value) || !value.isMapOrSection())
    return "- " + printFlow(value);
  return "- " + StringRef(printBlock(value, indent + 2, step, lineEnd))
                    .drop_front(indent + 2)
                    .str();
}

} // namespace mf
