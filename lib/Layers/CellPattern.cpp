//===- CellPattern.cpp - Names of operators by patterns -------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Layers/CellPattern.h"
#include "mf/Support/Diagnostic.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>

namespace mf {

CellPattern::CellPattern(llvm::StringRef text) : text(text.str()) {
  llvm::SmallVector<llvm::StringRef> pieces;
  text.split(pieces, "\\.");
  for (llvm::StringRef piece : pieces) {
    parts.push_back(piece.str());
    components.emplace_back(piece);
  }
}

std::string CellPattern::getError() const {
  for (size_t i = 0; i < components.size(); ++i)
    if (!components[i].isValid())
      return quote(parts[i]) +
             " is not a regular expression: " + components[i].getMessage();
  return {};
}

CellPattern CellPattern::ofWholePaths(llvm::StringRef text) {
  CellPattern pattern;
  pattern.text = text.str();
  pattern.parts = {pattern.text};
  pattern.components.emplace_back(text);
  pattern.isWholePath = true;
  return pattern;
}

CellPattern::Result CellPattern::matchWholePaths(const CellTree &tree) const {
  std::vector<size_t> found;
  for (auto [number, entry] : llvm::enumerate(tree.getEntries()))
    if (number > 0 && entry.isCell && components.front().fullMatch(entry.path))
      found.push_back(number);
  auto getKey = [&](size_t number) {
    llvm::StringRef path = tree.get(number).path;
    return std::pair(path.count('.'), path);
  };
  llvm::sort(found, [&](size_t left, size_t right) {
    return getKey(left) < getKey(right);
  });
  Result result;
  for (size_t number : found) {
    llvm::StringRef path = tree.get(number).path;
    const bool isInner = llvm::any_of(result.matches, [&](const Match &outer) {
      llvm::StringRef rest = path;
      return rest.consume_front(tree.get(outer.entry).path) &&
             rest.starts_with(".");
    });
    if (!isInner)
      result.matches.push_back({number, /*isCell=*/true});
  }
  return result;
}

CellPattern::Result CellPattern::match(const CellTree &tree) const {
  if (isWholePath)
    return matchWholePaths(tree);
  Result result;
  match(tree, 0, 0, result);
  return result;
}

void CellPattern::match(const CellTree &tree, size_t cell, size_t component,
                        Result &result) const {
  const NameRegex &regex = components[component];
  const CellTree::Entry &parent = tree.get(cell);
  if (component + 1 < components.size()) {
    for (size_t child : parent.children)
      if (tree.get(child).isCell && regex.fullMatch(tree.get(child).name))
        match(tree, child, component + 1, result);
    return;
  }
  std::vector<Match> operators;
  std::vector<Match> cells;
  for (size_t child : parent.children) {
    const CellTree::Entry &entry = tree.get(child);
    if (regex.fullMatch(entry.name))
      (entry.isCell ? cells : operators).push_back({child, entry.isCell});
  }
  llvm::sort(operators, [&](const Match &left, const Match &right) {
    return tree.get(left.entry).name < tree.get(right.entry).name;
  });
  llvm::append_range(result.matches, operators);
  llvm::append_range(result.matches, cells);
  result.matchesPythonNames |= regex.fullMatch("__class__");
}

bool CellPattern::conflictsWith(const CellPattern &other) const {
  if (parts.size() != other.parts.size())
    return false;
  for (size_t i = 0; i < parts.size(); ++i)
    if (!components[i].fullMatch(other.parts[i]) &&
        !other.components[i].fullMatch(parts[i]))
      return false;
  return true;
}

static std::string toPattern(llvm::StringRef path) {
  std::string pattern;
  for (char c : path)
    pattern += c == '.' ? std::string("\\.") : std::string(1, c);
  return pattern;
}

/// Returns the distance of a name from the user's text, in percent of the
/// length of the longer one. A name with the same ending is nearer.
static unsigned getDistance(llvm::StringRef wanted, llvm::StringRef name) {
  auto longer = static_cast<unsigned>(std::max(wanted.size(), name.size()));
  unsigned distance = wanted.edit_distance(name) * 100 / std::max(longer, 1U);
  bool sameEnd = wanted.rsplit('.').second == name.rsplit('.').second &&
                 wanted.contains('.') && name.contains('.');
  return sameEnd ? distance / 2 : distance;
}

std::string suggestPatterns(llvm::StringRef pattern,
                            llvm::ArrayRef<const CellTree *> trees) {
  if (pattern.size() > 128)
    return {};
  std::string wanted;
  for (char c : pattern)
    if (c != '\\')
      wanted += c;
  std::vector<std::pair<unsigned, std::string>> candidates;
  for (const CellTree *tree : trees)
    for (const CellTree::Entry &entry : tree->getEntries().drop_front())
      if (unsigned distance = getDistance(wanted, entry.path); distance <= 40)
        candidates.emplace_back(distance, entry.path);
  llvm::sort(candidates);
  candidates.erase(llvm::unique(candidates), candidates.end());
  std::string text;
  for (const auto &[distance, path] : llvm::ArrayRef(candidates).take_front(3))
    text += (text.empty() ? "; nearest: " : ", ") + quote(toPattern(path));
  return text;
}

} // namespace mf
