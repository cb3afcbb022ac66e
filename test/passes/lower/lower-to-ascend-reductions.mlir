// Where ranks gather parameters and sum gradients: beside what computes. Each rank has a loss of its own.
// RUN: %variants %S/../Inputs/training.mlir %s | %roundtrip --pass-pipeline='builtin.module(mf.model(mf-shard-optimizer,mf-reduce-in-backward,mf-build-backward,mf-split-chunks,mf-insert-optimizer,mf-build-schedule),mf-lower-to-ascend{in-flight=1},ascend.program(ascend-plan-memory),ascend-verify-program{ranks=false})' -split-input-file | FileCheck %s
// RUN: %variants %S/../Inputs/training.mlir %s | %roundtrip --pass-pipeline='builtin.module(mf.model(mf-shard-optimizer,mf-reduce-in-backward,mf-build-backward,mf-split-chunks,mf-insert-optimizer,mf-build-schedule),mf-lower-to-ascend{in-flight=0},ascend.program(ascend-plan-memory),ascend-verify-program{ranks=false})' -split-input-file | FileCheck %s --check-prefix=NONE
// RUN: %variants %S/../Inputs/training.mlir %s | %roundtrip --pass-pipeline='builtin.module(mf.model(mf-shard-optimizer,mf-reduce-in-backward,mf-build-backward,mf-split-chunks,mf-insert-optimizer,mf-build-schedule),mf-lower-to-ascend{in-flight=1},ascend.program(ascend-plan-memory),ascend-verify-program{ranks=false})' -split-input-file --remarks-filter-passed=lower -o %t 2>&1 | FileCheck %s --check-prefix=REMARK

// One micro-batch: the second layer's weight is on its way while the first layer computes. What the layer has gathered
// stays in its frame.
// CHECK-LABEL: ascend.program @stage0
// CHECK-NOT: @begin
// CHECK: ascend.routine @chunk0.forward
// CHECK-DAG: %[[W0:.*]] = ascend.slot {{[0-9]+}} : <8x8xbf16, hbm>
// CHECK: %[[GATHER0:.*]] = ascend.collective all_gather %{{.*}} to %[[KEPT0:.*]] over <dp> channel "dp" cell "layers.0.w.gather"
// CHECK: %[[GATHER1:.*]] = ascend.collective all_gather %{{.*}} to %[[KEPT1:.*]] over <dp> channel "dp" cell "layers.1.w.gather"
// CHECK: ascend.wait @compute for %[[GATHER0]]
// CHECK-NEXT: ascend.launch "aclnnMatmul"(%{{.*}}, %[[KEPT0]])
// CHECK: ascend.wait @compute for %[[GATHER1]]
// CHECK-NEXT: ascend.launch "aclnnMatmul"(%{{.*}}, %[[KEPT1]])
// Backward sums each gradient beside the next layer, in the type that it is made in, and waits for it there.
// CHECK: ascend.routine @chunk0.backward
// CHECK-NOT: all_gather
// CHECK: %[[SUM1:.*]] = ascend.collective reduce_scatter %{{.*}} to %[[PART1:.*]] over <dp> channel "dp" cell "layers.1.w.gather.grad" {{.*}} : <8x8xbf16, hbm> to <4x8xbf16, hbm>
// CHECK-NOT: ascend.wait @compute for %[[SUM1]]
// CHECK: ascend.launch "aclnnMatmul"
// CHECK: %[[SUM0:.*]] = ascend.collective reduce_scatter %{{.*}} cell "layers.0.w.gather.grad"
// CHECK-NEXT: ascend.wait @compute for %[[SUM1]]
// CHECK-NEXT: ascend.launch "aclnnCast"(%[[PART1]])
// The rank keeps all of the table, so it gets all of the sum.
// CHECK: ascend.collective all_reduce %{{.*}} cell "embedding.table.mirror.grad"
// CHECK-NEXT: ascend.wait @compute for %[[SUM0]]
// CHECK: ascend.step
// CHECK-NOT: ascend.collective
// CHECK: ascend.call @update
// NONE: ascend.routine @chunk0.forward
// NONE: %[[GATHER0:.*]] = ascend.collective all_gather %{{.*}} cell "layers.0.w.gather"
// NONE: ascend.wait @compute for %[[GATHER0]]
// NONE: ascend.collective all_gather %{{.*}} cell "layers.1.w.gather"
// NONE: ascend.routine @chunk0.backward
// NONE: %[[SUM1:.*]] = ascend.collective reduce_scatter %{{.*}} cell "layers.1.w.gather.grad"
// NONE-NEXT: ascend.wait @compute for %[[SUM1]]
// REMARK: chunk0.forward communicates beside its operators{{.*}}gradients reduced=0, in flight=1, parameters gathered=2
// REMARK: chunk0.backward communicates beside its operators{{.*}}gradients reduced=3, in flight=1, parameters gathered=0
module attributes {mf.mesh = #mf.mesh<pp = 1, dp = 2>} {
mf.model @one_micro_batch attributes {
    micro_batch_size = 4 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64,
    training = #mf.training<parallel = <stages = 1, interleave = 1, micro_batches = 1, optimizer_shard = <level = 1, threshold = 0>>,
      optimizer = #adamw, lr_schedule = #constant, loss_scale = 1.0, max_device_memory = 0>} {
  mf.param @table : tensor<16x8xf32> init <normal, value = 0.02> layout <[[], []], reduced = [dp]> {parallel_optimizer = false}
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

// Two: both read what the step's begin has gathered, and gradients are summed over them first. The last backward says
// when a gradient is complete, and its sum over ranks runs beside what is left of it; the update waits for the last.
// CHECK-LABEL: ascend.program @stage0
// CHECK: ascend.routine @chunk0.backward
// CHECK-NOT: ascend.collective
// CHECK: ascend.routine @update
// CHECK: ascend.routine @begin
// CHECK: ascend.collective all_gather {{.*}} : <4x8xbf16, hbm> to <8x8xbf16, hbm>
// CHECK: ascend.step
// CHECK: ascend.call @chunk0.backward({{.*}} micro_batch 0
// CHECK-NOT: ascend.collective
// CHECK: %[[COMPLETE:.*]]:3 = ascend.call @chunk0.backward({{.*}} micro_batch 1 {{.*}}records
// CHECK-NEXT: %[[ALL1:.*]] = ascend.global @accumulated.layers.1.w
// CHECK-NEXT: %[[OWN1:.*]] = ascend.global @gradient.layers.1.w
// CHECK-NEXT: ascend.collective reduce_scatter %[[ALL1]] to %[[OWN1]] over <dp> channel "dp" on @collective.dp after %[[COMPLETE]]#0 : <8x8xf32, hbm> to <4x8xf32, hbm>
// CHECK: ascend.collective reduce_scatter {{.*}} after %[[COMPLETE]]#1
// CHECK: %[[LAST:.*]] = ascend.collective all_reduce {{.*}} after %[[COMPLETE]]#2
// CHECK-NOT: @reduce_gradients
// CHECK: ascend.call @update({{.*}} after {{.*}}%[[LAST]]
= mf.model @two_micro_batches attributes {
= training = #mf.training<parallel = <stages = 1, interleave = 1, micro_batches = 2, optimizer_shard = <level = 1, threshold = 0>>,
