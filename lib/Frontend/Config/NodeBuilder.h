//===- NodeBuilder.h - YAML trees that are not in a file --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_FRONTEND_CONFIG_NODEBUILDER_H
#define MF_LIB_FRONTEND_CONFIG_NODEBUILDER_H

#include "mf/Frontend/Config/Node.h"
#include "llvm/ADT/Twine.h"
#include <map>

namespace mf {

/// Returns the scalar that a YAML has for the unquoted `text`. Messages about
/// it point to `origin`, from which it is derived.
Node makeScalar(const Node &origin, const llvm::Twine &text);
/// Returns the text of a bool.
inline llvm::StringRef printBool(bool value) {
  return value ? "True" : "False";
}
/// Returns a string, even if `text` looks like another scalar.
Node makeString(const Node &origin, const llvm::Twine &text);
Node makeList(const Node &origin, std::vector<Node> elements);
/// Returns a list for one row of numbers and a list of lists for several.
Node makeNumberTable(const Node &origin,
                     const std::vector<std::vector<int64_t>> &table);

/// Builds a map from values of other documents and computed values.
class NodeBuilder {
public:
  explicit NodeBuilder(Node origin) : origin(std::move(origin)) {}

  /// Sets the value at `path`, whose names are separated by dots. Missing maps
  /// on the path are created, and others keep their other entries. An undefined
  /// value changes nothing.
  void set(llvm::StringRef path, const Node &value);
  /// As the other `set`, with a scalar of this text that is derived from
  /// `origin`.
  void set(llvm::StringRef path, const llvm::Twine &text, const Node &origin);
  /// Takes all entries of a map.
  void setAll(const Node &map);
  void remove(llvm::StringRef key);
  Node get(llvm::StringRef key) const;
  /// Makes messages about the map at `path` point to `place`.
  void place(llvm::StringRef path, const Node &place);

  Node build() const;

private:
  NodeBuilder &getChild(llvm::StringRef key);

  Node origin;
  /// Names in their order; each is in one of the two maps.
  std::vector<std::string> names;
  std::map<std::string, Node, std::less<>> values;
  std::map<std::string, NodeBuilder, std::less<>> children;
};

} // namespace mf

#endif // MF_LIB_FRONTEND_CONFIG_NODEBUILDER_H
