//===- CannProgram.h - Steps as programs on CANN ----------------*- C++ -*-===//

#ifndef MF_TOOLS_MF_TRANSLATE_CANNPROGRAM_H
#define MF_TOOLS_MF_TRANSLATE_CANNPROGRAM_H

#include "llvm/ADT/SmallVector.h"

namespace mf {

/// Registers `--ascend-to-cpp` and `--ascend-to-account`.
void registerCannTranslation();

/// Takes `-o DIR` out of the arguments if `--ascend-to-cpp` is among them: the
/// driver would open it as a file.
void takeCannFolder(llvm::SmallVectorImpl<char *> &arguments);

} // namespace mf

#endif // MF_TOOLS_MF_TRANSLATE_CANNPROGRAM_H
