//===- SettingChanges.h - Differences between two YAMLs ---------*- C++ -*-===//

#ifndef MF_CONFIG_SETTINGCHANGES_H
#define MF_CONFIG_SETTINGCHANGES_H

#include "mf/Frontend/Config/Node.h"

namespace mf {

/// Prints how one YAML differs from another, as lines of YAML: sections with
/// the keys whose values differ, each with all of its new value; swap_config is
/// printed as a whole. Removed keys are left out, except those of swap_config.
/// Every line has `indent` blanks in front and a line end; the result is empty
/// if there is no difference.
std::string printSettingChanges(const Node &before, const Node &after,
                                size_t indent = 0);
/// The same of two texts that have been compiled, and so can be read.
std::string printSettingChanges(llvm::StringRef before, llvm::StringRef after,
                                size_t indent = 0);

} // namespace mf

#endif // MF_CONFIG_SETTINGCHANGES_H
