//===- LoweredSteps.h - IR after each pass, for tests ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_TEST_UNIT_INTERPRETER_LOWEREDSTEPS_H
#define MF_TEST_UNIT_INTERPRETER_LOWEREDSTEPS_H

#include "WrongRewrites.h"
#include "dialects/ascend/AscendDialect.h"
#include "dialects/mf/MfOps.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Parser/Parser.h"
#include "passes/Passes.h"
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

/// Cuts matrices of `module` by rows over two ranks; each has one whole.
inline void cutMatrices(mlir::ModuleOp module) {
  mlir::MLIRContext *context = module.getContext();
  auto cuts = llvm::cast<mlir::ArrayAttr>(
      mlir::parseAttribute("[[\"mp\"], []]", context));
  module.walk([&](ir::ParamOp param) {
    if (param.getTensorType().getRank() == 2 &&
        param.getSymName() != "layers.1.w1.weight")
      param.setCutsAttr(cuts);
  });
}

/// `model`, lowered as `yaml` says; by `isSharded` cut over two ranks, as far
/// as to its layers on one of them.
struct LoweredSteps : QuietContext {
  explicit LoweredSteps(llvm::StringRef yaml, bool isSharded = false,
                        bool hasCuts = false,
                        llvm::StringRef model = MF_TEST_DATA
                        "/../../examples/two_layers.mlir",
                        int64_t lossChunks = 0)
      : isSharded(isSharded), lossChunks(lossChunks) {
    llvm::SmallString<128> path;
    int file = 0;
    if (llvm::sys::fs::createTemporaryFile("mf", "yaml", file, path))
      return;
    llvm::raw_fd_ostream(file, /*shouldClose=*/true) << yaml;
    mlir::OwningOpRef<mlir::ModuleOp> module =
        mlir::parseSourceFile<mlir::ModuleOp>(model, &context);
    mlir::PassManager manager(&context);
    passes::TrainingStepOptions options;
    options.config = path.str().str();
    options.castOnce = true;
    options.forCann = yaml == cannYaml;
    options.lossChunks = lossChunks;
    // The proofs rewrite nothing; wrong rewrites are to be found by running.
    options.verify = false;
    if (isSharded || hasCuts)
      cutMatrices(*module);
    if (isSharded) {
      buildShardingPipeline(manager, options.config);
    } else {
      passes::buildTrainingStepPipeline(manager, options);
    }
    mlir::FailureOr<std::vector<Snapshot>> taken =
        runWithSnapshots(manager, *module);
    if (mlir::succeeded(taken))
      snapshots = std::move(*taken);
    (void)llvm::sys::fs::remove(path);
  }

  static void buildShardingPipeline(mlir::PassManager &manager,
                                    const std::string &yaml) {
    passes::ReadConfigOptions readConfig;
    readConfig.file = yaml;
    manager.addPass(passes::createReadConfig(readConfig));
    mlir::OpPassManager &model = manager.nest<ir::ModelOp>();
    model.addPass(passes::createPartition());
    model.addPass(passes::createSplitSequence());
    model.addPass(passes::createPropagateLayouts());
    model.addPass(passes::createLowerReshards());
    model.addPass(passes::createLocalize());
    model.addPass(passes::createShardOptimizer());
    model.addPass(passes::createReduceInBackward());
  }

  bool isSharded;
  /// Pieces of the sequence by which the loss is computed, if not 0.
  int64_t lossChunks;
  std::vector<Snapshot> snapshots;
};

} // namespace mf::tools

#endif // MF_TEST_UNIT_INTERPRETER_LOWEREDSTEPS_H
