//===- DynamicSettingKeys.h - Settings in the other format ------*- C++ -*-===//

#ifndef MF_LIB_CONFIG_DYNAMICSETTINGKEYS_H
#define MF_LIB_CONFIG_DYNAMICSETTINGKEYS_H

#include "SettingKeys.h"
#include "mf/Frontend/Config/SettingEdit.h"

namespace mf {

/// Returns the keys of the dynamic graph's YAML, read as `config`, that make
/// what differs from the `old` settings as asked for: sizes, batches, schedule
/// and layers per stage. It is an error if settings change for which the format
/// has no words: collectives to recompute, and some schedules.
SettingValue getDynamicLayoutKeys(const MemorySettings &settings,
                                  const MemorySettings &old,
                                  const TrainingConfig &config,
                                  llvm::StringRef fileName,
                                  DiagnosticList &diagnostics);

/// Whether a setting is given and is not as it was.
template <typename Value>
bool isChanged(const std::optional<Value> &wanted,
               const std::optional<Value> &old) {
  return wanted && (!old || *wanted != *old);
}

} // namespace mf

#endif // MF_LIB_CONFIG_DYNAMICSETTINGKEYS_H
