//===- ShippedTargets.h - The files of targets/ ---------------*- C++ -*-===//

#ifndef MF_LIB_TARGET_SHIPPEDTARGETS_H
#define MF_LIB_TARGET_SHIPPEDTARGETS_H

#include "llvm/ADT/StringRef.h"
#include <vector>

namespace mf::target {

/// The names of the files, without their endings, sorted.
std::vector<llvm::StringRef> getTargetNames();

/// The text of a file of targets/ by its name; empty if there is none. Written
/// by cmake/EmbedText.cmake.
llvm::StringRef getTargetText(llvm::StringRef file);

} // namespace mf::target

#endif // MF_LIB_TARGET_SHIPPEDTARGETS_H
