// RUN: split-file --leading-lines %s %t
// RUN: %roundtrip --mf-read-config=file=%t/whole.yaml %t/model.mlir | FileCheck %s --check-prefix=WHOLE
// RUN: %roundtrip --mf-read-config=file=%t/section.yaml %t/model.mlir | FileCheck %s --check-prefix=SECTION
// RUN: %roundtrip --mf-read-config="file=%t/section.yaml gradient-accumulation-steps=4" %t/model.mlir | FileCheck %s --check-prefix=ACCUMULATION
// RUN: %roundtrip --mf-read-config=file=%t/pipeline.yaml %t/model.mlir 2>&1 | FileCheck %s --check-prefix=PIPELINE
// RUN: %roundtrip --mf-read-config=file=%t/pipeline.yaml --remarks-filter-analyse=config %t/model.mlir -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: %roundtrip --mf-read-config=file=%t/annealing.yaml %t/model.mlir | FileCheck %s --check-prefix=ANNEALING
// RUN: %roundtrip --mf-read-config=file=%t/gpipe.yaml %t/model.mlir | FileCheck %s --check-prefix=GPIPE
// RUN: %roundtrip --mf-read-config=file=%t/zero-bubble-v.yaml %t/model.mlir | FileCheck %s --check-prefix=ZERO
// RUN: %roundtrip --mf-read-config=file=%t/accumulation.yaml %t/model.mlir | FileCheck %s --check-prefix=ONE-STAGE
// RUN: %roundtrip --mf-read-config=file=%t/gpipe.yaml %t/model.mlir | %roundtrip | FileCheck %s --check-prefix=GPIPE
// RUN: %roundtrip --mf-read-config=file=%t/shared-out.yaml %t/mesh.mlir | FileCheck %s --check-prefix=SHARED-OUT
// RUN: %roundtrip --mf-read-config=file=%t/shared-out.yaml %t/model.mlir | FileCheck %s --check-prefix=ALONE --implicit-check-not=optimizer_shard
// RUN: %roundtrip --mf-read-config=file=%t/fusions.yaml %t/model.mlir | %roundtrip | FileCheck %s --check-prefix=FUSIONS
// RUN: %roundtrip --mf-read-config=file=%t/mcore.yaml %t/mcore.mlir 2>&1 | FileCheck %s --check-prefix=MCORE
// RUN: %roundtrip --mf-read-config=file=- %t/model.mlir < %t/section.yaml | FileCheck %s --check-prefix=SECTION

//--- model.mlir
mf.model @first attributes {micro_batch_size = 1 : i64, sequence_length = 8 : i64, vocab_size = 16 : i64} {
}
// Every model of the module gets the same configuration.
mf.model @second attributes {micro_batch_size = 1 : i64, sequence_length = 8 : i64, vocab_size = 16 : i64} {
}

//--- fusions.yaml
# Keys of classic layer classes, and where they are.
# FUSIONS-DAG: loc("use_gmm"(
# FUSIONS-DAG: loc("use_fused_ops_topkrouter"(
# FUSIONS: max_device_memory = 0, fusions = <rotary = true, swiglu = true, group_matmuls = false, route = true>
# FUSIONS-SAME: group_matmuls = #{{.*}}, rotary = #{{.*}}, route = #{{.*}}, swiglu = #
model: {model_config: {use_fused_rope: True, use_fused_swiglu: True}}
moe_config: {expert_num: 2, use_gmm: False, use_fused_ops_topkrouter: True}

//--- mcore.mlir
mf.model @model attributes {family = "mcore", micro_batch_size = 1 : i64, sequence_length = 8 : i64, vocab_size = 16 : i64} {
}

//--- mcore.yaml
# Those of the training graph.
# MCORE: mcore.yaml:{{[0-9]+}}:{{[0-9]+}}: warning: 'bias_swiglu_fusion' is done, but MindSpore Transformers wants hidden_act swiglu with it, not 'silu'
# MCORE: fusions = <rotary = true, swiglu = true, permute_tokens = true>
model:
  model_config: {apply_rope_fusion: True, bias_swiglu_fusion: True, hidden_act: silu, moe_permute_fusion: True}

//--- mesh.mlir
// SHARED-OUT: optimizer_shard = <level = 2, threshold = 64>, gradients_mean = true>
module attributes {mf.mesh = #mf.mesh<pp = 1, dp = 2>} {
  mf.model @model attributes {micro_batch_size = 2 : i64, sequence_length = 8 : i64, vocab_size = 16 : i64} {
  }
}

//--- shared-out.yaml
# Which ranks there are may be the module's word alone.
# ALONE: training = #mf.training<parallel = <stages = 1
parallel:
  gradients_mean: True
  enable_parallel_optimizer: True
  parallel_optimizer_config:
    optimizer_level: level2

//--- whole.yaml
# Offsets are kept as written; micro-batches come from the pipeline.
# WHOLE: mf.model @first
# WHOLE-SAME: parallel = <stages = 2, interleave = 1, micro_batches = 4, offset = [1, -1], gathers_again = true>
use_parallel: True
parallel_config:
  pipeline_stage: 2
  micro_batch_num: 4
recompute_config:
  recompute: [1, True]
  select_recompute:
    'feed_forward\.mul': True
    'attention\.wq': [1, 0]
  select_comm_recompute: ['.*\.norm']
  mp_comm_recompute: False
  parallel_optimizer_comm_recompute: True
