//===- Node.cpp - An immutable YAML tree ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Frontend/Config/Node.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Support/xxhash.h"
#include <cmath>

namespace mf {

llvm::StringRef describe(NodeKind kind) {
  // In the order of NodeKind.
  static constexpr llvm::StringLiteral names[] = {
      "nothing", "null",     "a bool", "an int",
      "a float", "a string", "a list", "a map"};
  return names[static_cast<size_t>(kind)];
}

NodeKind Node::getKind() const {
  return data ? data->kind : NodeKind::Undefined;
}

Location Node::getLocation() const {
  if (!data)
    return {};
  return {data->file ? *data->file : std::string(), data->line, data->column};
}

llvm::StringRef Node::getText() const {
  return data ? llvm::StringRef(data->text) : llvm::StringRef();
}

std::optional<bool> Node::getBool() const {
  if (!isBool())
    return std::nullopt;
  return data->boolean;
}

std::optional<int64_t> Node::getInt() const {
  if (!isInt())
    return std::nullopt;
  return data->integer;
}

std::optional<double> Node::getFloat() const {
  if (!isFloat() && !isInt())
    return std::nullopt;
  return data->real;
}

std::optional<double> Node::getNumber() const {
  std::optional<double> number = getFloat();
  double parsed = 0;
  if (isString() && !getText().empty() &&
      getText().find_first_not_of("0123456789.eE+-") == llvm::StringRef::npos &&
      !getText().getAsDouble(parsed))
    number = parsed;
  return number && std::isfinite(*number) ? number : std::nullopt;
}

const std::vector<Node> &Node::getElements() const {
  static const std::vector<Node> none;
  return isList() ? data->elements : none;
}

const std::vector<Node::Entry> &Node::getEntries() const {
  static const std::vector<Entry> none;
  return isMap() ? data->entries : none;
}

const Node::Entry *Node::find(llvm::StringRef key) const {
  for (const Entry &entry : getEntries())
    if (entry.key.getText() == key)
      return &entry;
  return nullptr;
}

Node Node::operator[](llvm::StringRef key) const {
  const Entry *entry = find(key);
  return entry ? entry->value : Node();
}

Node Node::getPath(llvm::StringRef path) const {
  auto [key, rest] = path.split('.');
  return path.empty() ? *this : (*this)[key].getPath(rest);
}

Node Node::getKeyNode(llvm::StringRef key) const {
  const Entry *entry = find(key);
  return entry ? entry->key : Node();
}

namespace {
/// Prints Python's repr and stops soon after the limit.
class ReprPrinter {
public:
  ReprPrinter(std::string &text, size_t longest)
      : text(text), longest(longest) {}

  void print(const Node &node) {
    if (text.size() > longest)
      return;
    switch (node.getKind()) {
    case NodeKind::Undefined:
    case NodeKind::Null:
      text += "None";
      return;
    case NodeKind::Bool:
      text += *node.getBool() ? "True" : "False";
      return;
    case NodeKind::Int:
    case NodeKind::Float:
      text += node.getText();
      return;
    case NodeKind::String:
      text += quote(node.getText());
      return;
    case NodeKind::List:
      printList(node);
      return;
    case NodeKind::Map:
      printMap(node);
      return;
    }
  }

private:
  bool isFull() {
    if (text.size() <= longest)
      return false;
    text += "...";
    return true;
  }

  void printList(const Node &node) {
    text += '[';
    llvm::StringRef separator = "";
    for (const Node &element : node.getElements()) {
      text += separator;
      if (isFull())
        return;
      print(element);
      separator = ", ";
    }
    text += ']';
  }

  void printMap(const Node &node) {
    text += '{';
    llvm::StringRef separator = "";
    for (const Node::Entry &entry : node.getEntries()) {
      text += separator;
      if (isFull())
        return;
      print(entry.key);
      text += ": ";
      print(entry.value);
      separator = ", ";
    }
    text += '}';
  }

  std::string &text;
  size_t longest;
};
} // namespace

std::string Node::repr(size_t longest) const {
  std::string text;
  ReprPrinter(text, longest).print(*this);
  return text;
}

void rejectValue(const Node &value, const llvm::Twine &wanted,
                 DiagnosticList &diagnostics) {
  diagnostics.error(value.getLocation(), "expected " + wanted + ", but got " +
                                             describe(value.getKind()) + ", " +
                                             value.repr(60));
}

std::string describeKeyValue(const Node &value) {
  constexpr size_t longest = 60;
  std::string text = value.repr(SIZE_MAX);
  if (text.size() <= longest)
    return text;
  return text.substr(0, longest) + "... (" +
         llvm::utohexstr(llvm::xxh3_64bits(text), /*LowerCase=*/true) + ")";
}

} // namespace mf
