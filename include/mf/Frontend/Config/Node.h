//===- Node.h - An immutable YAML tree --------------------------*- C++ -*-===//
//
// A YAML document as a tree of maps, lists and typed scalars that all know
// their line and column. Scalars get the types PyYAML's safe loader gives
// them (YAML 1.1), because that is what MindSpore Transformers loads with:
// `yes` is a bool, `1.e-8` a float, `1e-8` a string, `010` is 8, and quoted
// scalars stay strings. Anchors, aliases and merge keys are resolved.
//
//===----------------------------------------------------------------------===//

#ifndef MF_CONFIG_NODE_H
#define MF_CONFIG_NODE_H

#include "mf/Frontend/Config/Diagnostic.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace mf {

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

/// The name of a value of this kind in a message: `a list`, `an int`, ...
llvm::StringRef describe(NodeKind kind);

class Node;

/// Storage of one node, shared by all its aliases. Only readers make these.
struct NodeData;

/// A handle on one node of a document; cheap to copy, keeps the node alive. A
/// default node is undefined and every question to it has an answer.
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

  /// Where the node starts. For an alias, where the anchored node starts.
  Location getLocation() const;

  /// The text of a scalar as written, without quotes; empty for others.
  llvm::StringRef getText() const;
  std::optional<bool> getBool() const;
  /// The value of an int that fits 64 bits.
  std::optional<int64_t> getInt() const;
  /// The value of a float or an int.
  std::optional<double> getFloat() const;

  /// Elements of a list; empty for others.
  const std::vector<Node> &getElements() const;
  /// Entries of a map in PyYAML's order (merged keys first), every key once.
  const std::vector<Entry> &getEntries() const;
  /// The value at `key` of a map, or undefined.
  Node operator[](llvm::StringRef key) const;
  /// The key node at `key` of a map, or undefined: for messages about keys.
  Node getKeyNode(llvm::StringRef key) const;

  /// The node as Python would print the loaded value: True, 'text', [1, 2],
  /// {'a': None}; cut after about `longest` bytes.
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
  /// Nodes below and including this one with aliases written out.
  uint64_t expandedSize = 1;
};

/// Limits that keep hostile input cheap. Real files have a few hundred lines.
struct YamlLimits {
  size_t maxBytes = 1 << 20;
  unsigned maxDepth = 64;
  /// Nodes counted with aliases written out, so that nested aliases cannot
  /// multiply without end.
  uint64_t maxNodes = 1 << 18;
};

/// Reads the one document in `text`. Errors (syntax, a second document, an
/// unknown tag or alias, a limit) go to `diagnostics` and give an undefined
/// node; a repeated key is a warning and its last value counts, as in PyYAML.
/// An empty document is a null node.
Node parseYaml(llvm::StringRef text, llvm::StringRef fileName,
               DiagnosticList &diagnostics, const YamlLimits &limits = {});

/// As `parseYaml` for a file on disk; `-` is standard input.
Node parseYamlFile(llvm::StringRef path, DiagnosticList &diagnostics,
                   const YamlLimits &limits = {});

/// Gives a plain (unquoted, untagged) scalar the type PyYAML gives it.
void resolvePlainScalar(NodeData &data);

} // namespace mf

#endif // MF_CONFIG_NODE_H
