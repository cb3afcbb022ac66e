// RUN: %variants %S/../Inputs/training.mlir %s > %t.mlir
// RUN: %roundtrip --pass-pipeline='builtin.module(mf.model(mf-fuse-swiglu))' -split-input-file %t.mlir 2>%t | FileCheck %s
// RUN: FileCheck --check-prefix=WARN %s < %t
// RUN: %roundtrip --pass-pipeline='builtin.module(mf.model(mf-fuse-swiglu{print-plan=true}))' -split-input-file %t.mlir 2>&1 >/dev/null | FileCheck --check-prefix=PLAN %s
// RUN: %roundtrip --pass-pipeline='builtin.module(mf.model(mf-fuse-swiglu))' -split-input-file %t.mlir --remarks-filter=fuse 2>&1 >/dev/null | FileCheck --check-prefix=REMARK %s

#on = #mf.training<parallel = <stages = 1, interleave = 1, micro_batches = 1>,
  optimizer = #adamw, lr_schedule = #constant, loss_scale = 1.0, max_device_memory = 0, fusions = <swiglu = true>, locations = {swiglu = loc("use_fused_swiglu"("some.yaml":9:5))}>

// Two products become one value with a dimension more: 96 bytes of each are no longer kept.
// CHECK-LABEL: mf.model @of_two_products
// CHECK: mf.layer @layers.0 body (%[[G:.*]]: tensor<1x4x6xf32>, %[[U:.*]]: tensor<1x4x6xf32>)
// CHECK-NEXT: %[[G1:.*]] = mf.reshape %[[G]] {name = "feed_forward.expand_dims"} : (tensor<1x4x6xf32>) -> tensor<1x4x1x6xf32>
// CHECK-NEXT: %[[U1:.*]] = mf.reshape %[[U]] {name = "feed_forward.expand_dims"} : (tensor<1x4x6xf32>) -> tensor<1x4x1x6xf32>
// CHECK-NEXT: %[[GU:.*]] = mf.concat %[[G1]], %[[U1]] {axis = 2 : i64, name = "feed_forward.w13_concat"} : (tensor<1x4x1x6xf32>, tensor<1x4x1x6xf32>) -> tensor<1x4x2x6xf32>
// CHECK-NEXT: %[[Y:.*]] = mf.swiglu %[[GU]] {name = "feed_forward.swiglu"} : (tensor<1x4x2x6xf32>) -> tensor<1x4x6xf32>
// CHECK-NEXT: mf.return %[[Y]]
// PLAN: mf.swiglu: 1 of 1
// PLAN-NEXT: layers.0 feed_forward.swiglu: 2 in place of 2 kernels, keeps 192 in place of 288 bytes
// REMARK: Function=of_two_products
// REMARK-SAME: mf.swiglu made of several operators
// REMARK-SAME: bytes not kept=96
mf.model @of_two_products attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  mf.layer @layers.0 body (%g: tensor<1x4x6xf32>, %u: tensor<1x4x6xf32>) -> tensor<1x4x6xf32> {
    %act = mf.silu %g {name = "feed_forward.w1.activation.silu"} : (tensor<1x4x6xf32>) -> tensor<1x4x6xf32>
    %y = mf.mul %act, %u {name = "feed_forward.mul"} : (tensor<1x4x6xf32>, tensor<1x4x6xf32>) -> tensor<1x4x6xf32>
    mf.return %y : tensor<1x4x6xf32>
  }
}

// The activated one may be either factor.
// CHECK-LABEL: mf.model @of_the_other_factor
// CHECK: mf.layer @layers.0 body (%[[G:.*]]: tensor<1x4x6xf32>, %[[U:.*]]: tensor<1x4x6xf32>)
// CHECK-NEXT: %[[G1:.*]] = mf.reshape %[[G]]
// CHECK-NEXT: %[[U1:.*]] = mf.reshape %[[U]]
// CHECK-NEXT: mf.concat %[[G1]], %[[U1]]
// CHECK-NEXT: mf.swiglu
= mf.model @of_the_other_factor attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
= %y = mf.mul %u, %act {name = "feed_forward.mul"} : (tensor<1x4x6xf32>, tensor<1x4x6xf32>) -> tensor<1x4x6xf32>

