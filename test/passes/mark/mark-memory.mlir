// RUN: %variants %s | %roundtrip --pass-pipeline='builtin.module(mf.model(mf-mark-memory))' --split-input-file | FileCheck %s

#adamw = #mf.optimizer<type = "AdamW", beta1 = 0.9, beta2 = 0.95, eps = 1.0e-8, weight_decay = 0.1, bias_correction = true>
#constant = #mf.lr_schedule<type = "ConstantWarmUpLR", parameters = {learning_rate = 1.0e-3 : f64}>
// No setting, no mark.
// CHECK-LABEL: mf.model @nothing_is_marked_without_recompute
mf.model @nothing_is_marked_without_recompute attributes {
    micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64,
    training = #mf.training<
      parallel = <stages = 1, interleave = 1, micro_batches = 1, offset = 0>,
      optimizer = #adamw, lr_schedule = #constant, loss_scale = 1.0, max_device_memory = 0>} {
  // CHECK: mf.layer @layers.0 body
  mf.layer @layers.0 body (%x: tensor<4x4xf32>) -> tensor<4x4xf32>
      attributes {placement = #mf.placement<stage = 0, chunk = 0>} {
    // CHECK-NEXT: mf.softmax {{.*}} {name = "attention_norm.norm"} :
    %norm = mf.softmax %x {name = "attention_norm.norm"} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    // CHECK-NEXT: mf.matmul {{.*}} {name = "attention.wq.matmul"} :
    %q = mf.matmul %norm, %norm {name = "attention.wq.matmul"} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    // CHECK-NEXT: mf.add {{.*}} {name = "add"} :
    %h = mf.add %q, %x {name = "add"} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    // CHECK-NEXT: mf.neg {{.*}} {name = "feed_forward.w1.matmul"} :
    %gate = mf.neg %h {name = "feed_forward.w1.matmul"} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    // CHECK-NEXT: mf.silu {{.*}} {name = "feed_forward.w1.activation.silu"} :
    %act = mf.silu %gate {name = "feed_forward.w1.activation.silu"} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    // CHECK-NEXT: mf.mul {{.*}} {name = "feed_forward.mul"} :
    %mul = mf.mul %act, %gate {name = "feed_forward.mul"} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    // CHECK-NEXT: mf.neg {{.*}} {name = "feed_forward.w2.matmul"} :
    %down = mf.neg %mul {name = "feed_forward.w2.matmul"} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    // CHECK-NEXT: mf.add {{.*}} {name = "add"} :
    %y = mf.add %down, %h {name = "add"} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    mf.return %y : tensor<4x4xf32>
  }
}

