//===- MarkMemory.h - Pass that marks operators, with handlers --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_PASSES_MARK_MARKMEMORY_H
#define MF_PASSES_MARK_MARKMEMORY_H

#include "mf/Layers/CellTree.h"
#include "passes/Passes.h"

namespace mf::passes {

/// Receives the names of one body layer that patterns of settings are matched
/// against. May be called from the threads of a pass manager.
using LayerNamesHandler =
    std::function<void(llvm::StringRef layer, const CellTree &names)>;

/// Creates mf-mark-memory with handlers for the report of the layers and for
/// the names of each layer. Both may be empty.
std::unique_ptr<mlir::Pass> createMarkMemory(const MarkMemoryOptions &options,
                                             LayerReportHandler handler,
                                             LayerNamesHandler namesHandler);

} // namespace mf::passes

#endif // MF_PASSES_MARK_MARKMEMORY_H
