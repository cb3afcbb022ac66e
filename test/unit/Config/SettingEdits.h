//===- SettingEdits.h - Edits of one setting of a YAML ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_TEST_UNIT_CONFIG_SETTINGEDITS_H
#define MF_TEST_UNIT_CONFIG_SETTINGEDITS_H

#include "mf/Frontend/Config/SettingEdit.h"

namespace mf {

/// The edited text, or the error.
inline std::string edit(llvm::StringRef yaml, const MemorySettings &settings) {
  auto edited = applySettings(yaml, "a.yaml", settings);
  return edited ? *edited : llvm::toString(edited.takeError());
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
