//===- CellTrees.h - The recorded Cell trees --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_TEST_UNIT_CONFIG_CELLTREES_H
#define MF_TEST_UNIT_CONFIG_CELLTREES_H

#include "mf/Layers/CellTree.h"
#include "test/unit/RecordedCells.h"

namespace mf {

/// The trees of test/data/mindformers/celltrees_dev.txt by name.
inline std::map<std::string, CellTree> readCellTrees() {
  std::map<std::string, CellTree> trees;
  for (const auto &[kind, cells] : readRecordedCells())
    for (const RecordedCell &cell : cells) {
      if (!cell.name.empty())
        trees[kind].addCell(cell.name);
      for (const std::string &name : cell.operators)
        trees[kind].addOperator(name);
    }
  return trees;
}

} // namespace mf

#endif // MF_TEST_UNIT_CONFIG_CELLTREES_H
