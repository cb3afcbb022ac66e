//===- Pipeline.h - The named pipeline of a training step ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_PASSES_PIPELINE_PIPELINE_H
#define MF_PASSES_PIPELINE_PIPELINE_H

#include "mf/Program/Memory/StepPlan.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"
#include "passes/Passes.h"
#include "passes/plan-memory/PlanMemory.h"
#include <optional>
#include <string>

namespace mf::passes {

/// What a limit of device memory is for.
enum class LimitedMemory : uint8_t {
  /// What the trainer of the YAML holds, as far as it is counted.
  Trainer,
  /// What the lowered program needs.
  Program
};

/// How a step is lowered. Tools that propose settings for a step must compile
/// it with the same options as the step itself.
struct LoweringOptions {
  bool castOnce = false;
  bool foldGradientScales = true;
  bool fuseAccumulation = false;
  bool fuseElementwise = true;
  bool forCann = false;
  LimitedMemory memory = LimitedMemory::Trainer;
  /// The order of the stages' runs. Empty for the YAML's.
  std::string schedule = {};
  /// 0 for the YAML's.
  int64_t gradientAccumulationSteps = 0;
  bool recomputeTasks = false;
  /// 0 for the YAML's.
  int64_t lossChunks = 0;
};

/// Options of `mf-training-step`.
struct TrainingStepOptions
    : public mlir::PassPipelineOptions<TrainingStepOptions> {
  Option<std::string> config{
      *this, "config", llvm::cl::desc("training YAML; `-` is standard input")};
  Option<int64_t> gradientAccumulationSteps{
      *this, "gradient-accumulation-steps",
      llvm::cl::desc("replaces runner_config.gradient_accumulation_steps"),
      llvm::cl::init(0)};
  Option<std::string> schedule{
      *this, "schedule",
      llvm::cl::desc("order of the stages' runs, as zero-bubble-h1; empty "
                     "takes the YAML's")};
  Option<bool> recomputeTasks{
      *this, "recompute-tasks",
      llvm::cl::desc("recompute before the gradient arrives, in tasks of their "
                     "own (mf-split-chunks)"),
      llvm::cl::init(false)};
  Option<int64_t> lossChunks{
      *this, "loss-chunks",
      llvm::cl::desc("pieces of the sequence by which the loss is computed; 0 "
                     "takes chunk_loss_num (mf-chunk-loss)"),
      llvm::cl::init(0)};
  Option<std::string> hbm{
      *this, "hbm",
      llvm::cl::desc("device memory per rank, as 54GB, or none for no limit; "
                     "empty takes the YAML's")};
  Option<std::string> target{
      *this, "target",
      llvm::cl::desc("device with whose memory the limit is compared; empty "
                     "compares with none (ascend-check-device)")};
  Option<bool> castOnce{
      *this, "cast-once",
      llvm::cl::desc("convert parameters once per step, as far as device "
                     "memory allows (ascend-cast-once)"),
      llvm::cl::init(false)};
  Option<bool> foldGradientScales{
      *this, "fold-gradient-scales",
      llvm::cl::desc("multiply gradients where they are read, rather than in "
                     "place (mf-fold-gradient-scales)"),
      llvm::cl::init(true)};
  Option<bool> fuseAccumulation{
      *this, "fuse-accumulation",
      llvm::cl::desc("add gradients to accumulators of another type without a "
                     "converted copy (mf-lower-to-ascend)"),
      llvm::cl::init(false)};
  Option<bool> fuseElementwise{
      *this, "fuse-elementwise",
      llvm::cl::desc(
          "run chains of elementwise kernels as one (ascend-fuse-elementwise)"),
      llvm::cl::init(true)};
  Option<bool> forCann{
      *this, "for-cann",
      llvm::cl::desc("only kernels that CANN has: neither elementwise chains "
                     "nor scales of gradients are folded, and buffers have the "
                     "slack that CANN asks for"),
      llvm::cl::init(false)};
  Option<bool> quiet{*this, "quiet",
                     llvm::cl::desc("no INFO lines about each layer"),
                     llvm::cl::init(true)};
  Option<bool> printPlan{*this, "print-plan",
                         llvm::cl::desc("print the plan of each pass"),
                         llvm::cl::init(false)};
  Option<bool> verify{
      *this, "verify",
      llvm::cl::desc("prove what comes out (ascend-verify-program)"),
      llvm::cl::init(true)};
  Option<bool> limitsProgram{
      *this, "limits-program",
      llvm::cl::desc("the limit is for the program, not for the trainer of the "
                     "YAML (ascend-plan-memory)"),
      llvm::cl::init(false)};
  void setLowering(const LoweringOptions &lowering) {
    schedule = lowering.schedule;
    gradientAccumulationSteps = lowering.gradientAccumulationSteps;
    recomputeTasks = lowering.recomputeTasks;
    lossChunks = lowering.lossChunks;
    castOnce = lowering.castOnce;
    foldGradientScales = lowering.foldGradientScales;
    fuseAccumulation = lowering.fuseAccumulation;
    fuseElementwise = lowering.fuseElementwise;
    forCann = lowering.forCann;
    limitsProgram = lowering.memory == LimitedMemory::Program;
  }

  /// True if programs have certificates, which only proofs read.
  bool certify = true;
  /// The text of the file `config`. If it is empty, the passes read the file.
  std::optional<std::string> configText;
  /// The effort spent on making arenas small.
  memory::StepPlanOptions planEffort;
  /// Called with the report of each layer. There is no textual option for it.
  LayerReportHandler layerReportHandler;
  /// Called with the names of each layer that settings can name.
  LayerNamesHandler layerNamesHandler;
  /// Called with each stage's memory and exchanges (ascend-print-memory).
  LayerReportHandler stageReportHandler;
  /// Called with what was proven of the step, before `stageReportHandler`.
  ProofHandler proofHandler;
  /// Called if a stage does not fit, instead of an error.
  MemoryLimitHandler memoryLimitHandler;
  /// Called with the problem of each stage's device memory.
  MemoryProblemHandler memoryProblemHandler;
};

/// Builds the passes from a model and a YAML to a model with marked operators,
/// which read the user's settings.
void buildMarkingPipeline(mlir::OpPassManager &manager,
                          const TrainingStepOptions &options);

/// Builds the passes from a model and a YAML to one planned `ascend` program
/// per stage: all passes in the order of the folders of passes/.
void buildTrainingStepPipeline(mlir::OpPassManager &manager,
                               const TrainingStepOptions &options);

/// Registers all passes and the pipeline `mf-training-step`.
void registerAll();

} // namespace mf::passes

#endif // MF_PASSES_PIPELINE_PIPELINE_H
