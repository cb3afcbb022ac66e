//===- YamlReader.cpp - A YAML text as a tree -----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Builds the tree from yaml-cpp's events, so that every node keeps its mark,
// aliases share storage instead of being copied, and the limits hold while
// reading. All exceptions end here.
//
//===----------------------------------------------------------------------===//

#include "mf/Frontend/Config/YamlReader.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/MemoryBuffer.h"
#include <sstream>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

namespace mf {
namespace {

/// Thrown by our event handler to leave yaml-cpp; caught in `parseYaml`.
struct ReadError {
  YAML::Mark mark;
  std::string message;
};

class TreeBuilder : public YAML::EventHandler {
public:
  TreeBuilder(llvm::StringRef fileName, DiagnosticList &diagnostics,
              const YamlLimits &limits)
      : file(std::make_shared<const std::string>(fileName.str())),
        diagnostics(diagnostics), limits(limits) {}

  Node takeRoot() { return std::move(root); }
  Location locate(const YAML::Mark &mark) const {
    if (mark.is_null())
      return {*file, 0, 0};
    return {*file, static_cast<unsigned>(mark.line + 1),
            static_cast<unsigned>(mark.column + 1)};
  }

  void OnDocumentStart(const YAML::Mark &) override {}
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark &mark, YAML::anchor_t anchor) override {
    add(std::make_shared<NodeData>(makeData(mark, NodeKind::Null)), anchor,
        mark);
  }

  void OnAlias(const YAML::Mark &mark, YAML::anchor_t anchor) override {
    auto found = anchors.find(anchor);
    if (found == anchors.end())
      throw ReadError{mark, "an alias inside the node it stands for"};
    place(found->second, mark);
  }

  void OnScalar(const YAML::Mark &mark, const std::string &tag,
                YAML::anchor_t anchor, const std::string &value) override {
    auto data = std::make_shared<NodeData>(makeData(mark, NodeKind::String));
    data->text = value;
    resolveScalar(*data, tag, mark);
    add(data, anchor, mark);
  }

  void OnSequenceStart(const YAML::Mark &mark, const std::string &tag,
                       YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    checkCollectionTag(tag, "seq", mark);
    open(mark, NodeKind::List, anchor);
  }
  void OnSequenceEnd() override { close(); }

  void OnMapStart(const YAML::Mark &mark, const std::string &tag,
                  YAML::anchor_t anchor, YAML::EmitterStyle::value) override {
    checkCollectionTag(tag, "map", mark);
    open(mark, NodeKind::Map, anchor);
  }
  void OnMapEnd() override { close(); }

private:
  struct Frame {
    std::shared_ptr<NodeData> data;
    YAML::anchor_t anchor;
    YAML::Mark mark;
    /// Keys and values of a map in turn, before merging.
    std::vector<Node> flat;
    std::vector<YAML::Mark> marks;
  };

  NodeData makeData(const YAML::Mark &mark, NodeKind kind) const {
    NodeData data;
    data.kind = kind;
    data.line = static_cast<unsigned>(mark.line + 1);
    data.column = static_cast<unsigned>(mark.column + 1);
    data.file = file;
    return data;
  }

  static llvm::StringRef stripTag(llvm::StringRef tag) {
    tag.consume_front("tag:yaml.org,2002:");
    return tag;
  }

  /// `?` is yaml-cpp's tag of a plain scalar, and `!` is the tag of a quoted
  /// one.
  static void resolveScalar(NodeData &data, const std::string &tag,
                            const YAML::Mark &mark) {
    if (tag.empty() || tag == "?")
      return resolvePlainScalar(data);
    llvm::StringRef name = stripTag(tag);
    if (tag == "!" || name == "str")
      return;
    NodeKind wanted = name == "int"     ? NodeKind::Int
                      : name == "float" ? NodeKind::Float
                      : name == "bool"  ? NodeKind::Bool
                      : name == "null"  ? NodeKind::Null
                                        : NodeKind::Undefined;
    if (wanted == NodeKind::Undefined)
      throw ReadError{mark, "unknown tag " + quote(tag) +
                                "; only plain YAML types can be read"};
    resolvePlainScalar(data);
    if (wanted == NodeKind::Float && data.kind == NodeKind::Int)
      data.kind = NodeKind::Float;
    if (data.kind != wanted)
      throw ReadError{mark, quote(data.text) + " does not have the type of " +
                                "its tag " + quote(name)};
  }

