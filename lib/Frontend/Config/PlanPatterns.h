//===- PlanPatterns.h - Assigns patterns to layers --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_FRONTEND_CONFIG_PLANPATTERNS_H
#define MF_LIB_FRONTEND_CONFIG_PLANPATTERNS_H

#include "LayerNormalizer.h"
#include "mf/Frontend/Config/CellTree.h"
#include "mf/Frontend/Config/NameRegex.h"
#include "mf/Support/Diagnostic.h"
#include "llvm/ADT/DenseMap.h"

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

/// Returns the patterns that a select_recompute without names stands for.
llvm::ArrayRef<llvm::StringRef> getDefaultSelectPatterns(NameFamily family);
/// Returns the patterns that a select_comm_recompute without names stands for.
llvm::ArrayRef<llvm::StringRef> getDefaultCommPatterns();
/// Returns the pattern of the operators that are swapped if swap_config names
/// neither layers nor operators.
llvm::StringRef getDefaultSwapPattern();

/// A pattern of one setting while the plan is made: its layers and its matches
/// in each tree.
class ActivePattern {
public:
  ActivePattern(llvm::StringRef key, PatternLayers layers)
      : layers(std::move(layers)), key(key),
        pattern(this->layers.meansWholePaths
                    ? CellPattern::ofWholePaths(this->layers.pattern)
                    : CellPattern(this->layers.pattern)) {}

  const CellPattern::Result &matchIn(const CellTree &tree);
  /// Returns `select_recompute 'feed_forward\.mul'`, for example.
  std::string describe() const;
  const CellPattern &getPattern() const { return pattern; }
  llvm::StringRef getKey() const { return key; }

  PatternLayers layers;

private:
  llvm::StringRef key;
  CellPattern pattern;
  llvm::DenseMap<const CellTree *, CellPattern::Result> results;
};

/// Returns the patterns of one key with the layers of each. A setting without
/// names has the default patterns. The patterns are not checked against the
/// model here.
std::vector<ActivePattern>
resolvePatterns(const LayerSetting &setting, llvm::StringRef key,
                llvm::ArrayRef<llvm::StringRef> defaults,
                LayerNormalizer &normalizer, DiagnosticList &diagnostics);

/// Drops the patterns from `selected` that conflict with `excluded`: for each
/// exclude pattern, the first select pattern of the same depth. Adds a log line
/// for each.
void dropExcluded(std::vector<ActivePattern> &selected,
                  const std::vector<ActivePattern> &excluded,
                  std::vector<std::string> &logLines);

/// Reports patterns that are invalid or have no effect: those that are not
/// regular expressions, that match Python's own attributes (`__class__`), or
/// that match nothing in their layers.
void checkPatterns(std::vector<ActivePattern> &patterns, const StageMap &stages,
                   llvm::ArrayRef<PlannedLayer> planned, bool allowWildcard,
                   DiagnosticList &diagnostics);

/// Drops a cell inside another recomputed cell if patterns match whole paths:
/// it is recomputed with the outer one.
void dropInnerCells(llvm::ArrayRef<ActivePattern> patterns,
                    LayerEffects &effects, std::vector<std::string> &paths);

/// Returns `planned` with one shared tree for all layers with the same names,
/// so that patterns are matched once for them.
std::vector<PlannedLayer> shareTrees(llvm::ArrayRef<PlannedLayer> planned);

} // namespace mf

#endif // MF_LIB_FRONTEND_CONFIG_PLANPATTERNS_H
