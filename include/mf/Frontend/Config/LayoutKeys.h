//===- LayoutKeys.h - The values of parallel_config as text -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_FRONTEND_CONFIG_LAYOUTKEYS_H
#define MF_FRONTEND_CONFIG_LAYOUTKEYS_H

#include "mf/Frontend/Config/TrainingConfig.h"
#include <map>

namespace mf {

/// Values of parallel_config by key, as text.
using LayoutValues = std::map<std::string, std::string>;

/// Returns the values that are not the default.
LayoutValues listLayoutValues(const TrainingConfig &config);

/// Returns the value of a key that listLayoutValues() leaves out.
std::string getDefaultLayoutValue(llvm::StringRef key);

/// Sets the value of a key to one of listLayoutValues() or to the default.
void setLayoutValue(llvm::StringRef key, llvm::StringRef value,
                    TrainingConfig &config);

} // namespace mf

#endif // MF_FRONTEND_CONFIG_LAYOUTKEYS_H
