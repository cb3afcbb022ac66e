// RUN: %variants %S/../Inputs/training.mlir %s | %roundtrip --pass-pipeline='builtin.module(mf.model(mf-shard-optimizer,mf-reduce-in-backward))' -split-input-file | FileCheck %s
// RUN: %variants %S/../Inputs/training.mlir %s | %roundtrip --pass-pipeline='builtin.module(mf.model(mf-shard-optimizer,mf-reduce-in-backward{print-plan=true}))' -split-input-file -o %t 2>&1 | FileCheck %s --check-prefix=PLAN
// RUN: %variants %S/../Inputs/training.mlir %s | %roundtrip --pass-pipeline='builtin.module(mf.model(mf-shard-optimizer,mf-reduce-in-backward))' -split-input-file --remarks-filter-passed=optimizer -o %t 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: %variants %S/../Inputs/training.mlir %s | %roundtrip --pass-pipeline='builtin.module(mf.model(mf-shard-optimizer,mf-reduce-in-backward,mf-build-backward))' -split-input-file | FileCheck %s --check-prefix=BACKWARD

// One micro-batch on one stage: each rank keeps the whole weight, so the sum is
// an all_reduce, of what backward makes and before it is converted.
// CHECK-LABEL: mf.model @all_have_it
// CHECK: mf.param @layers.0.w {{.*}} {reduced_in_backward}
// PLAN: layers.0.w: gradient of 2 ranks summed in backward
// PLAN: layers.0.own: gradient of 1 rank summed nowhere
// REMARK: gradients are summed over ranks in backward{{.*}}parameters=1
// BACKWARD-LABEL: mf.model @all_have_it
// BACKWARD: mf.cut
// BACKWARD: %[[PART:.*]] = mf.matmul {{.*}} -> tensor<32x32xbf16>
// BACKWARD: %[[SUM:.*]] = mf.all_reduce %[[PART]] over ["dp"] {name = "layers.0.w.mirror.grad"}
// BACKWARD-NEXT: %[[WIDE:.*]] = mf.cast %[[SUM]]
// BACKWARD: mf.return {{.*}}%[[WIDE]]
// CHECK: %[[READ:.*]] = mf.get_param @layers.0.w : tensor<32x32xf32>
// CHECK-NEXT: %[[SHORT:.*]] = mf.cast %[[READ]]
// CHECK-NEXT: %[[W:.*]] = mf.mirror %[[SHORT]] over ["dp"] {name = "w.mirror"} : tensor<32x32xbf16> -> tensor<32x32xbf16>
// CHECK: mf.matmul %{{.*}}, %[[W]]
module attributes {mf.mesh = #mf.mesh<pp = 1, dp = 2, mp = 2>} {
mf.model @all_have_it attributes {
    micro_batch_size = 2 : i64, sequence_length = 8 : i64, vocab_size = 16 : i64,
    training = #mf.training<parallel = <stages = 1, interleave = 1, micro_batches = 1>,
      optimizer = #adamw, lr_schedule = #constant, loss_scale = 1.0, max_device_memory = 0>} {
  mf.param @layers.0.w : tensor<64x32xf32> init <normal, value = 0.02> layout <[[mp], []], reduced = [dp]>
  mf.param @layers.0.own : tensor<64xf32> init <zeros> layout <[[mp]]>
  mf.layer @layers.0 body (%x: tensor<8x32xf32>) -> tensor<8x32xbf16> attributes {placement = #mf.placement<stage = 0, chunk = 0>} {
    %w = mf.get_param @layers.0.w : tensor<32x32xf32>
    %c = mf.cast %w {name = "cast"} : (tensor<32x32xf32>) -> tensor<32x32xbf16>
    %h = mf.cast %x {name = "x.cast"} : (tensor<8x32xf32>) -> tensor<8x32xbf16>
    %y = mf.matmul %h, %c {name = "w1.matmul", transpose_b = true} : (tensor<8x32xbf16>, tensor<32x32xbf16>) -> tensor<8x32xbf16>
    mf.return %y : tensor<8x32xbf16>
  }
}
}

