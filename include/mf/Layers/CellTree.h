//===- CellTree.h - Names of the operators of one layer ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The tree of Cells (modules) and operators that users' patterns are matched
// against. Names are dotted paths below the layer: `attention.wq.matmul` is
// the operator `matmul` in the cell `wq` in the cell `attention`.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LAYERS_CELLTREE_H
#define MF_LAYERS_CELLTREE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include <optional>
#include <string>
#include <vector>

namespace mf {

/// The names of one layer. The entries are numbered, parents before children.
class CellTree {
public:
  struct Entry {
    std::string path; ///< full dotted name; empty for the layer itself
    std::string name; ///< last component
    bool isCell = false;
    /// Whether the model's own code always (true) or never (false) recomputes
    /// this entry, unless the user's settings override it. The value of a cell
    /// applies to everything in it.
    std::optional<bool> presetRecompute;
    /// True if what contains the cell above calls this one, so that a setting
    /// for the cell above does not apply to it.
    bool isCalledApart = false;
    /// The cells and operators directly below, in insertion order.
    std::vector<size_t> children;
  };

  CellTree() { entries.push_back({"", "", true, std::nullopt, false, {}}); }

  /// Makes a tree of operators from their dotted names. Every prefix is a cell,
  /// in the order of first appearance.
  static CellTree fromOperators(llvm::ArrayRef<std::string> names);

  /// Adds an operator or a cell, and the cells that contain it. Adding a name
  /// again has no effect. An operator under which something is added becomes a
  /// cell.
  size_t addOperator(llvm::StringRef path) { return add(path, false); }
  size_t addCell(llvm::StringRef path) { return add(path, true); }
  void setPreset(llvm::StringRef path, bool recompute);
  void setCalledApart(llvm::StringRef path);

  /// Returns all entries. The first is the layer itself.
  llvm::ArrayRef<Entry> getEntries() const { return entries; }
  const Entry &get(size_t index) const { return entries[index]; }
  const Entry *find(llvm::StringRef path) const;

  /// Returns whether both trees have the same names in the same order with the
  /// same presets.
  bool operator==(const CellTree &other) const;
  size_t getHash() const;

private:
  size_t add(llvm::StringRef path, bool isCell);

  std::vector<Entry> entries;
  llvm::StringMap<size_t> byPath;
};

/// Sets the recompute marks that MindSpore Transformers' models set themselves.
/// The input cast of every RMSNorm is recomputed, and the choices of an MoE
/// router never are. If select_recompute is True without flash attention, the
/// whole computation of the scores is recomputed too. Sets also which cells are
/// not called by those that contain them.
void setModelPresets(CellTree &tree, bool selectRecompute,
                     bool useFlashAttention);

} // namespace mf

#endif // MF_LAYERS_CELLTREE_H
