//===- SettingEdit.h - Writes memory settings into a YAML -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Writes memory settings into a user's YAML. Only the values that change are
// replaced. Comments, order, anchors, quoting and everything else are preserved
// byte for byte.
//
//===----------------------------------------------------------------------===//

#ifndef MF_FRONTEND_CONFIG_SETTINGEDIT_H
#define MF_FRONTEND_CONFIG_SETTINGEDIT_H

#include "mf/Frontend/Config/MemorySettings.h"
#include "mf/Frontend/Config/StageMap.h"
#include "llvm/Support/Error.h"
#include <variant>

namespace mf {

/// Returns the text with these settings. Keys are looked up where the reader of
/// training YAMLs (TrainingConfig.h) finds them. Missing keys are added to
/// their section, missing sections at the end. A value that already has the
/// requested meaning, even in another form, is not changed. select_recompute
/// settings that name no operators are assumed to differ from the request.
///
/// If a value has an anchor, its aliases change too. A key that a section gets
/// from a merge is overridden in the section. The result is read again to
/// verify that it has the settings and that everything else is unchanged.
///
/// Fails, with file:line:column, if the text cannot be read before or after the
/// change, if a value or its section is an alias, or if no YAML can have the
/// settings (tables without values, a pattern that occurs twice, swap and
/// recompute if model_config does not define the number of layers).
llvm::Expected<std::string> applySettings(llvm::StringRef yaml,
                                          llvm::StringRef fileName,
                                          const MemorySettings &settings);

/// A key by its path, for example recompute_config.mp_comm_recompute, and its
/// new value.
struct KeyChange {
  using Value = std::variant<bool, int64_t, std::string, Node>;
  std::string path;
  Value value;
};

/// Returns the text with other values of keys, written in the same way and with
/// the same errors as by applySettings.
llvm::Expected<std::string> applyKeyChanges(llvm::StringRef yaml,
                                            llvm::StringRef fileName,
                                            llvm::ArrayRef<KeyChange> changes);

/// Reads the settings of a YAML. All fields have values, and tables have a row
/// for each chunk and a column for each stage. Exceptions are `recompute`,
/// `selectRecompute` and `selectCommRecompute` if no table can represent them:
/// with swap on, layers that are not the first ones of their mini stages; and
/// a select_recompute without names.
MemorySettings readSettings(const TrainingConfig &config,
                            const StageMap &stages);

/// Reads the settings if model_config defines the number of layers. Fails if it
/// does not, or if no stage map can be made.
llvm::Expected<MemorySettings> readSettings(const TrainingConfig &config);

} // namespace mf

#endif // MF_FRONTEND_CONFIG_SETTINGEDIT_H
