//===- RecordedCells.h - Cells read off MindFormers -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Reads test/data/mindformers/celltrees_dev.txt: under the name of each kind
// of layer a line for each Cell, `name/ Class: operator Type, ...`.
//
//===----------------------------------------------------------------------===//

#ifndef MF_TEST_UNIT_RECORDEDCELLS_H
#define MF_TEST_UNIT_RECORDEDCELLS_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/MemoryBuffer.h"
#include "gtest/gtest.h"
#include <map>

namespace mf {

struct RecordedCell {
  /// Empty for the layer itself.
  std::string name;
  /// With the Cell's name before theirs.
  std::vector<std::string> operators;
};

/// The Cells of each kind of layer in their order.
inline std::map<std::string, std::vector<RecordedCell>> readRecordedCells() {
  std::map<std::string, std::vector<RecordedCell>> kinds;
  auto buffer = llvm::MemoryBuffer::getFile(MF_TEST_DATA
                                            "/mindformers/celltrees_dev.txt");
  EXPECT_TRUE(bool(buffer));
  if (!buffer)
    return kinds;
  llvm::SmallVector<llvm::StringRef> lines;
  (*buffer)->getBuffer().split(lines, '\n', -1, /*KeepEmpty=*/false);
  std::vector<RecordedCell> *kind = nullptr;
  for (llvm::StringRef line : lines) {
    if (line.consume_front("##### ")) {
      kind = &kinds[line.split(' ').first.str()];
      continue;
    }
    auto [cell, operators] = line.split(": ");
    const std::string name = cell.split("/ ").first.str();
    kind->push_back({name, {}});
    llvm::SmallVector<llvm::StringRef> parts;
    operators.split(parts, ", ", -1, /*KeepEmpty=*/false);
    for (llvm::StringRef part : parts)
      kind->back().operators.push_back((name.empty() ? "" : name + ".") +
                                       part.split(' ').first.str());
  }
  return kinds;
}

} // namespace mf

#endif // MF_TEST_UNIT_RECORDEDCELLS_H
