//===- DynamicSettingKeys.h - Settings in the other format ------*- C++ -*-===//

#ifndef MF_LIB_CONFIG_DYNAMICSETTINGKEYS_H
#define MF_LIB_CONFIG_DYNAMICSETTINGKEYS_H

#include "SettingKeys.h"
#include "mf/Frontend/Config/SettingEdit.h"

namespace mf {

/// Returns the keys of the dynamic graph's YAML, read as `config`, that make
/// what differs from the `old` settings as asked for: sizes, batches, schedule
/// and layers per stage. It is an error if settings change for which the format
/// has no words: operators to recompute, and swap.
SettingValue getDynamicLayoutKeys(const MemorySettings &settings,
                                  const MemorySettings &old,
                                  const TrainingConfig &config,
                                  llvm::StringRef fileName,
                                  DiagnosticList &diagnostics);

/// Returns the keys for layers that are recomputed as a whole, in a config
/// whose other keys are final. `document` is the YAML as it is.
SettingValue getDynamicRecomputeKeys(const MemorySettings &settings,
                                     const MemorySettings &old,
                                     const Node &document,
                                     const TrainingConfig &config,
                                     DiagnosticList &diagnostics);

} // namespace mf

#endif // MF_LIB_CONFIG_DYNAMICSETTINGKEYS_H