// Shared out: the layer gathers, and what it has gathered is not marked, so
// backward keeps it. The sum is a reduce_scatter of the same summands. With
// gradients_mean each rank divides its part.
// CHECK-LABEL: mf.model @shared_out
// CHECK: mf.param @layers.0.w {{.*}} stored <{{\[\[}}mp, dp], []]> {reduced_in_backward}
// CHECK: %[[SHORT:.*]] = mf.cast %{{.*}} : (tensor<16x32xf32>) -> tensor<16x32xbf16>
// CHECK-NEXT: %[[W:.*]] = mf.all_gather %[[SHORT]] over ["dp"] {name = "w.gather"} : tensor<16x32xbf16> -> tensor<32x32xbf16>
// CHECK-NOT: mf.mirror
// CHECK: mf.matmul %{{.*}}, %[[W]]
// BACKWARD-LABEL: mf.model @shared_out
// BACKWARD: mf.cut
// BACKWARD: %[[PART:.*]] = mf.matmul {{.*}} -> tensor<32x32xbf16>
// BACKWARD: %[[SUM:.*]] = mf.reduce_scatter %[[PART]] over ["dp"] {name = "layers.0.w.gather.grad"} : tensor<32x32xbf16> -> tensor<16x32xbf16>
// BACKWARD-NEXT: %[[WIDE:.*]] = mf.cast %[[SUM]]
// BACKWARD-NEXT: %[[MEAN:.*]] = mf.scale %[[WIDE]]{{.*}}value = 5.000000e-01
// BACKWARD: mf.return {{.*}}%[[MEAN]]
= mf.model @shared_out attributes {
= training = #mf.training<parallel = <stages = 1, interleave = 1, micro_batches = 1, optimizer_shard = <level = 1, threshold = 8>, gradients_mean = true>,
- mf.param @layers.0.own

// Several micro-batches are summed first.
// CHECK-LABEL: mf.model @several_micro_batches
// CHECK-NOT: reduced_in_backward
// CHECK-NOT: mf.mirror
// PLAN: layers.0.w: gradient of 2 ranks summed at the step's end
// REMARK: gradients are summed over ranks at the step's end{{.*}}parameters=1
= mf.model @several_micro_batches attributes {
= training = #mf.training<parallel = <stages = 1, interleave = 1, micro_batches = 2>,
- mf.param @layers.0.own
= mf.layer @layers.0 body (%x: tensor<8x32xf32>) -> tensor<8x32xf32> attributes {placement = #mf.placement<stage = 0, chunk = 0>} {
- %c
- ...
- mf.return
+ %y = mf.matmul %x, %w {name = "w1.matmul", transpose_b = true} : (tensor<8x32xf32>, tensor<32x32xf32>) -> tensor<8x32xf32>
+ mf.return %y : tensor<8x32xf32>

// The gradient of a parameter that a step gathers once is summed at the step's
// end, unless micro-batches scatter it.
// CHECK-LABEL: mf.model @gathered_once
// CHECK-NOT: reduced_in_backward
// PLAN: once: gradient of 2 ranks summed at the step's end
// PLAN-NEXT: scattered: gradient of 2 ranks summed by micro-batch
// REMARK: gradients are summed over ranks at the step's end{{.*}}parameters=1
// REMARK: gradients are summed over ranks by micro-batch{{.*}}parameters=1
module attributes {mf.mesh = #mf.mesh<pp = 1, dp = 2, mp = 2>} {
mf.model @gathered_once attributes {
    micro_batch_size = 2 : i64, sequence_length = 8 : i64, vocab_size = 16 : i64,
    training = #mf.training<parallel = <stages = 1, interleave = 1, micro_batches = 1>,
      optimizer = #adamw, lr_schedule = #constant, loss_scale = 1.0, max_device_memory = 0>} {
  mf.param @once : tensor<16x8xf32> init <ones> layout <[[mp], []], reduced = [dp]> stored <[[mp, dp], []]> {gathered = tensor<8x8xf32>}
  mf.param @scattered : tensor<16x8xf32> init <ones> layout <[[mp], []], reduced = [dp]> stored <[[mp, dp], []]> {gathered = tensor<8x8xf32>, scatter_gradients}
}
}
