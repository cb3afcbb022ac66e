//===- SettingChanges.h - Differences between two YAMLs ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_FRONTEND_CONFIG_SETTINGCHANGES_H
#define MF_FRONTEND_CONFIG_SETTINGCHANGES_H

#include "mf/Frontend/Config/Node.h"

namespace mf {

/// Prints the differences between two YAMLs as lines of YAML: sections with the
/// keys whose values differ, each with its whole new value. swap_config is
/// printed as a whole. Removed keys are left out, except those of swap_config.
/// Every line is indented by `indent` blanks and ends with a newline. The
/// result is empty if there is no difference.
std::string printSettingChanges(const Node &before, const Node &after,
                                size_t indent = 0);
/// Does the same for two texts that have been compiled, so that they can be
/// parsed.
std::string printSettingChanges(llvm::StringRef before, llvm::StringRef after,
                                size_t indent = 0);

} // namespace mf

#endif // MF_FRONTEND_CONFIG_SETTINGCHANGES_H
