//===- SettingKeys.h - Which keys say a setting -----------------*- C++ -*-===//

#ifndef MF_LIB_CONFIG_SETTINGKEYS_H
#define MF_LIB_CONFIG_SETTINGKEYS_H

#include "SettingValue.h"
#include "StageSettings.h"

namespace mf {

/// All paths of keys that a setting is written to.
llvm::ArrayRef<llvm::StringRef> getSettingPaths();

/// Adds an error for each setting that no YAML can have.
void checkSettings(const MemorySettings &settings, llvm::StringRef fileName,
                   DiagnosticList &diagnostics);

/// The keys that make `config` have the sizes and the schedule asked for.
SettingValue getScheduleKeys(const MemorySettings &settings,
                             const TrainingConfig &config,
                             DiagnosticList &diagnostics);

/// The key that makes the layers stand as asked for, in a config whose sizes
/// and schedule are as they are to be.
SettingValue getOffsetKeys(const StageTable &offset,
                           const TrainingConfig &config,
                           DiagnosticList &diagnostics);

/// Those for swap.
SettingValue getSwapKeys(llvm::ArrayRef<SwapItem> items,
                         const TrainingConfig &config);

/// Those for what is recomputed, in a config that has all else; but `isSwapOn`
/// says whether swap is to be on.
SettingValue getRecomputeKeys(const MemorySettings &settings,
                              const TrainingConfig &config, bool isSwapOn,
                              std::optional<NameFamily> names,
                              DiagnosticList &diagnostics);

} // namespace mf

#endif // MF_LIB_CONFIG_SETTINGKEYS_H