# WHOLE-SAME: optimizer = <type = "AdamW", beta1 = 9.000000e-01, beta2 = 0.94999999999999996, eps = 9.9999999999999995E-7, weight_decay = 1.000000e-02, bias_correction = true>
optimizer:
  type: AdamW
  betas: [0.9, 0.95]
  eps: 1.e-6
  weight_decay: 0.01
# Only what is written: the rest is the schedule's own.
# WHOLE-SAME: lr_schedule = <type = "ConstantWarmUpLR", parameters = {learning_rate = 1.000000e-05 : f64, total_steps = -1 : i64, warmup_steps = 10 : i64}>
lr_schedule:
  type: ConstantWarmUpLR
  learning_rate: 1.e-5
  warmup_steps: 10
# The device's memory in bytes: 54 GiB.
# WHOLE-SAME: clipping = <max_norm = 5.000000e-01>, loss_scale = 1.024000e+03, max_device_memory = 57982058496, locations = {offset = #{{.*}}, parallel_optimizer_comm_recompute = #{{.*}}}>
runner_wrapper:
  type: MFPipelineWithLossScaleCell
  use_clip_grad: True
  max_grad_norm: 0.5
  scale_sense: 1024
context:
  max_device_memory: "54GB"
model:
  model_config:
    offset: [1, -1]
# WHOLE: mf.model @second
# WHOLE-SAME: training = #mf.training<parallel = <stages = 2

//--- section.yaml
# What a file does not say takes MindSpore Transformers' defaults.
# SECTION: parallel = <stages = 1, interleave = 1, micro_batches = 1, offset = 0 : i64>
# SECTION-SAME: optimizer = <type = "AdamW", beta1 = 9.000000e-01, beta2 = 0.99899999999999999, eps = 1.000000e-08, weight_decay = 0.000000e+00, bias_correction = true>
# SECTION-SAME: lr_schedule = <type = "CosineWithWarmUpLR", parameters = {learning_rate = 5.000000e-05 : f64, lr_end = 0.000000e+00 : f64, total_steps = -1 : i64, warmup_ratio = 0.000000e+00 : f64}>
# SECTION-SAME: loss_scale = 6.553600e+04, loss_scale_update = <factor = 2, window = 1000>, max_device_memory = 0>
recompute_config:
  recompute: True

# An option replaces runner_config.gradient_accumulation_steps.
# ACCUMULATION: micro_batches = 4

//--- pipeline.yaml
# With a pipeline the micro-batches are the accumulation; asking for both is worth a warning at its place.
# PIPELINE: {{.*}}pipeline.yaml:[[#@LINE+4]]:32: warning: gradient_accumulation_steps is reset from 3 to 1: with pipeline_stage > 1
# PIPELINE: parallel = <stages = 2, interleave = 2, micro_batches = 4, offset = {{\[}}[0, 0], [0, 0]]>
# REMARK: [Analysis] Config | Category:config | Function={{.*}}pipeline.yaml | Remark="one training step", interleave=2, micro-batches=4, stages=2
runner_config:
  gradient_accumulation_steps: 3
use_parallel: True
parallel:
  pipeline_config:
    pipeline_interleave: True
parallel_config:
  pipeline_stage: 2
  micro_batch_num: 4
model:
  model_config:
    pp_interleave_num: 2
    offset: [[0, 0], [0, 0]]

//--- annealing.yaml
# The annealing schedules have keys of their own.
# ANNEALING: lr_schedule = <type = "CosineAnnealingWarmRestarts", parameters = {eta_min = 9.9999999999999995E-8 : f64, learning_rate = 1.000000e-03 : f64, t_0 = 10 : i64, t_mult = 2 : i64, total_steps = -1 : i64}>
lr_schedule:
  type: CosineAnnealingWarmRestarts
  base_lr: 1.e-3
  t_0: 10
  t_mult: 2
  eta_min: 1.e-7

//--- gpipe.yaml
# A scheduler other than 1F1B is named as the Schedule library names it.
# GPIPE: parallel = <stages = 2, interleave = 1, micro_batches = 4, offset = 0 : i64, scheduler = "gpipe">
parallel_config:
  pipeline_stage: 2
  micro_batch_num: 4
parallel:
  pipeline_config:
    pipeline_scheduler: gpipe

//--- zero-bubble-v.yaml
# ZERO: parallel = <stages = 2, interleave = 2, micro_batches = 4, offset = {{\[\[}}1, 0], [0, 1]], scheduler = "dualpipe-v">
# ZERO-SAME: pipeline_scheduler = #
parallel_config:
  pipeline_stage: 2
  micro_batch_num: 4
parallel:
  pipeline_config:
    pipeline_interleave: True
    pipeline_scheduler: zero_bubble_v
model:
  model_config:
    pp_interleave_num: 2
    offset: [[1, 0], [0, 1]]

//--- accumulation.yaml
# One stage runs one micro-batch after the other, whatever the scheduler.
# ONE-STAGE: parallel = <stages = 1, interleave = 1, micro_batches = 3, offset = 0 : i64>
runner_config:
  gradient_accumulation_steps: 3
parallel:
  pipeline_config:
    pipeline_scheduler: gpipe
