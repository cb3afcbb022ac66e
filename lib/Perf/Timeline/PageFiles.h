//===- PageFiles.h - The parts of the page --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_PERF_TIMELINE_PAGEFILES_H
#define MF_LIB_PERF_TIMELINE_PAGEFILES_H

#include "llvm/ADT/StringRef.h"

namespace mf::timeline {

/// Returns the text of a file of lib/Perf/Timeline/page at build time.
llvm::StringRef getPageFile(llvm::StringRef name);

} // namespace mf::timeline

#endif // MF_LIB_PERF_TIMELINE_PAGEFILES_H
