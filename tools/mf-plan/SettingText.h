//===- SettingText.h - Memory settings to read -----------------*- C++ -*-===//

#ifndef MF_TOOLS_MF_PLAN_SETTINGTEXT_H
#define MF_TOOLS_MF_PLAN_SETTINGTEXT_H

#include "mf/Frontend/Config/SettingEdit.h"
#include "llvm/Support/JSON.h"

namespace mf::tools {

/// The settings that have a value, by the names of the YAML's keys.
llvm::json::Object writeSettings(const MemorySettings &settings);

/// The same as lines: `recompute: [3,2,0,0]`, and one for each pattern of
/// operators. The YAML of the dynamic graph has other keys: of `given` and
/// `planned`, two YAMLs in that format, the lines that differ are printed.
void printSettings(const MemorySettings &settings, llvm::StringRef given,
                   llvm::StringRef planned, llvm::raw_ostream &os);

} // namespace mf::tools

#endif // MF_TOOLS_MF_PLAN_SETTINGTEXT_H