// The layer's own result is what the next layer keeps.
// CHECK-LABEL: mf.model @full_marks_all_but_what_makes_the_result
// CHECK: mf.layer @layers.0 body
// CHECK-NEXT: mf.softmax {{.*}} {name = "attention_norm.norm", recompute = #mf.recompute<full>} :
// CHECK-NEXT: mf.matmul {{.*}} {name = "attention.wq.matmul", recompute = #mf.recompute<full>} :
// CHECK-NEXT: mf.add {{.*}} {name = "add", recompute = #mf.recompute<full>} :
// CHECK-NEXT: mf.neg {{.*}} {name = "feed_forward.w1.matmul", recompute = #mf.recompute<full>} :
// CHECK-NEXT: mf.silu {{.*}} {name = "feed_forward.w1.activation.silu", recompute = #mf.recompute<full>} :
// CHECK-NEXT: mf.mul {{.*}} {name = "feed_forward.mul", recompute = #mf.recompute<full>} :
// CHECK-NEXT: mf.neg {{.*}} {name = "feed_forward.w2.matmul", recompute = #mf.recompute<full>} :
// The residual addition is the layer's output: it is kept.
// CHECK-NEXT: mf.add {{.*}} {name = "add", recompute = #mf.recompute<output>} :
= mf.model @full_marks_all_but_what_makes_the_result attributes {
= attributes {settings = #mf.layer_settings<requests = [recompute]>, placement = #mf.placement<stage = 0, chunk = 0>} {

// One layer of stage 0, none of stage 1.
// CHECK-LABEL: mf.model @counts_per_stage_mark_the_first_layers_of_each
// CHECK: mf.layer @layers.0 body
// CHECK-NEXT: mf.softmax {{.*}} {name = "attention_norm.norm", recompute = #mf.recompute<full>} :
// CHECK-NEXT: mf.matmul {{.*}} {name = "attention.wq.matmul", recompute = #mf.recompute<full>} :
// CHECK-NEXT: mf.add {{.*}} {name = "add", recompute = #mf.recompute<full>} :
// CHECK-NEXT: mf.neg {{.*}} {name = "feed_forward.w1.matmul", recompute = #mf.recompute<full>} :
// CHECK-NEXT: mf.silu {{.*}} {name = "feed_forward.w1.activation.silu", recompute = #mf.recompute<full>} :
// CHECK-NEXT: mf.mul {{.*}} {name = "feed_forward.mul", recompute = #mf.recompute<full>} :
// CHECK-NEXT: mf.neg {{.*}} {name = "feed_forward.w2.matmul", recompute = #mf.recompute<full>} :
// CHECK-NEXT: mf.add {{.*}} {name = "add", recompute = #mf.recompute<output>} :
// CHECK: mf.layer @layers.1 body
// CHECK-NEXT: mf.softmax {{.*}} {name = "attention_norm.norm"} :
// CHECK-NEXT: mf.matmul {{.*}} {name = "attention.wq.matmul"} :
// CHECK-NEXT: mf.add {{.*}} {name = "add"} :
// CHECK-NEXT: mf.neg {{.*}} {name = "feed_forward.w1.matmul"} :
// CHECK-NEXT: mf.silu {{.*}} {name = "feed_forward.w1.activation.silu"} :
// CHECK-NEXT: mf.mul {{.*}} {name = "feed_forward.mul"} :
// CHECK-NEXT: mf.neg {{.*}} {name = "feed_forward.w2.matmul"} :
// CHECK-NEXT: mf.add {{.*}} {name = "add"} :
= mf.model @counts_per_stage_mark_the_first_layers_of_each attributes {
= parallel = <stages = 2, interleave = 1, micro_batches = 2, offset = 0>,
= attributes {settings = #mf.layer_settings<requests = [recompute]>, placement = #mf.placement<stage = 0, chunk = 0>} {
+ %norm = mf.softmax %x {name = "attention_norm.norm"} : (tensor<4x4xf32>) -> tensor<4x4xf32>
+ %q = mf.matmul %norm, %norm {name = "attention.wq.matmul"} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
+ %h = mf.add %q, %x {name = "add"} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
+ %gate = mf.neg %h {name = "feed_forward.w1.matmul"} : (tensor<4x4xf32>) -> tensor<4x4xf32>
+ %act = mf.silu %gate {name = "feed_forward.w1.activation.silu"} : (tensor<4x4xf32>) -> tensor<4x4xf32>
+ %mul = mf.mul %act, %gate {name = "feed_forward.mul"} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
+ %down = mf.neg %mul {name = "feed_forward.w2.matmul"} : (tensor<4x4xf32>) -> tensor<4x4xf32>
+ %y = mf.add %down, %h {name = "add"} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
+ mf.return %y : tensor<4x4xf32>
+ }
+ mf.layer @layers.1 body (%x: tensor<4x4xf32>) -> tensor<4x4xf32>
+ attributes {placement = #mf.placement<stage = 1, chunk = 0>} {

// An excluded operator is kept, and the mark says that somebody asked for it.
// CHECK-LABEL: mf.model @exclude_beats_full
// CHECK: mf.layer @layers.0 body
// CHECK-NEXT: mf.softmax {{.*}} {name = "attention_norm.norm", recompute = #mf.recompute<full>} :
// CHECK-NEXT: mf.matmul {{.*}} {name = "attention.wq.matmul", recompute = #mf.recompute<excluded>} :
// CHECK-NEXT: mf.add {{.*}} {name = "add", recompute = #mf.recompute<full>} :
// CHECK-NEXT: mf.neg {{.*}} {name = "feed_forward.w1.matmul", recompute = #mf.recompute<full>} :
// CHECK-NEXT: mf.silu {{.*}} {name = "feed_forward.w1.activation.silu", recompute = #mf.recompute<full>} :
// CHECK-NEXT: mf.mul {{.*}} {name = "feed_forward.mul", recompute = #mf.recompute<full>} :
// CHECK-NEXT: mf.neg {{.*}} {name = "feed_forward.w2.matmul", recompute = #mf.recompute<full>} :
// CHECK-NEXT: mf.add {{.*}} {name = "add", recompute = #mf.recompute<output>} :
= mf.model @exclude_beats_full attributes {
= attributes {settings = #mf.layer_settings<requests = [recompute, select_recompute_exclude "attention\\.wq\\.matmul"]>, placement = #mf.placement<stage = 0, chunk = 0>} {

// Marks that are there are replaced, not added to.
// CHECK-LABEL: mf.model @old_marks_go
// CHECK: mf.neg {{.*}} {name = "neg"} :
= mf.model @old_marks_go attributes {
- %norm
- ...
- %y =
+ %y = mf.neg %x {name = "neg", recompute = #mf.recompute<full>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
