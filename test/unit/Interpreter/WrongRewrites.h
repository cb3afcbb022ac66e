//===- WrongRewrites.h - How each pass could go wrong ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_TEST_UNIT_INTERPRETER_WRONGREWRITES_H
#define MF_TEST_UNIT_INTERPRETER_WRONGREWRITES_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

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

/// One way to break the IR that a pass leaves.
struct WrongRewrite {
  const char *pass;
  const char *name;
  llvm::StringRef yaml;
  /// False if there is nothing to break.
  bool (*apply)(mlir::ModuleOp module);
  /// Part of what is said about it.
  const char *says;
};

/// Returns all ways but those of getWrongSplits.
llvm::ArrayRef<WrongRewrite> getWrongRewrites();

/// Returns the ways to break updates, the order of tasks and lowered programs.
llvm::ArrayRef<WrongRewrite> getWrongSteps();

/// Ways to break a backward that mf-split-chunks splits in two.
llvm::ArrayRef<WrongRewrite> getWrongSplits();

} // namespace mf::tools

#endif // MF_TEST_UNIT_INTERPRETER_WRONGREWRITES_H
