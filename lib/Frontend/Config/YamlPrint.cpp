//===- YamlPrint.cpp - A tree as the text of a YAML -----------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "NodeBuilder.h"
#include "mf/Frontend/Config/ConvertYaml.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

namespace mf {

/// True if a string without quotes is read as the same string.
static bool isPlainWord(llvm::StringRef text) {
  if (text.empty() || !llvm::isAlpha(text.front()) ||
      !llvm::all_of(text, [](char c) {
        return llvm::isAlnum(c) || c == '_' || c == '.' || c == '/' || c == '-';
      }))
    return false;
  return makeScalar(Node(), text).isString();
}

static std::string printString(llvm::StringRef text) {
  if (isPlainWord(text))
    return text.str();
  std::string quoted = "\"";
  for (const char c : text)
    if (c == '"' || c == '\\')
      quoted += {'\\', c};
    else if (c == '\n')
      quoted += "\\n";
    else if (static_cast<unsigned char>(c) < ' ')
      quoted += "\\x" + llvm::utohexstr(static_cast<unsigned char>(c),
                                        /*LowerCase=*/true, /*Width=*/2);
    else
      quoted += c;
  return quoted + "\"";
}

/// Returns a value as text on one line.
static std::string printInFlow(const Node &node) {
  std::string text;
  switch (node.getKind()) {
  case NodeKind::Undefined:
  case NodeKind::Null:
    return "null";
  case NodeKind::Bool:
    return *node.getBool() ? "True" : "False";
  case NodeKind::Int:
  case NodeKind::Float:
    return node.getText().str();
  case NodeKind::String:
    return printString(node.getText());
  case NodeKind::List:
    for (const Node &element : node.getElements())
      text += (text.empty() ? "" : ", ") + printInFlow(element);
    return "[" + text + "]";
  case NodeKind::Map:
    for (const Node::Entry &entry : node.getEntries())
      text += (text.empty() ? "" : ", ") + printString(entry.key.getText()) +
              ": " + printInFlow(entry.value);
    return "{" + text + "}";
  }
  return text;
}

static void printEntries(const Node &map, unsigned indent,
                         llvm::raw_ostream &out) {
  for (const Node::Entry &entry : map.getEntries()) {
    out.indent(indent) << printString(entry.key.getText()) << ":";
    if (!entry.value.getEntries().empty()) {
      out << "\n";
      printEntries(entry.value, indent + 2, out);
    } else {
      out << " " << printInFlow(entry.value) << "\n";
    }
  }
}

std::string printYaml(const Node &root) {
  std::string text;
  llvm::raw_string_ostream out(text);
  if (root.getEntries().empty())
    out << printInFlow(root) << "\n";
  else
    printEntries(root, 0, out);
  return text;
}

} // namespace mf
