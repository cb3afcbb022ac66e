//===- DynamicSettingKeys.h - Settings in the other format ------*- C++ -*-===//

#ifndef MF_LIB_FRONTEND_CONFIG_DYNAMICSETTINGKEYS_H
#define MF_LIB_FRONTEND_CONFIG_DYNAMICSETTINGKEYS_H

#include "SettingKeys.h"
#include "mf/Frontend/Config/SettingEdit.h"

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

/// True if a setting is given and differs from the old one.
template <typename Value>
bool isChanged(const std::optional<Value> &wanted,
               const std::optional<Value> &old) {
  return wanted && (!old || *wanted != *old);
}

} // namespace mf

#endif // MF_LIB_FRONTEND_CONFIG_DYNAMICSETTINGKEYS_H
