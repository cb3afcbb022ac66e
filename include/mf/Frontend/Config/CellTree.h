//===- CellTree.h - Names of the operators of one layer ---------*- C++ -*-===//
//
// The tree of Cells (modules) and operators that users' patterns are matched
// against. Names are dotted paths below the layer: `attention.wq.matmul` is
// the operator `matmul` in the cell `wq` in the cell `attention`.
//
//===----------------------------------------------------------------------===//

#ifndef MF_CONFIG_CELLTREE_H
#define MF_CONFIG_CELLTREE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include <optional>
#include <string>
#include <vector>

namespace mf {

class CellTree {
public:
  struct Entry {
    std::string path; ///< full dotted name; empty for the layer itself
    std::string name; ///< last component
    bool isCell = false;
    /// Whether the model's own code recomputes this always (true) or never
    /// (false), before any setting of the user; a cell's value holds for
    /// everything in it.
    std::optional<bool> presetRecompute;
    /// Cells and operators below, in insertion order.
    std::vector<size_t> children;
  };

  CellTree() { entries.push_back({"", "", true, std::nullopt, {}}); }

  /// A tree of operators given by their dotted names; every prefix is a cell,
  /// in the order of first appearance.
  static CellTree fromOperators(llvm::ArrayRef<std::string> names);

  /// Adds an operator or a cell, and the cells it is in. Adding a name again
  /// changes nothing; an operator that gets something below becomes a cell.
  size_t addOperator(llvm::StringRef path) { return add(path, false); }
  size_t addCell(llvm::StringRef path) { return add(path, true); }
  void setPreset(llvm::StringRef path, bool recompute);

  /// All entries; the first is the layer itself.
  llvm::ArrayRef<Entry> getEntries() const { return entries; }
  const Entry &get(size_t index) const { return entries[index]; }
  const Entry *find(llvm::StringRef path) const;

  /// Same names in the same order with the same presets.
  bool operator==(const CellTree &other) const;
  size_t getHash() const;

private:
  size_t add(llvm::StringRef path, bool isCell);

  std::vector<Entry> entries;
  llvm::StringMap<size_t> byPath;
};

/// Gives the tree the recompute marks that MindSpore Transformers' models set
/// themselves: the input cast of every RMSNorm is recomputed, an MoE router's
/// choices never are, and a true select_recompute without flash attention
/// recomputes the whole score computation too.
void setModelPresets(CellTree &tree, bool selectRecompute,
                     bool useFlashAttention);

} // namespace mf

#endif // MF_CONFIG_CELLTREE_H
