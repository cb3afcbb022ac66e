//===- CellTree.cpp - Names of the operators of one layer -----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Layers/CellTree.h"
#include "llvm/ADT/Hashing.h"
#include <algorithm>

namespace mf {

CellTree CellTree::fromOperators(llvm::ArrayRef<std::string> names) {
  CellTree tree;
  for (const std::string &name : names)
    tree.addOperator(name);
  return tree;
}

size_t CellTree::add(llvm::StringRef path, bool isCell) {
  if (path.empty())
    return 0;
  auto found = byPath.find(path);
  if (found != byPath.end()) {
    entries[found->second].isCell |= isCell;
    return found->second;
  }
  auto [parentPath, name] = path.rsplit('.');
  size_t parent = 0;
  if (name.empty() && !path.ends_with("."))
    name = parentPath;
  else
    parent = add(parentPath, /*isCell=*/true);
  size_t index = entries.size();
  entries.push_back({path.str(), name.str(), isCell, std::nullopt, false, {}});
  entries[parent].children.push_back(index);
  byPath[path] = index;
  return index;
}

void CellTree::setPreset(llvm::StringRef path, bool recompute) {
  auto found = byPath.find(path);
  if (found != byPath.end())
    entries[found->second].presetRecompute = recompute;
}

void CellTree::setCalledApart(llvm::StringRef path) {
  auto found = byPath.find(path);
  if (found != byPath.end())
    entries[found->second].isCalledApart = true;
}

const CellTree::Entry *CellTree::find(llvm::StringRef path) const {
  if (path.empty())
    return &entries[0];
  auto found = byPath.find(path);
  return found == byPath.end() ? nullptr : &entries[found->second];
}

bool CellTree::operator==(const CellTree &other) const {
  // Children follow from the paths and their order.
  auto isSame = [](const Entry &left, const Entry &right) {
    return left.isCell == right.isCell &&
           left.presetRecompute == right.presetRecompute &&
           left.isCalledApart == right.isCalledApart && left.path == right.path;
  };
  return entries.size() == other.entries.size() &&
         std::equal(entries.begin(), entries.end(), other.entries.begin(),
                    isSame);
}

size_t CellTree::getHash() const {
  llvm::hash_code hash = llvm::hash_value(entries.size());
  for (const Entry &entry : entries)
    hash = llvm::hash_combine(hash, entry.path, entry.isCell);
  return hash;
}

/// The layer itself calls the end of a site of several residual streams. The
/// call of an indexer is only its choice, and attention calls all else.
static void setApartCells(CellTree &tree, const std::string &cell) {
  if (llvm::StringRef(cell).ends_with("_hc"))
    tree.setCalledApart(cell + ".output_cell");
  if (!llvm::StringRef(cell).ends_with("core_attention.indexer"))
    return;
  std::vector<std::string> parts;
  for (size_t child : tree.find(cell)->children)
    if (tree.get(child).name != "topk")
      parts.push_back(tree.get(child).path);
  for (const std::string &part : parts)
    tree.setCalledApart(part);
}

void setModelPresets(CellTree &tree, bool selectRecompute,
                     bool useFlashAttention) {
  std::vector<std::string> cells;
  for (const CellTree::Entry &entry : tree.getEntries())
    if (entry.isCell)
      cells.push_back(entry.path);
  for (const std::string &cell : cells) {
    setApartCells(tree, cell);
    if (tree.find(cell + ".norm") && tree.find(cell + ".cast"))
      tree.setPreset(cell + ".cast", true);
    // MoEV3 is its own router.
    if (llvm::StringRef(cell).ends_with("router") ||
        tree.find(cell + ".gating_activation"))
      for (llvm::StringRef choice : {"topk", "afb_topk", "tc_topk", "assign"})
        tree.setPreset(cell + "." + choice.str(), false);
  }
  // IFlytekSparkAttention never recomputes this operator, even if the enclosing
  // cell is recomputed.
  tree.setPreset("attention.core_attention.flash_attention.flash_attention",
                 false);
  if (!selectRecompute)
    return;
  tree.setPreset("attention.value_concat", true);
  if (useFlashAttention)
    return;
  for (llvm::StringRef name :
       {"apply_rotary_emb", "tile_kv", "batch_matmul_q_k", "mul", "add",
        "cast_attn", "softmax", "batch_matmul"})
    tree.setPreset("attention." + name.str(), true);
}

} // namespace mf