  static void checkCollectionTag(const std::string &tag, llvm::StringRef name,
                                 const YAML::Mark &mark) {
    if (tag.empty() || tag == "?" || tag == "!" || stripTag(tag) == name)
      return;
    throw ReadError{mark, "unknown tag " + quote(tag) +
                              "; only plain YAML types can be read"};
  }

  void open(const YAML::Mark &mark, NodeKind kind, YAML::anchor_t anchor) {
    if (stack.size() >= limits.maxDepth)
      throw ReadError{mark, "nested deeper than " +
                                std::to_string(limits.maxDepth) + " levels"};
    Frame frame;
    frame.data = std::make_shared<NodeData>(makeData(mark, kind));
    frame.anchor = anchor;
    frame.mark = mark;
    stack.push_back(std::move(frame));
  }

  void close() {
    Frame frame = std::move(stack.back());
    stack.pop_back();
    if (frame.data->kind == NodeKind::Map)
      buildMap(frame);
    add(frame.data, frame.anchor, frame.mark);
  }

  void add(const std::shared_ptr<NodeData> &data, YAML::anchor_t anchor,
           const YAML::Mark &mark) {
    if (anchor != 0)
      anchors[anchor] = data;
    place(data, mark);
  }

  /// Puts a finished node into the collection that is open.
  void place(const std::shared_ptr<NodeData> &data, const YAML::Mark &mark) {
    if (stack.empty()) {
      root = Node(data);
      return;
    }
    NodeData &parent = *stack.back().data;
    parent.expandedSize += data->expandedSize;
    if (parent.expandedSize > limits.maxNodes)
      throw ReadError{mark, "more than " + std::to_string(limits.maxNodes) +
                                " nodes, aliases written out"};
    if (parent.kind == NodeKind::List) {
      parent.elements.emplace_back(data);
      return;
    }
    stack.back().flat.emplace_back(data);
    stack.back().marks.push_back(mark);
  }

  struct MapEntries {
    std::vector<Node::Entry> entries;
    llvm::StringMap<size_t> index;
    /// The number of entries that merge keys added.
    size_t merged = 0;
  };

  /// Flattens a mapping as PyYAML does: entries of `<<` come first, and the
  /// map's own keys override them. If several maps are merged, the first one
  /// with a key wins.
  void buildMap(Frame &frame) {
    MapEntries map;
    for (size_t i = 0; i + 1 < frame.flat.size(); i += 2) {
      const Node &key = frame.flat[i];
      if (isMergeKey(key))
        merge(map, frame.flat[i + 1], frame.marks[i]);
    }
    map.merged = map.entries.size();
    std::vector<bool> isOwn(map.merged, false);
    for (size_t i = 0; i + 1 < frame.flat.size(); i += 2) {
      const Node &key = frame.flat[i];
      if (isMergeKey(key))
        continue;
      if (key.isList() || key.isMap())
        throw ReadError{frame.marks[i],
                        "a map key must be a scalar, but this is " +
                            describe(key.getKind()).str()};
      insert(map, isOwn, {key, frame.flat[i + 1]}, frame.marks[i]);
    }
    frame.data->entries = std::move(map.entries);
  }

  static bool isMergeKey(const Node &key) {
    // A quoted '<<' is resolved to the same string, but PyYAML merges only the
    // plain one. No real file has a key of that name.
    return key.isString() && key.getText() == "<<";
  }

