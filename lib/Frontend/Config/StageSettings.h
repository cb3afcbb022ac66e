//===- StageSettings.h - Settings by stage and by layer ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_FRONTEND_CONFIG_STAGESETTINGS_H
#define MF_LIB_FRONTEND_CONFIG_STAGESETTINGS_H

#include "mf/Frontend/Config/PipelineRules.h"
#include "mf/Frontend/Config/SettingEdit.h"

namespace mf {

/// Returns the stage map of a YAML. Emits an error and returns none if
/// model_config does not contain the number of layers. `offset`, if given,
/// replaces the YAML's.
std::optional<StageMap> makeStageMap(const TrainingConfig &config,
                                     DiagnosticList &diagnostics,
                                     const StageTable *offset = nullptr);

/// For each mini stage, returns the number of its layers minus the average.
StageTable getOffsets(const StageMap &stages);

/// Limits the counts of a recompute table to the existing layers. The result
/// has a row for each chunk. It is an error at `location` if the table, called
/// `what` in the message, has the wrong shape.
StageTable normalizeTable(const StageMap &stages, const StageTable &table,
                          llvm::StringRef what, const Location &location,
                          DiagnosticList &diagnostics);

/// Returns the layers that a table of the right shape covers, in ascending
/// order.
std::vector<int64_t> getCoveredLayers(const StageMap &stages,
                                      const StageTable &table);

bool hasNoLayers(const StageTable &table);

/// Returns the same swaps with one item for each name and prefetch. Each layer
/// of a name is in the first item that has it.
std::vector<SwapItem> groupByPrefetch(llvm::ArrayRef<SwapItem> items);

} // namespace mf

#endif // MF_LIB_FRONTEND_CONFIG_STAGESETTINGS_H
