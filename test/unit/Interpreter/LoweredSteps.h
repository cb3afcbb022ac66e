//===- LoweredSteps.h - IR after each pass, for tests ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_TEST_UNIT_INTERPRETER_LOWEREDSTEPS_H
#define MF_TEST_UNIT_INTERPRETER_LOWEREDSTEPS_H

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

/// Two stages; the SiLU and its product run again in backward. A large eps
/// makes AdamW depend on the gradients' size, and so on clipping.
inline constexpr llvm::StringLiteral stagesYaml = R"(
parallel_config: {pipeline_stage: 2, micro_batch_num: 2}
recompute_config: {select_recompute: True}
optimizer: {type: AdamW, betas: [0.9, 0.95], eps: 1.e-3, weight_decay: 0.1}
runner_wrapper:
  {type: MFTrainOneStepCell, scale_sense: 8, use_clip_grad: True, max_grad_norm: 0.01}
)";

/// One stage, whose two SiLUs are swapped.
inline constexpr llvm::StringLiteral swapsYaml = R"(
runner_config: {gradient_accumulation_steps: 2}
swap_config:
  swap: True
  op_swap:
    - {op_name: 'feed_forward\.w1\.activation\.silu', backward_prefetch: 2, layers: True}
)";

/// Two ranks, over which matrices are cut; they share the storage of what both
/// have. Two pieces of the sequence.
inline constexpr llvm::StringLiteral shardedYaml = R"(
runner_config: {gradient_accumulation_steps: 1}
parallel_config: {model_parallel: 2, seq_split_num: 2}
parallel:
  enable_parallel_optimizer: True
  parallel_optimizer_config: {optimizer_level: level3, parallel_optimizer_threshold: 0}
)";

/// Two ranks that cut sequences: each has a summand of the gradients of norms.
inline constexpr llvm::StringLiteral summandsYaml = R"(
runner_config: {gradient_accumulation_steps: 1}
parallel_config: {model_parallel: 2, use_seq_parallel: True}
)";

/// Layers in blocks of rows, and two copies of them.
inline constexpr llvm::StringLiteral copiesYaml = R"(
runner_config: {gradient_accumulation_steps: 1}
parallel_config: {model_parallel: 2, use_seq_parallel: True}
model: {model_config: {fine_grain_interleave: 2}}
micro_batch_interleave_num: 2
)";

/// All that can become one operator does, in a model with experts.
inline constexpr llvm::StringLiteral fusedYaml = R"(
runner_config: {gradient_accumulation_steps: 1}
model: {model_config: {use_fused_rope: True, use_fused_swiglu: True}}
moe_config:
  {expert_num: 3, use_gmm: True, use_fused_ops_permute: True, use_fused_ops_topkrouter: True}
)";

/// Sites of residual streams become kernels.
inline constexpr llvm::StringLiteral streamsYaml = R"(
runner_config: {gradient_accumulation_steps: 1}
model: {model_config: {use_fused_mhc: True}}
)";

/// For a model that computes in bf16, with parameters in fp32.
inline constexpr llvm::StringLiteral castsYaml = R"(
runner_config: {gradient_accumulation_steps: 2}
)";

/// Lowered to kernels that CANN has.
inline constexpr llvm::StringLiteral cannYaml = R"(
runner_config: {gradient_accumulation_steps: 2}
runner_wrapper: {type: MFTrainOneStepCell, scale_sense: 8, use_clip_grad: True}
)";

/// For a model with adapters.
inline constexpr llvm::StringLiteral adaptedYaml = R"(
runner_config: {gradient_accumulation_steps: 1}
)";

/// For a model whose loss is computed by pieces of the sequence.
inline constexpr llvm::StringLiteral piecesYaml = R"(
runner_config: {gradient_accumulation_steps: 1}
optimizer: {type: AdamW, betas: [0.9, 0.95], eps: 1.e-3, weight_decay: 0.1}
)";

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
