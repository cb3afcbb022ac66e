//===- SettingText.h - Memory settings as text ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_TOOLS_MF_PLAN_SETTINGTEXT_H
#define MF_TOOLS_MF_PLAN_SETTINGTEXT_H

#include "mf/Frontend/Config/SettingEdit.h"
#include "llvm/Support/JSON.h"

namespace mf::tools {

/// Returns the settings that have a value, keyed by the names of the YAML.
llvm::json::Object writeSettings(const MemorySettings &settings);

} // namespace mf::tools

#endif // MF_TOOLS_MF_PLAN_SETTINGTEXT_H
