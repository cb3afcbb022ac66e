//===- SettingEdits.h - Edits of one setting of a YAML ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_TEST_UNIT_CONFIG_SETTINGEDITS_H
#define MF_TEST_UNIT_CONFIG_SETTINGEDITS_H

#include "mf/Frontend/Config/SettingEdit.h"
#include "llvm/ADT/SmallVector.h"
#include <algorithm>

namespace mf {

/// The edited text, or the error.
inline std::string edit(llvm::StringRef yaml, const MemorySettings &settings) {
  auto edited = applySettings(yaml, "a.yaml", settings);
  return edited ? *edited : llvm::toString(edited.takeError());
}

using ChangedLines = std::vector<std::string>;

/// What differs between two texts by a longest common subsequence of their
/// lines: each line of `before` alone behind `-`, each of `after` behind `+`.
inline ChangedLines diffLines(llvm::StringRef before, llvm::StringRef after) {
  llvm::SmallVector<llvm::StringRef> old, now;
  before.split(old, '\n');
  after.split(now, '\n');
  std::vector<std::vector<unsigned>> common(
      old.size() + 1, std::vector<unsigned>(now.size() + 1));
  for (size_t i = old.size(); i-- > 0;)
    for (size_t j = now.size(); j-- > 0;)
      common[i][j] = old[i] == now[j]
                         ? common[i + 1][j + 1] + 1
                         : std::max(common[i + 1][j], common[i][j + 1]);
  ChangedLines lines;
  for (size_t i = 0, j = 0; i < old.size() || j < now.size();) {
    if (i < old.size() && j < now.size() && old[i] == now[j])
      ++i, ++j;
    else if (i < old.size() &&
             (j == now.size() || common[i + 1][j] >= common[i][j + 1]))
      lines.push_back("-" + old[i++].str());
    else
      lines.push_back("+" + now[j++].str());
  }
  return lines;
}

/// The lines that an edit changes; or the error.
inline ChangedLines editLines(llvm::StringRef yaml,
                              const MemorySettings &settings) {
  auto edited = applySettings(yaml, "a.yaml", settings);
  if (edited)
    return diffLines(yaml, *edited);
  return {llvm::toString(edited.takeError())};
}

inline MemorySettings withRecompute(StageTable table) {
  MemorySettings settings;
  settings.recompute = std::move(table);
  return settings;
}

inline MemorySettings withSelect(std::vector<OperatorCounts> operators) {
  MemorySettings settings;
  settings.selectRecompute = std::move(operators);
  return settings;
}

inline MemorySettings withSwap(std::vector<SwapItem> items) {
  MemorySettings settings;
  settings.swap = std::move(items);
  return settings;
}

inline MemorySettings withStages(int64_t stages) {
  MemorySettings settings;
  settings.stages = stages;
  return settings;
}

} // namespace mf

#endif // MF_TEST_UNIT_CONFIG_SETTINGEDITS_H
