//===- Node.h - An immutable YAML tree --------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A YAML document as a tree of maps, lists and typed scalars with their lines
// and columns. Scalars get the types of PyYAML's safe loader (YAML 1.1), which
// MindSpore Transformers uses: `yes` is a bool, `1.e-8` a float, `1e-8` a
// string, `010` is 8, and quoted scalars stay strings. Anchors, aliases and
// merge keys are resolved.
//
//===----------------------------------------------------------------------===//

#ifndef MF_FRONTEND_CONFIG_NODE_H
#define MF_FRONTEND_CONFIG_NODE_H

#include "mf/Support/Diagnostic.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace mf {

/// The kinds of nodes. Undefined is the kind of a node that does not exist.
enum class NodeKind : uint8_t {
  Undefined, ///< no such node: the result for a missing key
  Null,
  Bool,
  Int,
  Float,
  String,
  List,
  Map,
};

/// Returns the name of a kind for messages: `a list`, `an int`, ...
llvm::StringRef describe(NodeKind kind);

class Node;

/// The storage of one node, which all its aliases share. Only readers create
/// it.
struct NodeData;

/// A handle to one node of a document. It is cheap to copy and keeps the node
/// alive. A default-constructed node is undefined, and all its functions can be
/// called.
class Node {
public:
  struct Entry;

  Node() = default;
  explicit Node(std::shared_ptr<const NodeData> data) : data(std::move(data)) {}

  NodeKind getKind() const;
  bool isDefined() const { return data != nullptr; }
  explicit operator bool() const { return isDefined(); }
  bool isUndefinedOrNull() const {
    return getKind() == NodeKind::Undefined || getKind() == NodeKind::Null;
  }
  bool isBool() const { return getKind() == NodeKind::Bool; }
  bool isInt() const { return getKind() == NodeKind::Int; }
  bool isFloat() const { return getKind() == NodeKind::Float; }
  bool isString() const { return getKind() == NodeKind::String; }
  bool isList() const { return getKind() == NodeKind::List; }
  bool isMap() const { return getKind() == NodeKind::Map; }

  /// Returns the place where the node starts. For an alias this is the place of
  /// the anchored node.
  Location getLocation() const;

  /// Returns the text of a scalar as written, without quotes. Empty for other
  /// kinds.
  llvm::StringRef getText() const;
  std::optional<bool> getBool() const;
  /// Returns the value of an int that fits 64 bits, or none.
  std::optional<int64_t> getInt() const;
  /// Returns the value of a float or an int, or none.
  std::optional<double> getFloat() const;
  /// Returns the finite value of a float, an int, or text such as `1e-5`, which
  /// YAML 1.1 reads as a string because it lacks the point, or none.
  std::optional<double> getNumber() const;

  /// Returns the elements of a list. Empty for other kinds.
  const std::vector<Node> &getElements() const;
  /// Returns the entries of a map in PyYAML's order (merged keys first), every
  /// key once.
  const std::vector<Entry> &getEntries() const;
  /// Returns the value at `key` of a map, or an undefined node.
  Node operator[](llvm::StringRef key) const;
  /// Returns the value that keys of nested maps lead to, which dots separate.
  /// An empty path leads to this node.
  Node getPath(llvm::StringRef path) const;
  /// Returns the node of the key `key` of a map, or an undefined node, for
  /// messages about keys.
  Node getKeyNode(llvm::StringRef key) const;

  /// Returns Python's representation of the loaded value: True, 'text', [1, 2],
  /// {'a': None}. It is cut after about `longest` bytes.
  std::string repr(size_t longest = 200) const;

private:
  const Entry *find(llvm::StringRef key) const;

  std::shared_ptr<const NodeData> data;
};

struct Node::Entry {
  Node key;
  Node value;
};

struct NodeData {
  NodeKind kind = NodeKind::Null;
  unsigned line = 0;
  unsigned column = 0;
  std::shared_ptr<const std::string> file;
  std::string text;
  bool boolean = false;
  std::optional<int64_t> integer;
  double real = 0;
  std::vector<Node> elements;
  std::vector<Node::Entry> entries;
  /// The number of nodes below and including this one, with aliases expanded.
  uint64_t expandedSize = 1;
};

/// Sets the type that PyYAML gives to a plain (unquoted, untagged) scalar.
void resolvePlainScalar(NodeData &data);

/// Emits the error for a `value` that is not what is `wanted`.
void rejectValue(const Node &value, const llvm::Twine &wanted,
                 DiagnosticList &diagnostics);

/// Returns the value of a key as text: in full, or its begin with a digest if
/// it is long.
std::string describeKeyValue(const Node &value);

} // namespace mf

#endif // MF_FRONTEND_CONFIG_NODE_H
