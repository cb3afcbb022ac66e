//===- DynamicMemoryKeys.h - Recompute and swap in the other format -*- C++
//-*-//

#ifndef MF_LIB_FRONTEND_CONFIG_DYNAMICMEMORYKEYS_H
#define MF_LIB_FRONTEND_CONFIG_DYNAMICMEMORYKEYS_H

#include "SettingKeys.h"
#include "mf/Frontend/Config/SettingEdit.h"

namespace mf {

/// Prints layers as the format has them: '5' or '0-19', both ends included.
std::string printLayerRange(int64_t first, int64_t last);

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

#endif // MF_LIB_FRONTEND_CONFIG_DYNAMICMEMORYKEYS_H
