//===- TreeWriter.h - Collects the names of a layer's Cells -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_FRONTEND_IMPORT_TREEWRITER_H
#define MF_LIB_FRONTEND_IMPORT_TREEWRITER_H

#include "llvm/ADT/StringRef.h"
#include <initializer_list>
#include <string>
#include <vector>

namespace mf {

/// Collects dotted names; a Cell is open while its constructor's names are
/// added.
class TreeWriter {
public:
  void add(std::initializer_list<llvm::StringRef> leaves) {
    for (llvm::StringRef leaf : leaves)
      names.push_back(prefix + leaf.str());
  }

  /// Adds a Cell with the primitives `leaves` and the Cells that `body` adds
  /// inside it.
  template <typename Body>
  void addCell(llvm::StringRef cell,
               std::initializer_list<llvm::StringRef> leaves, Body body) {
    std::string outer = prefix;
    prefix += cell.str() + ".";
    add(leaves);
    body();
    prefix = outer;
  }

  void addCell(llvm::StringRef cell,
               std::initializer_list<llvm::StringRef> leaves) {
    addCell(cell, leaves, [] {});
  }

  /// Adds names that are relative to the open Cell.
  void addNames(std::vector<std::string> relative) {
    for (std::string &name : relative)
      names.push_back(prefix + std::move(name));
  }

  std::vector<std::string> take() { return std::move(names); }

private:
  std::string prefix;
  std::vector<std::string> names;
};

} // namespace mf

#endif // MF_LIB_FRONTEND_IMPORT_TREEWRITER_H