  void merge(MapEntries &map, const Node &value, const YAML::Mark &mark) {
    if (value.isMap()) {
      for (const Node::Entry &entry : value.getEntries())
        if (map.index.try_emplace(entry.key.getText(), map.entries.size())
                .second)
          map.entries.push_back(entry);
      return;
    }
    if (!value.isList())
      throw ReadError{mark, "expected a map or a list of maps to merge, but "
                            "got " +
                                describe(value.getKind()).str()};
    for (const Node &element : value.getElements()) {
      if (!element.isMap())
        throw ReadError{mark, "expected a list of maps to merge, but got " +
                                  describe(element.getKind()).str() + " in it"};
      merge(map, element, mark);
    }
  }

  void insert(MapEntries &map, std::vector<bool> &isOwn, Node::Entry entry,
              const YAML::Mark &mark) {
    auto [found, isNew] =
        map.index.try_emplace(entry.key.getText(), map.entries.size());
    if (isNew) {
      map.entries.push_back(std::move(entry));
      isOwn.push_back(true);
      return;
    }
    size_t at = found->second;
    if (isOwn[at])
      diagnostics
          .warning(locate(mark), "key " + quote(entry.key.getText()) +
                                     " is given twice; the last value counts")
          .attachNote("first given here", map.entries[at].key.getLocation());
    isOwn[at] = true;
    map.entries[at] = std::move(entry);
  }

  std::shared_ptr<const std::string> file;
  DiagnosticList &diagnostics;
  const YamlLimits &limits;
  std::vector<Frame> stack;
  llvm::DenseMap<YAML::anchor_t, std::shared_ptr<NodeData>> anchors;
  Node root;
};

} // namespace

/// The messages of yaml-cpp start with upper case, those of this project with
/// lower case.
static std::string lowerFirst(llvm::StringRef message) {
  std::string text = message.str();
  if (text.size() > 1 && text[1] >= 'a' && text[1] <= 'z')
    text[0] = static_cast<char>(std::tolower(text[0]));
  return text;
}

Node parseYaml(llvm::StringRef text, llvm::StringRef fileName,
               DiagnosticList &diagnostics, const YamlLimits &limits) {
  if (text.size() > limits.maxBytes) {
    diagnostics.error(
        {fileName.str(), 0, 0},
        "the text has " + llvm::Twine(text.size()) + " bytes, more than the " +
            llvm::Twine(limits.maxBytes) + " that a configuration may have");
    return {};
  }
  TreeBuilder builder(fileName, diagnostics, limits);
  try {
    std::istringstream stream(text.str());
    YAML::Parser parser(stream);
    if (!parser.HandleNextDocument(builder)) {
      auto empty = std::make_shared<NodeData>();
      empty->file = std::make_shared<const std::string>(fileName.str());
      return Node(std::move(empty));
    }
    Node root = builder.takeRoot();
    TreeBuilder rest(fileName, diagnostics, limits);
    if (parser.HandleNextDocument(rest)) {
      diagnostics.error(rest.takeRoot().getLocation(),
                        "a second document; expected one configuration");
      return {};
    }
    return root;
  } catch (const ReadError &error) {
    diagnostics.error(builder.locate(error.mark), error.message);
  } catch (const YAML::Exception &error) {
    diagnostics.error(builder.locate(error.mark),
                      "invalid YAML: " + lowerFirst(error.msg));
  } catch (const std::exception &error) {
    diagnostics.error({fileName.str(), 0, 0},
                      llvm::Twine("cannot read the YAML: ") + error.what());
  }
  return {};
}

Node parseYamlFile(llvm::StringRef path, DiagnosticList &diagnostics,
                   const YamlLimits &limits) {
  auto buffer = llvm::MemoryBuffer::getFileOrSTDIN(path, /*IsText=*/true);
  llvm::StringRef name = path == "-" ? "<stdin>" : path;
  if (!buffer) {
    diagnostics.error({name.str(), 0, 0},
                      "cannot read the file: " + buffer.getError().message());
    return {};
  }
  return parseYaml((*buffer)->getBuffer(), name, diagnostics, limits);
}

} // namespace mf