// Halves side by side are a view; names are those of the training graph.
// CHECK-LABEL: mf.model @of_halves
// CHECK: mf.layer @layers.0 body (%[[X:.*]]: tensor<1x4x12xf32>)
// CHECK-NEXT: %[[V:.*]] = mf.reshape %[[X]] {name = "mlp.activation_func.reshape"} : (tensor<1x4x12xf32>) -> tensor<1x4x2x6xf32>
// CHECK-NEXT: %[[Y:.*]] = mf.swiglu %[[V]] {name = "mlp.activation_func.swiglu"} : (tensor<1x4x2x6xf32>) -> tensor<1x4x6xf32>
// CHECK-NEXT: mf.return %[[Y]]
// PLAN: layers.0 mlp.activation_func.swiglu: 1 in place of 4 kernels, keeps 192 in place of 288 bytes
= mf.model @of_halves attributes {family = "mcore", micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
= mf.layer @layers.0 body (%x: tensor<1x4x12xf32>) -> tensor<1x4x6xf32> {
+ %p = mf.slice %x {name = "mlp.split", sizes = array<i64: 1, 4, 6>, starts = array<i64: 0, 0, 0>} : (tensor<1x4x12xf32>) -> tensor<1x4x6xf32>
+ %q = mf.slice %x {name = "mlp.split", sizes = array<i64: 1, 4, 6>, starts = array<i64: 0, 0, 6>} : (tensor<1x4x12xf32>) -> tensor<1x4x6xf32>
= %act = mf.silu %p {name = "mlp.activation_func.silu"} : (tensor<1x4x6xf32>) -> tensor<1x4x6xf32>
= %y = mf.mul %act, %q {name = "mlp.mul"} : (tensor<1x4x6xf32>, tensor<1x4x6xf32>) -> tensor<1x4x6xf32>

// Neurons by turns are transposed.
// CHECK-LABEL: mf.model @of_pairs
// CHECK: mf.layer @layers.0 body (%[[X:.*]]: tensor<1x4x12xf32>)
// CHECK-NEXT: %[[V:.*]] = mf.reshape %[[X]] {name = "mlp.reshape"} : (tensor<1x4x12xf32>) -> tensor<1x4x6x2xf32>
// CHECK-NEXT: %[[T:.*]] = mf.transpose %[[V]] {name = "mlp.activation_func.transpose", perm = array<i64: 0, 1, 3, 2>} : (tensor<1x4x6x2xf32>) -> tensor<1x4x2x6xf32>
// CHECK-NEXT: %[[Y:.*]] = mf.swiglu %[[T]] {name = "mlp.activation_func.swiglu"}
// CHECK-NEXT: mf.return %[[Y]]
// PLAN: layers.0 mlp.activation_func.swiglu: 2 in place of 4 kernels, keeps 192 in place of 288 bytes
= mf.model @of_pairs attributes {family = "mcore", micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
= mf.layer @layers.0 body (%x: tensor<1x4x12xf32>) -> tensor<1x4x6xf32> {
+ %v = mf.reshape %x {name = "mlp.reshape"} : (tensor<1x4x12xf32>) -> tensor<1x4x6x2xf32>
+ %p0 = mf.slice %v {name = "mlp.split", sizes = array<i64: 1, 4, 6, 1>, starts = array<i64: 0, 0, 0, 0>} : (tensor<1x4x6x2xf32>) -> tensor<1x4x6x1xf32>
+ %p = mf.reshape %p0 {name = "mlp.reshape"} : (tensor<1x4x6x1xf32>) -> tensor<1x4x6xf32>
+ %q0 = mf.slice %v {name = "mlp.split", sizes = array<i64: 1, 4, 6, 1>, starts = array<i64: 0, 0, 0, 1>} : (tensor<1x4x6x2xf32>) -> tensor<1x4x6x1xf32>
+ %q = mf.reshape %q0 {name = "mlp.reshape"} : (tensor<1x4x6x1xf32>) -> tensor<1x4x6xf32>
= %act = mf.silu %p {name = "mlp.activation_func.silu"} : (tensor<1x4x6xf32>) -> tensor<1x4x6xf32>
= %y = mf.mul %act, %q {name = "mlp.mul"} : (tensor<1x4x6xf32>, tensor<1x4x6xf32>) -> tensor<1x4x6xf32>

// CHECK-LABEL: mf.model @not_asked_for
// CHECK-NOT: mf.swiglu
// CHECK: mf.return
= mf.model @not_asked_for attributes {training = #one_stage, micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {

// Halves of what experts make are one operator without a word of the YAML, and stay one primitive.
// CHECK-LABEL: mf.model @always_of_experts
// CHECK: %[[E:.*]] = mf.expert_matmul
// CHECK-NEXT: %[[V:.*]] = mf.reshape %[[E]] {name = "ffn.hook_ffn_forward"} : (tensor<2x1x6x8xf32>) -> tensor<2x1x6x2x4xf32>
// CHECK-NEXT: mf.swiglu %[[V]] {name = "ffn.hook_ffn_forward"} : (tensor<2x1x6x2x4xf32>) -> tensor<2x1x6x4xf32>
= mf.model @always_of_experts attributes {training = #one_stage, micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
+ mf.param @w1 : tensor<1x3x4x8xf32> init <normal, value = 0.02>
= mf.layer @layers.0 body (%rows: tensor<2x1x6x4xf32>, %counts: tensor<2x1x3xf32>) -> tensor<2x1x6x4xf32> {
+ %w = mf.get_param @w1 : tensor<1x3x4x8xf32>
+ %e = mf.expert_matmul %rows, %w, %counts {name = "ffn.hook_ffn_forward"} : (tensor<2x1x6x4xf32>, tensor<1x3x4x8xf32>, tensor<2x1x3xf32>) -> tensor<2x1x6x8xf32>
+ %p = mf.slice %e {name = "ffn.hook_ffn_forward", sizes = array<i64: 2, 1, 6, 4>, starts = array<i64: 0, 0, 0, 0>} : (tensor<2x1x6x8xf32>) -> tensor<2x1x6x4xf32>
+ %q = mf.slice %e {name = "ffn.hook_ffn_forward", sizes = array<i64: 2, 1, 6, 4>, starts = array<i64: 0, 0, 0, 4>} : (tensor<2x1x6x8xf32>) -> tensor<2x1x6x4xf32>
= %act = mf.silu %p {name = "ffn.hook_ffn_forward"} : (tensor<2x1x6x4xf32>) -> tensor<2x1x6x4xf32>
= %y = mf.mul %act, %q {name = "ffn.hook_ffn_forward"} : (tensor<2x1x6x4xf32>, tensor<2x1x6x4xf32>) -> tensor<2x1x6x4xf32>
= mf.return %y : tensor<2x1x6x4xf32>

// A dense layer of a classic class beside one with a router stays as it is, and if there is nothing else the key is
// named.
// CHECK-LABEL: mf.model @dense_beside_experts
// CHECK: mf.layer @layers.0
// CHECK-NOT: mf.swiglu
// CHECK: mf.layer @layers.1
// PLAN: layers.0 feed_forward.swiglu: stays, a dense layer beside layers with experts
// WARN: some.yaml:9:5: warning: 'use_fused_swiglu' has no effect: only dense layers beside layers with experts have what becomes one mf.swiglu, and these have no such form
// WARN-NOT: warning
^
= mf.model @dense_beside_experts attributes {training = #on, micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
- mf.param
= mf.layer @layers.0 body (%g: tensor<1x4x6xf32>, %u: tensor<1x4x6xf32>) -> tensor<1x4x6xf32> {
- %w
- ...
- %q
= %act = mf.silu %g {name = "feed_forward.w1.activation.silu"} : (tensor<1x4x6xf32>) -> tensor<1x4x6xf32>
= %y = mf.mul %act, %u {name = "feed_forward.mul"} : (tensor<1x4x6xf32>, tensor<1x4x6xf32>) -> tensor<1x4x6xf32>
= mf.return %y : tensor<1x4x6xf32>
+ }
+ mf.layer @layers.1 body (%x: tensor<1x4x6xf32>) -> tensor<1x4x2xf32> {
+ %values, %indices = mf.top_k %x {k = 2 : i64, name = "topk"} : (tensor<1x4x6xf32>) -> (tensor<1x4x2xf32>, tensor<1x4x2xi32>)
+ mf.return %values : tensor<1x4x2xf32>

// In the training graph it does not.
// CHECK-LABEL: mf.model @dense_beside_experts_of_the_training_graph
// CHECK: mf.layer @layers.0
// CHECK: mf.swiglu
// CHECK: mf.layer @layers.1
^
= mf.model @dense_beside_experts_of_the_training_graph attributes {family = "mcore", training = #on, micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {

// What something else reads is computed anyway.
// CHECK-LABEL: mf.model @activation_read_elsewhere
// CHECK-NOT: mf.swiglu
// CHECK: mf.return
= mf.model @activation_read_elsewhere attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
@ %y
+ %z = mf.add %y, %act {name = "add"} : (tensor<1x4x6xf32>, tensor<1x4x6xf32>) -> tensor<1x4x6xf32>
= mf.return %z : tensor<1x4x6xf32>
