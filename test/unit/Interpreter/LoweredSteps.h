//===- LoweredSteps.h - IR after each pass, for tests ----------*- C++ -*-===//

#ifndef MF_TEST_UNIT_INTERPRETER_LOWEREDSTEPS_H
#define MF_TEST_UNIT_INTERPRETER_LOWEREDSTEPS_H

#include "dialects/ascend/AscendDialect.h"
#include "mlir/Parser/Parser.h"
#include "passes/pipeline/Pipeline.h"
#include "tools/mf-check-rewrite/PassCheck.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"

namespace mf::tools {

/// A context with our dialects that keeps diagnostics to itself.
struct QuietContext {
  QuietContext()
      : context(mlir::MLIRContext::Threading::DISABLED),
        handler(&context, [this](mlir::Diagnostic &diagnostic) {
          messages += diagnostic.str() + "\n";
          for (mlir::Diagnostic &note : diagnostic.getNotes())
            messages += "note: " + note.str() + "\n";
        }) {
    context.printOpOnDiagnostic(false);
    context.loadDialect<ascend::AscendDialect, ir::MfDialect>();
  }

  mlir::MLIRContext context;
  std::string messages;
  mlir::ScopedDiagnosticHandler handler;
};

/// examples/two_layers.mlir, lowered as `yaml` says.
struct LoweredSteps : QuietContext {
  explicit LoweredSteps(llvm::StringRef yaml) {
    llvm::SmallString<128> path;
    int file = 0;
    if (llvm::sys::fs::createTemporaryFile("mf", "yaml", file, path))
      return;
    llvm::raw_fd_ostream(file, /*shouldClose=*/true) << yaml;
    mlir::OwningOpRef<mlir::ModuleOp> module =
        mlir::parseSourceFile<mlir::ModuleOp>(
            MF_TEST_DATA "/../../examples/two_layers.mlir", &context);
    mlir::PassManager manager(&context);
    passes::TrainingStepOptions options;
    options.config = path.str().str();
    passes::buildTrainingStepPipeline(manager, options);
    mlir::FailureOr<std::vector<Snapshot>> taken =
        runWithSnapshots(manager, *module);
    if (mlir::succeeded(taken))
      snapshots = std::move(*taken);
    (void)llvm::sys::fs::remove(path);
  }

  std::vector<Snapshot> snapshots;
};

} // namespace mf::tools

#endif // MF_TEST_UNIT_INTERPRETER_LOWEREDSTEPS_H
