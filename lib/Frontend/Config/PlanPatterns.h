//===- PlanPatterns.h - Assigns patterns to layers --------------*- C++ -*-===//

#ifndef MF_LIB_CONFIG_PLANPATTERNS_H
#define MF_LIB_CONFIG_PLANPATTERNS_H

#include "CellPattern.h"
#include "LayerNormalizer.h"
#include "llvm/ADT/DenseMap.h"

namespace mf {

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
  /// `select_recompute 'feed_forward\.mul'`.
  std::string describe() const;
  const CellPattern &getPattern() const { return pattern; }
  llvm::StringRef getKey() const { return key; }

  PatternLayers layers;

private:
  llvm::StringRef key;
  CellPattern pattern;
  llvm::DenseMap<const CellTree *, CellPattern::Result> results;
};

/// The patterns of one key with the layers of each. Without names the
/// defaults stand for them. Nothing is checked against the model here.
std::vector<ActivePattern>
resolvePatterns(const LayerSetting &setting, llvm::StringRef key,
                llvm::ArrayRef<llvm::StringRef> defaults,
                LayerNormalizer &normalizer, DiagnosticList &diagnostics);

/// Drops from `selected` what `excluded` conflicts with: for each exclude the
/// first select pattern of the same depth. Adds a log line for each.
void dropExcluded(std::vector<ActivePattern> &selected,
                  const std::vector<ActivePattern> &excluded,
                  std::vector<std::string> &logLines);

/// Reports patterns that are invalid or have no effect: no regular expression,
/// broken off at Python's names, or matching nothing in their layers.
void checkPatterns(std::vector<ActivePattern> &patterns, const StageMap &stages,
                   llvm::ArrayRef<PlannedLayer> planned, bool allowWildcard,
                   DiagnosticList &diagnostics);

/// Where patterns mean whole paths, a cell in another one that is recomputed is
/// recomputed with it.
void dropInnerCells(llvm::ArrayRef<ActivePattern> patterns,
                    LayerEffects &effects, std::vector<std::string> &paths);

/// `planned` with one tree for all layers that have the same names, so that
/// patterns are matched once for them.
std::vector<PlannedLayer> shareTrees(llvm::ArrayRef<PlannedLayer> planned);

} // namespace mf

#endif // MF_LIB_CONFIG_PLANPATTERNS_H
