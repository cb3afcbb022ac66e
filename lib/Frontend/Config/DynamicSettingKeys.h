//===- DynamicSettingKeys.h - Settings in the other format ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_FRONTEND_CONFIG_DYNAMICSETTINGKEYS_H
#define MF_LIB_FRONTEND_CONFIG_DYNAMICSETTINGKEYS_H

#include "SettingKeys.h"
#include "mf/Frontend/Config/MemorySettings.h"

namespace mf {

/// Returns the keys of the dynamic graph's YAML, read as `config`, that change
/// the `old` settings into the requested ones: sizes, batches, schedule and
/// layers per stage. It is an error if a changed setting cannot be expressed in
/// the format: recompute of collectives, and some schedules.
SettingValue getDynamicLayoutKeys(const MemorySettings &settings,
                                  const MemorySettings &old,
                                  const TrainingConfig &config,
                                  llvm::StringRef fileName,
                                  DiagnosticList &diagnostics);

/// Returns the keys of the dynamic graph's YAML for recomputed layers and
/// modules. All other keys of the config are final. Patterns of the settings
/// name whole modules. `document` is the unchanged YAML.
SettingValue getDynamicRecomputeKeys(const MemorySettings &settings,
                                     const MemorySettings &old,
                                     const Node &document,
                                     const TrainingConfig &config,
                                     DiagnosticList &diagnostics);

/// Returns the keys for swap. The prefetch of settings counts layers here, and
/// it is an error if items differ in it, since the format has one for all.
SettingValue getDynamicSwapKeys(const MemorySettings &settings,
                                const MemorySettings &old,
                                const TrainingConfig &config,
                                DiagnosticList &diagnostics);

} // namespace mf

#endif // MF_LIB_FRONTEND_CONFIG_DYNAMICSETTINGKEYS_H
