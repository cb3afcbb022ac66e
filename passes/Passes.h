//===- Passes.h - All passes of mf -----------------------------*- C++ -*-===//

#ifndef MF_PASSES_PASSES_H
#define MF_PASSES_PASSES_H

#include "dialects/ascend/AscendDialect.h"
#include "dialects/mf/MfOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "llvm/Support/JSON.h"
#include <functional>

namespace mf::passes {

/// Whether mf-split-chunks splits backward.
enum class SplitBackward : uint8_t {
  /// As the model's schedule says; not, without one.
  Auto,
  Always,
  Never
};

/// Whether mf-split-chunks makes what is recomputed a function of its own.
enum class RecomputeTasks : uint8_t {
  /// As the model's schedule says; not, without one.
  Auto,
  Always,
  Never
};

#define GEN_PASS_DECL
#include "passes/Passes.h.inc"

/// Takes the report of the layers of a model, or of the stages of a step, as
/// one JSON object. May be called from the threads of a pass manager.
using LayerReportHandler = std::function<void(llvm::json::Object)>;

/// mf-mark-memory that also hands on its report of each layer.
std::unique_ptr<mlir::Pass> createMarkMemory(const MarkMemoryOptions &options,
                                             LayerReportHandler handler);

/// ascend-print-memory that hands on its report as JSON instead of printing it.
std::unique_ptr<mlir::Pass> createPrintMemory(LayerReportHandler handler);

#define GEN_PASS_REGISTRATION
#include "passes/Passes.h.inc"

} // namespace mf::passes

#endif // MF_PASSES_PASSES_H
