//===- DynamicSettingEdit.h - Settings in the other format ------*- C++ -*-===//

#ifndef MF_LIB_CONFIG_DYNAMICSETTINGEDIT_H
#define MF_LIB_CONFIG_DYNAMICSETTINGEDIT_H

#include "mf/Frontend/Config/SettingEdit.h"

namespace mf {

/// Does what applySettings does to the YAML `root` of the dynamic graph, whose
/// text is given: layers per stage, layers to recompute, sizes and batches. It
/// is an error if settings change for which the format has no words: operators
/// to recompute, and swap.
llvm::Expected<std::string>
applyDynamicSettings(llvm::StringRef yaml, llvm::StringRef fileName,
                     const Node &root, const MemorySettings &settings);

} // namespace mf

#endif // MF_LIB_CONFIG_DYNAMICSETTINGEDIT_H
