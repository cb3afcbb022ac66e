//===- CellPattern.h - Names of operators by patterns -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LAYERS_CELLPATTERN_H
#define MF_LAYERS_CELLPATTERN_H

#include "mf/Layers/CellTree.h"
#include "mf/Layers/NameRegex.h"

namespace mf {

/// A pattern as in recompute_config and op_swap. Its components, split at `\.`,
/// must each match one whole name of the path, and the path must be as deep as
/// the pattern.
class CellPattern {
public:
  explicit CellPattern(llvm::StringRef text);
  /// Returns a pattern that must match the whole path of a cell. If one
  /// matching cell is inside another, the outer one is used.
  static CellPattern ofWholePaths(llvm::StringRef text);

  const std::string &getText() const { return text; }
  /// Returns the message about the first component that is not a regular
  /// expression.
  std::string getError() const;

  struct Match {
    size_t entry; ///< The index in the tree.
    bool isCell;
  };
  struct Result {
    /// Operators of a cell in alphabetical order, then its cells in theirs,
    /// as MindSpore Transformers finds them.
    std::vector<Match> matches;
    /// The last component matches Python's own attribute names, at which
    /// MindSpore Transformers breaks off.
    bool matchesPythonNames = false;
  };
  Result match(const CellTree &tree) const;

  /// True if both patterns have the same depth and, in each pair of components,
  /// one matches the other. An exclude pattern drops a select pattern by this
  /// test.
  bool conflictsWith(const CellPattern &other) const;

private:
  CellPattern() = default;
  void match(const CellTree &tree, size_t cell, size_t component,
             Result &result) const;
  Result matchWholePaths(const CellTree &tree) const;

  std::string text;
  std::vector<std::string> parts;
  std::vector<NameRegex> components;
  bool isWholePath = false;
};

/// Returns `; nearest names: 'a\.b', 'c'` for a pattern that matches nothing in
/// `trees`. The names are spelt as a user would have to write them.
std::string suggestPatterns(llvm::StringRef pattern,
                            llvm::ArrayRef<const CellTree *> trees);

} // namespace mf

#endif // MF_LAYERS_CELLPATTERN_H
