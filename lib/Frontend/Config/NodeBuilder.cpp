//===- NodeBuilder.cpp - YAML trees that are not in a file ----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "NodeBuilder.h"
#include "llvm/ADT/STLExtras.h"

namespace mf {

static std::shared_ptr<NodeData> makeNodeData(const Node &origin,
                                              NodeKind kind) {
  auto data = std::make_shared<NodeData>();
  const Location place = origin.getLocation();
  data->kind = kind;
  data->line = place.line;
  data->column = place.column;
  data->file = std::make_shared<const std::string>(place.file);
  return data;
}

Node makeString(const Node &origin, const llvm::Twine &text) {
  auto data = makeNodeData(origin, NodeKind::String);
  data->text = text.str();
  return Node(std::move(data));
}

Node makeScalar(const Node &origin, const llvm::Twine &text) {
  auto data = makeNodeData(origin, NodeKind::String);
  data->text = text.str();
  resolvePlainScalar(*data);
  return Node(std::move(data));
}

Node makeList(const Node &origin, std::vector<Node> elements) {
  auto data = makeNodeData(origin, NodeKind::List);
  data->elements = std::move(elements);
  return Node(std::move(data));
}

Node makeNumberTable(const Node &origin,
                     const std::vector<std::vector<int64_t>> &table) {
  std::vector<Node> rows;
  for (const std::vector<int64_t> &row : table) {
    std::vector<Node> items;
    for (int64_t number : row)
      items.push_back(makeScalar(origin, llvm::Twine(number)));
    rows.push_back(makeList(origin, std::move(items)));
  }
  return rows.size() == 1 ? rows.front() : makeList(origin, std::move(rows));
}

NodeBuilder &NodeBuilder::getChild(llvm::StringRef key) {
  auto found = children.find(key.str());
  if (found != children.end())
    return found->second;
  if (!llvm::is_contained(names, key))
    names.push_back(key.str());
  const Node before = get(key);
  values.erase(key.str());
  NodeBuilder &child =
      children.emplace(key.str(), NodeBuilder(before.isMap() ? before : origin))
          .first->second;
  child.setAll(before);
  return child;
}

void NodeBuilder::set(llvm::StringRef path, const Node &value) {
  if (!value)
    return;
  auto [key, rest] = path.split('.');
  if (!rest.empty())
    return getChild(key).set(rest, value);
  if (!llvm::is_contained(names, key))
    names.push_back(key.str());
  children.erase(key.str());
  values[key.str()] = value;
}

void NodeBuilder::set(llvm::StringRef path, const llvm::Twine &text,
                      const Node &from) {
  set(path, makeScalar(from, text));
}

void NodeBuilder::setAll(const Node &map) {
  for (const Node::Entry &entry : map.getEntries())
    set(entry.key.getText(), entry.value);
}

void NodeBuilder::remove(llvm::StringRef key) {
  llvm::erase(names, key);
  values.erase(key.str());
  children.erase(key.str());
}

Node NodeBuilder::get(llvm::StringRef key) const {
  auto found = values.find(key.str());
  return found == values.end() ? Node() : found->second;
}

void NodeBuilder::place(llvm::StringRef path, const Node &place) {
  auto [key, rest] = path.split('.');
  NodeBuilder &child = getChild(key);
  if (rest.empty())
    child.origin = place;
  else
    child.place(rest, place);
}

Node NodeBuilder::build() const {
  auto data = makeNodeData(origin, NodeKind::Map);
  for (const std::string &name : names) {
    auto child = children.find(name);
    Node value =
        child == children.end() ? values.at(name) : child->second.build();
    data->entries.push_back({makeString(value, name), value});
  }
  return Node(std::move(data));
}

} // namespace mf
