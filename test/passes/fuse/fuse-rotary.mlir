// RUN: %variants %S/../Inputs/training.mlir %s > %t.mlir
// RUN: %roundtrip --pass-pipeline='builtin.module(mf.model(mf-fuse-rotary))' -split-input-file %t.mlir 2>%t | FileCheck %s
// RUN: FileCheck --check-prefix=WARN %s < %t
// RUN: %roundtrip --pass-pipeline='builtin.module(mf.model(mf-fuse-rotary{print-plan=true}))' -split-input-file %t.mlir 2>&1 >/dev/null | FileCheck --check-prefix=PLAN %s
// RUN: %roundtrip --pass-pipeline='builtin.module(mf.model(mf-fuse-rotary))' -split-input-file %t.mlir --remarks-filter=fuse 2>&1 >/dev/null | FileCheck --check-prefix=REMARK %s

#on = #mf.training<parallel = <stages = 1, interleave = 1, micro_batches = 1>,
  optimizer = #adamw, lr_schedule = #constant, loss_scale = 1.0, max_device_memory = 0, fusions = <rotary = true>, locations = {rotary = loc("use_fused_rope"("some.yaml":7:3))}>
// Seven operators are one, named in the Cell of the last.
// CHECK-LABEL: mf.model @becomes_one_operator
// CHECK: %[[COS:.*]] = mf.get_param @freqs_cos
// CHECK-NEXT: %[[SIN:.*]] = mf.get_param @freqs_sin
// CHECK-NEXT: %[[Y:.*]] = mf.rotary_position_embedding %{{.*}}, %[[COS]], %[[SIN]] {name = "attention.apply_rotary_emb.rope"} : (tensor<1x2x4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<1x2x4x4xf32>
// CHECK-NEXT: mf.return %[[Y]]
// PLAN: mf.rotary_position_embedding: 1 of 1
// PLAN-NEXT: layers.0 attention.apply_rotary_emb.rope: 1 in place of 7 kernels, keeps 0 in place of 0 bytes
// REMARK: [Passed] Fusion | Category:fuse | Function=becomes_one_operator
// REMARK-SAME: mf.rotary_position_embedding made of several operators
// REMARK-SAME: fused=1
// REMARK-SAME: kernels saved=6
mf.model @becomes_one_operator attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  mf.param @freqs_cos : tensor<4x4xf32> init <rotary_cos, value = 1.0e4> {frozen}
  mf.param @freqs_sin : tensor<4x4xf32> init <rotary_sin, value = 1.0e4> {frozen}
  mf.layer @layers.0 body (%x: tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32> {
    %cos = mf.get_param @freqs_cos : tensor<4x4xf32>
    %sin = mf.get_param @freqs_sin : tensor<4x4xf32>
    %a = mf.slice %x {name = "attention.apply_rotary_emb.slice", sizes = array<i64: 1, 2, 4, 2>, starts = array<i64: 0, 0, 0, 0>} : (tensor<1x2x4x4xf32>) -> tensor<1x2x4x2xf32>
    %b = mf.slice %x {name = "attention.apply_rotary_emb.slice", sizes = array<i64: 1, 2, 4, 2>, starts = array<i64: 0, 0, 0, 2>} : (tensor<1x2x4x4xf32>) -> tensor<1x2x4x2xf32>
    %n = mf.neg %b {name = "attention.apply_rotary_emb.neg"} : (tensor<1x2x4x2xf32>) -> tensor<1x2x4x2xf32>
    %r = mf.concat %n, %a {axis = 3 : i64, name = "attention.apply_rotary_emb.concat"} : (tensor<1x2x4x2xf32>, tensor<1x2x4x2xf32>) -> tensor<1x2x4x4xf32>
    %c = mf.mul %x, %cos {name = "attention.apply_rotary_emb.mul"} : (tensor<1x2x4x4xf32>, tensor<4x4xf32>) -> tensor<1x2x4x4xf32>
    %s = mf.mul %r, %sin {name = "attention.apply_rotary_emb.mul"} : (tensor<1x2x4x4xf32>, tensor<4x4xf32>) -> tensor<1x2x4x4xf32>
    %y = mf.add %c, %s {name = "attention.apply_rotary_emb.add"} : (tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
    mf.return %y : tensor<1x2x4x4xf32>
  }
}

// The sum may have its summands in either order, and conversions around it stay.
// CHECK-LABEL: mf.model @conversions_stay
// CHECK: %[[X:.*]] = mf.cast
// CHECK: %[[Y:.*]] = mf.rotary_position_embedding %[[X]],
// CHECK-NEXT: mf.cast %[[Y]]
= mf.model @conversions_stay attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
= mf.layer @layers.0 body (%h: tensor<1x2x4x4xbf16>) -> tensor<1x2x4x4xbf16> {
@ %sin
+ %x = mf.cast %h {name = "attention.apply_rotary_emb.cast"} : (tensor<1x2x4x4xbf16>) -> tensor<1x2x4x4xf32>
= %y = mf.add %s, %c {name = "attention.apply_rotary_emb.add"} : (tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
+ %z = mf.cast %y {name = "attention.apply_rotary_emb.cast"} : (tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xbf16>
= mf.return %z : tensor<1x2x4x4xbf16>

// Without the key nothing is fused.
// CHECK-LABEL: mf.model @not_asked_for
// CHECK-NOT: mf.rotary_position_embedding
// CHECK: mf.return
// PLAN: mf.rotary_position_embedding: 0 of 1
// PLAN-NEXT: layers.0 attention.apply_rotary_emb.rope: stays
= mf.model @not_asked_for attributes {training = #one_stage, micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {

// With it, all is.
// CHECK-LABEL: mf.model @asked_for
// CHECK: mf.rotary_position_embedding
= mf.model @asked_for attributes {training = #on, micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {

// A table that is trained wants a gradient, which the one operator does not have.
// CHECK-LABEL: mf.model @trained_tables
// CHECK-NOT: mf.rotary_position_embedding
// CHECK: mf.return
= mf.model @trained_tables attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
= mf.param @freqs_cos : tensor<4x4xf32> init <rotary_cos, value = 1.0e4>

// Not the halves: the first one twice.
// CHECK-LABEL: mf.model @no_rotation
// CHECK-NOT: mf.rotary_position_embedding
// CHECK: mf.return
= mf.model @no_rotation attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
= %a = mf.slice %x {name = "attention.apply_rotary_emb.slice", sizes = array<i64: 1, 2, 4, 2>, starts = array<i64: 0, 0, 0, 2>} : (tensor<1x2x4x4xf32>) -> tensor<1x2x4x2xf32>

// Where nothing can be fused, the key is named.
// CHECK-LABEL: mf.model @nothing_to_fuse
// WARN: some.yaml:7:3: warning: 'use_fused_rope' has no effect: no layer has what becomes one mf.rotary_position_embedding
// WARN-NOT: warning
= mf.model @nothing_to_fuse attributes {training = #on, micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
- ...
- mf.param @freqs_sin
- %cos
- ...
- mf.return
+ mf.return %x : tensor<1x2x4x4xf32>
