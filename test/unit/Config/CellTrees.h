//===- CellTrees.h - The recorded Cell trees --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_TEST_UNIT_CONFIG_CELLTREES_H
#define MF_TEST_UNIT_CONFIG_CELLTREES_H

#include "mf/Frontend/Layers/CellTree.h"
#include "llvm/Support/MemoryBuffer.h"
#include <map>

namespace mf {

/// The trees of test/data/mindformers/celltrees_dev.txt by name.
inline std::map<std::string, CellTree> readCellTrees() {
  std::map<std::string, CellTree> trees;
  auto buffer = llvm::MemoryBuffer::getFile(MF_TEST_DATA
                                            "/mindformers/celltrees_dev.txt");
  if (!buffer)
    return trees;
  llvm::SmallVector<llvm::StringRef> lines;
  (*buffer)->getBuffer().split(lines, '\n');
  CellTree *tree = nullptr;
  for (llvm::StringRef line : lines) {
    if (line.consume_front("##### ")) {
      tree = &trees[line.split(' ').first.str()];
      continue;
    }
    llvm::StringRef name = line.split(' ').first;
    if (!tree || name.empty())
      continue;
    if (name.consume_back("/"))
      tree->addCell(name);
    else
      tree->addOperator(name);
  }
  return trees;
}

} // namespace mf

#endif // MF_TEST_UNIT_CONFIG_CELLTREES_H
