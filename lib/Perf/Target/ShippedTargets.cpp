//===- ShippedTargets.cpp - The files of targets/ -------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "ShippedTargets.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

namespace mf::target {

std::vector<llvm::StringRef> getTargetNames() {
  llvm::SmallVector<llvm::StringRef> names;
  llvm::StringRef(MF_TARGET_NAMES).split(names, ',');
  llvm::sort(names);
  return {names.begin(), names.end()};
}

} // namespace mf::target
