//===- CannProgram.h - Steps as programs on CANN ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_TOOLS_MF_TRANSLATE_CANNPROGRAM_H
#define MF_TOOLS_MF_TRANSLATE_CANNPROGRAM_H

#include "mf/Cann/EmitProgram.h"
#include "llvm/ADT/SmallVector.h"

namespace mf {

/// Registers `--ascend-to-cpp` and `--ascend-to-account`.
void registerCannTranslation();

/// Removes `-o DIR` from the arguments if `--ascend-to-cpp` is among them,
/// because the driver would open DIR as a file.
void takeCannFolder(llvm::SmallVectorImpl<char *> &arguments);

/// Writes the files of a program into a folder, which is created.
llvm::Error writeCannProgram(const cann::ProgramFiles &files,
                             llvm::StringRef folder);

} // namespace mf

#endif // MF_TOOLS_MF_TRANSLATE_CANNPROGRAM_H
