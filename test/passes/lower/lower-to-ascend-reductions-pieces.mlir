// Each piece of the sequence has a backward of its own, and all add to the same gradients: ranks sum these beside that
// of the first piece, which runs last, though there is one micro-batch.
// RUN: mf-opt --pass-pipeline='builtin.module(mf.model(mf-split-sequence,mf-shard-optimizer,mf-reduce-in-backward,mf-build-backward,mf-split-chunks,mf-insert-optimizer,mf-build-schedule),mf-lower-to-ascend,ascend.program(ascend-plan-memory),ascend-verify-program)' %s | FileCheck %s

#recompute = #mf.recompute_config<recompute = false, select = false, select_comm = false, select_exclude = false, select_comm_exclude = false, parallel_optimizer_comm = false, mp_comm = true, slice_activation = false>
#swap = #mf.swap_config<swap = false, default_prefetch = 1>
#adamw = #mf.optimizer<type = "AdamW", beta1 = 0.9, beta2 = 0.95, eps = 1.0e-8, weight_decay = 0.1, bias_correction = true>
#constant = #mf.lr_schedule<type = "ConstantWarmUpLR", parameters = {learning_rate = 1.0e-3 : f64}>

// CHECK-LABEL: ascend.program @stage0
// CHECK: ascend.routine @chunk0.backward
// CHECK-NOT: ascend.collective
// CHECK: ascend.routine @chunk0.piece1.backward
// CHECK-NOT: ascend.collective
// CHECK: ascend.step
// CHECK: ascend.call @chunk0.piece1.backward
// CHECK-NOT: ascend.collective
// CHECK: %[[COMPLETE:.*]]:3 = ascend.call @chunk0.backward({{.*}}records
// CHECK-NEXT: %[[SUM:.*]] = ascend.global @gradient.layers.1.w
// CHECK-NEXT: ascend.collective all_reduce %[[SUM]] to %[[SUM]] over <dp> channel "dp" on @collective.dp after %[[COMPLETE]]#0
// CHECK: ascend.collective all_reduce {{.*}} after %[[COMPLETE]]#1
// CHECK: %[[LAST:.*]] = ascend.collective all_reduce {{.*}} after %[[COMPLETE]]#2
// CHECK: ascend.call @update({{.*}} after {{.*}}%[[LAST]]
module attributes {mf.mesh = #mf.mesh<pp = 1, dp = 2>} {
mf.model @two_pieces attributes {
    micro_batch_size = 4 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64,
    training = #mf.training<parallel = <stages = 1, interleave = 1, micro_batches = 1, scheduler = "seq1f1b", sequence_pieces = 2>, recompute = #recompute, swap = #swap,
      optimizer = #adamw, lr_schedule = #constant, loss_scale = 1.0, max_device_memory = 0>} {
  mf.param @table : tensor<16x8xf32> init <normal, value = 0.02> layout <[[], []], reduced = [dp]>
  mf.param @layers.0.w : tensor<8x8xf32> init <normal, value = 0.02> layout <[[], []], reduced = [dp]>
  mf.param @layers.1.w : tensor<8x8xf32> init <normal, value = 0.02> layout <[[], []], reduced = [dp]>
  mf.layer @embedding embedding (%t: tensor<2x4xi32>) -> tensor<2x4x8xf32> attributes {placement = #mf.placement<stage = 0, chunk = 0>} {
    %w = mf.get_param @table : tensor<16x8xf32>
    %y = mf.embedding %w, %t {name = "gather"} : (tensor<16x8xf32>, tensor<2x4xi32>) -> tensor<2x4x8xf32>
    mf.return %y : tensor<2x4x8xf32>
  }
  mf.layer @layers.0 body (%x: tensor<2x4x8xf32>) -> tensor<2x4x8xf32> attributes {placement = #mf.placement<stage = 0, chunk = 0>} {
    %w = mf.get_param @layers.0.w : tensor<8x8xf32>
    %c = mf.cast %w {name = "cast"} : (tensor<8x8xf32>) -> tensor<8x8xbf16>
    %h = mf.cast %x {name = "x.cast"} : (tensor<2x4x8xf32>) -> tensor<2x4x8xbf16>
    %m = mf.matmul %h, %c {name = "matmul", transpose_b = true} : (tensor<2x4x8xbf16>, tensor<8x8xbf16>) -> tensor<2x4x8xbf16>
    %y = mf.cast %m {name = "y.cast"} : (tensor<2x4x8xbf16>) -> tensor<2x4x8xf32>
    mf.return %y : tensor<2x4x8xf32>
  }
  mf.layer @layers.1 body (%x: tensor<2x4x8xf32>) -> tensor<2x4x8xf32> attributes {placement = #mf.placement<stage = 0, chunk = 0>} {
    %w = mf.get_param @layers.1.w : tensor<8x8xf32>
    %c = mf.cast %w {name = "cast"} : (tensor<8x8xf32>) -> tensor<8x8xbf16>
    %h = mf.cast %x {name = "x.cast"} : (tensor<2x4x8xf32>) -> tensor<2x4x8xbf16>
    %m = mf.matmul %h, %c {name = "matmul", transpose_b = true} : (tensor<2x4x8xbf16>, tensor<8x8xbf16>) -> tensor<2x4x8xbf16>
    %y = mf.cast %m {name = "y.cast"} : (tensor<2x4x8xbf16>) -> tensor<2x4x8xf32>
    mf.return %y : tensor<2x4x8xf32>
  }
  mf.layer @head head (%x: tensor<2x4x8xf32>, %labels: tensor<2x4xi32>) -> tensor<f32> attributes {placement = #mf.placement<stage = 0, chunk = 0>} {
    %s = mf.reduce_sum %x {name = "sum", axes = array<i64: 0, 1, 2>} : (tensor<2x4x8xf32>) -> tensor<f32>
    mf.return %s : tensor<f32>
  }
}
}
