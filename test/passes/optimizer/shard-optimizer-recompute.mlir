// parallel_optimizer_comm_recompute: a recomputed layer gathers its parameters itself, in backward again, where nothing gathers them once
// for all micro-batches.
// RUN: %variants %S/../Inputs/training.mlir %s | %roundtrip --pass-pipeline='builtin.module(mf.model(mf-shard-optimizer))' -split-input-file 2>%t | FileCheck %s --implicit-check-not=mf.all_gather
// RUN: FileCheck %s --check-prefix=WARN --implicit-check-not=warning: --input-file=%t

// CHECK-LABEL: mf.model @not_shared_out
// WARN: step.yaml:3:5: warning: parallel_optimizer_comm_recompute has no effect: enable_parallel_optimizer is False
module attributes {mf.mesh = #mf.mesh<pp = 1, dp = 2>} {
mf.model @not_shared_out attributes {
    micro_batch_size = 2 : i64, sequence_length = 8 : i64, vocab_size = 16 : i64,
    training = #mf.training<parallel = <stages = 1, interleave = 1, micro_batches = 1, gathers_again = true>,
      optimizer = #adamw, lr_schedule = #constant, loss_scale = 1.0, max_device_memory = 0, locations = {parallel_optimizer_comm_recompute = loc("step.yaml":3:5)}>} {
  mf.param @layers.0.w : tensor<32x32xf32> init <ones> layout <[[], []], reduced = [dp]>
  mf.param @layers.1.w : tensor<32x32xf32> init <ones> layout <[[], []], reduced = [dp]>
  mf.layer @layers.0 body (%x: tensor<8x32xf32>) -> tensor<8x32xf32> attributes {settings = #mf.layer_settings<requests = [recompute]>} {
    %w = mf.get_param @layers.0.w : tensor<32x32xf32>
    %y = mf.matmul %x, %w {name = "w1.matmul", recompute = #mf.recompute<full>, transpose_b = true} : (tensor<8x32xf32>, tensor<32x32xf32>) -> tensor<8x32xf32>
    mf.return %y : tensor<8x32xf32>
  }
  mf.layer @layers.1 body (%x: tensor<8x32xf32>) -> tensor<8x32xf32> {
    %w = mf.get_param @layers.1.w : tensor<32x32xf32>
    %y = mf.matmul %x, %w {name = "w1.matmul", transpose_b = true} : (tensor<8x32xf32>, tensor<32x32xf32>) -> tensor<8x32xf32>
    mf.return %y : tensor<8x32xf32>
  }
}
}

// CHECK-LABEL: mf.model @one_micro_batch
// CHECK: mf.param @layers.0.w : {{.*}} stored <{{\[\[}}dp], []]>{{$}}
// CHECK: mf.param @layers.1.w : {{.*}} stored <{{\[\[}}dp], []]>{{$}}
// CHECK: %[[PART:.*]] = mf.get_param @layers.0.w : tensor<16x32xf32>
// CHECK-NEXT: mf.all_gather %[[PART]] over ["dp"] {name = "w.gather", recompute = #mf.recompute<preset>}
// CHECK: %[[OTHER:.*]] = mf.get_param @layers.1.w : tensor<16x32xf32>
// CHECK-NEXT: mf.all_gather %[[OTHER]] over ["dp"] {name = "w.gather"} :
= mf.model @one_micro_batch attributes {
= training = #mf.training<parallel = <stages = 1, interleave = 1, micro_batches = 1, optimizer_shard = <level = 1, threshold = 1>, gathers_again = true>,

// CHECK-LABEL: mf.model @stages
// WARN: step.yaml:3:5: warning: parallel_optimizer_comm_recompute has no effect: with pipeline_stage 2 parameters are gathered once in a step
= module attributes {mf.mesh = #mf.mesh<pp = 2, dp = 2>} {
= mf.model @stages attributes {
= training = #mf.training<parallel = <stages = 2, interleave = 1, micro_batches = 2, optimizer_shard = <level = 1, threshold = 1>, gathers_again = true>,

// CHECK-LABEL: mf.model @accumulation
// WARN: step.yaml:3:5: warning: parallel_optimizer_comm_recompute has no effect: with gradient_accumulation_steps 4 parameters are gathered once in a step
= mf.model @accumulation attributes {
= training = #mf.training<parallel = <stages = 1, interleave = 1, micro_batches = 4, optimizer_shard = <level = 1, threshold = 1>, gathers_again = true>,
