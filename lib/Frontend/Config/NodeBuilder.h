//===- NodeBuilder.h - Trees of YAML that no file has -----------*- C++ -*-===//

#ifndef MF_LIB_CONFIG_NODEBUILDER_H
#define MF_LIB_CONFIG_NODEBUILDER_H

#include "mf/Frontend/Config/Node.h"
#include "llvm/ADT/Twine.h"
#include <map>

namespace mf {

/// A scalar that `text` gives where a YAML has it without quotes. Messages
/// about it point to `origin`, from which it follows.
Node makeScalar(const Node &origin, const llvm::Twine &text);
/// The same for text that is a string, whatever it looks like.
Node makeString(const Node &origin, const llvm::Twine &text);
Node makeList(const Node &origin, std::vector<Node> elements);
/// One row of numbers as a list, several as a list of lists.
Node makeNumberTable(const Node &origin,
                     const std::vector<std::vector<int64_t>> &table);

/// Puts a map together whose values come from other documents or are computed.
class NodeBuilder {
public:
  explicit NodeBuilder(Node origin) : origin(std::move(origin)) {}

  /// Sets the value at `path`, names separated by dots; maps on the way are
  /// made. An undefined value changes nothing.
  void set(llvm::StringRef path, const Node &value);
  /// As set, with a scalar of this text that follows from `origin`.
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

#endif // MF_LIB_CONFIG_NODEBUILDER_H
