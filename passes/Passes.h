//===- Passes.h - All passes of mf -----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_PASSES_PASSES_H
#define MF_PASSES_PASSES_H

#include "dialects/ascend/AscendDialect.h"
#include "dialects/mf/MfOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "llvm/Support/JSON.h"
#include <functional>

namespace mf {
class CellTree;
} // namespace mf

namespace mf::passes {

/// The cases in which mf-split-chunks splits backward into two halves.
enum class SplitBackward : uint8_t {
  /// As the model's schedule requires; false without a schedule.
  Auto,
  Always,
  Never
};

/// The cases in which mf-split-chunks moves recomputed operators into a
/// separate function.
enum class RecomputeTasks : uint8_t {
  /// As the model's schedule requires; false without a schedule.
  Auto,
  Always,
  Never
};

#define GEN_PASS_DECL
#include "passes/Passes.h.inc"

/// Receives the report of the layers of a model, or of the stages of a step, as
/// one JSON object. May be called from the threads of a pass manager.
using LayerReportHandler = std::function<void(llvm::json::Object)>;

/// Creates ascend-print-memory that passes its report on as JSON instead of
/// printing it.
std::unique_ptr<mlir::Pass> createPrintMemory(const PrintMemoryOptions &options,
                                              LayerReportHandler handler);

/// Receives the names of one body layer that patterns of settings are matched
/// against. May be called from the threads of a pass manager.
using LayerNamesHandler =
    std::function<void(llvm::StringRef layer, const CellTree &names)>;

/// Creates mf-mark-memory with handlers for the report of the layers and for
/// the names of each layer. Both may be empty.
std::unique_ptr<mlir::Pass> createMarkMemory(const MarkMemoryOptions &options,
                                             LayerReportHandler handler,
                                             LayerNamesHandler namesHandler);

/// Receives what was proven of a program, in the words of reports.
using ProofHandler = std::function<void(llvm::StringRef)>;

/// Creates ascend-verify-program with a handler for what was proven.
std::unique_ptr<mlir::Pass> createVerifyProgram(ProofHandler handler);

/// Reports a model without a `training` attribute.
inline mlir::LogicalResult checkTraining(ir::ModelOp model) {
  if (model.getTrainingAttr())
    return mlir::success();
  return model.emitOpError(
      "has no training configuration; run mf-read-config first");
}

#define GEN_PASS_REGISTRATION
#include "passes/Passes.h.inc"

} // namespace mf::passes

#endif // MF_PASSES_PASSES_H
