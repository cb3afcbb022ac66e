// RUN: %variants %S/../Inputs/training.mlir %s | %roundtrip --pass-pipeline='builtin.module(mf.model(mf-shard-optimizer))' -split-input-file | FileCheck %s
// RUN: %variants %S/../Inputs/training.mlir %s | %roundtrip --pass-pipeline='builtin.module(mf.model(mf-shard-optimizer{print-plan=true}))' -split-input-file -o %t 2>&1 | FileCheck %s --check-prefix=PLAN
// RUN: %variants %S/../Inputs/training.mlir %s | %roundtrip --pass-pipeline='builtin.module(mf.model(mf-shard-optimizer))' -split-input-file --remarks-filter-passed=optimizer -o %t 2>&1 | FileCheck %s --check-prefix=REMARK

// Level 1: gathered once, in the type that the reader converts it to.
// CHECK-LABEL: mf.model @once_in_a_step
// PLAN: layers.0.w: sharded over [dp], 2 ranks have the same part
// REMARK: {{.*}}'layers.0.w' is sharded over [dp]: 2 ranks have the same part
// CHECK: mf.param @layers.0.w : tensor<64x32xf32> {{.*}} layout <{{\[\[}}mp], []], reduced = [dp]> stored <{{\[\[}}mp, dp], []]> {gathered = tensor<32x32xbf16>}
// CHECK: %[[W:.*]] = mf.get_param @layers.0.w : tensor<32x32xbf16>
// CHECK-NOT: "cast"
// CHECK: mf.matmul %{{.*}}, %[[W]]
module attributes {mf.mesh = #mf.mesh<pp = 1, dp = 2, mp = 2>} {
mf.model @once_in_a_step attributes {
    micro_batch_size = 2 : i64, sequence_length = 8 : i64, vocab_size = 16 : i64,
    training = #mf.training<parallel = <stages = 1, interleave = 1, micro_batches = 2, optimizer_shard = <level = 1, threshold = 8>>,
      optimizer = #adamw, lr_schedule = #constant, loss_scale = 1.0, max_device_memory = 0>} {
  mf.param @layers.0.w : tensor<64x32xf32> init <normal, value = 0.02> layout <[[mp], []], reduced = [dp]>
  mf.layer @layers.0 body (%x: tensor<8x32xf32>) -> tensor<8x32xbf16> {
    %w = mf.get_param @layers.0.w : tensor<32x32xf32>
    %c = mf.cast %w {name = "cast"} : (tensor<32x32xf32>) -> tensor<32x32xbf16>
    %h = mf.cast %x {name = "x.cast"} : (tensor<8x32xf32>) -> tensor<8x32xbf16>
    %y = mf.matmul %h, %c {name = "w1.matmul", transpose_b = true} : (tensor<8x32xbf16>, tensor<32x32xbf16>) -> tensor<8x32xbf16>
    mf.return %y : tensor<8x32xbf16>
  }
}
}

// Level 2: gradients are shared out by micro-batch.
// CHECK-LABEL: mf.model @gradients_too
// CHECK: mf.param @layers.0.w {{.*}} {gathered = tensor<32x32xbf16>, scatter_gradients}
= mf.model @gradients_too attributes {
= training = #mf.training<parallel = <stages = 1, interleave = 1, micro_batches = 2, optimizer_shard = <level = 2, threshold = 8>>,

// Level 3: the layer gathers what it has converted.
// CHECK-LABEL: mf.model @in_each_layer
// CHECK: mf.param @layers.0.w {{.*}} stored <{{\[\[}}mp, dp], []]>
// CHECK: %[[PART:.*]] = mf.get_param @layers.0.w : tensor<16x32xf32>
// CHECK-NEXT: %[[SHORT:.*]] = mf.cast %[[PART]] {{.*}} -> tensor<16x32xbf16>
// CHECK-NEXT: %[[W:.*]] = mf.all_gather %[[SHORT]] over ["dp"] {{.*}}recompute = #mf.recompute<preset>{{.*}} -> tensor<32x32xbf16>
// CHECK: mf.matmul %{{.*}}, %[[W]]
= mf.model @in_each_layer attributes {
= training = #mf.training<parallel = <stages = 1, interleave = 1, micro_batches = 2, optimizer_shard = <level = 3, threshold = 8>>,

// What the rules leave on each rank.
// CHECK-LABEL: mf.model @kept
// CHECK-NOT: stored
// PLAN: small: kept, has 4096 bytes, less than the threshold of 8 KB
// PLAN-NEXT: norm: kept, the model keeps it on each rank
// PLAN-NEXT: odd: kept, its first dimension, 99, does not divide by 4
// PLAN-NEXT: cut: kept, no other rank has the same part
module attributes {mf.mesh = #mf.mesh<pp = 1, dp = 2, mp = 2>} {
mf.model @kept attributes {
    micro_batch_size = 2 : i64, sequence_length = 8 : i64, vocab_size = 16 : i64,
    training = #mf.training<parallel = <stages = 1, interleave = 1, micro_batches = 2, optimizer_shard = <level = 1, threshold = 8>>,
      optimizer = #adamw, lr_schedule = #constant, loss_scale = 1.0, max_device_memory = 0>} {
  mf.param @small : tensor<32x32xf32> init <ones> layout <[[], []], reduced = [dp]>
  mf.param @norm : tensor<4096xf32> init <ones> layout <[[]], reduced = [dp]> {parallel_optimizer = false}
  mf.param @odd : tensor<99x128xf32> init <ones> layout <[[], []], reduced = [dp, mp]>
  mf.param @cut : tensor<64x128xf32> init <ones> layout <[[dp], [mp]]>
}
}
