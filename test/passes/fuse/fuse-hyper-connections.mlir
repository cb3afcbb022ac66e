// RUN: %variants %S/../Inputs/training.mlir %S/Inputs/streams.mlir %s > %t.mlir
// RUN: %roundtrip --pass-pipeline='builtin.module(mf.model(mf-fuse-hyper-connections))' -split-input-file %t.mlir 2>%t | FileCheck %s
// RUN: FileCheck --check-prefix=WARN %s < %t
// RUN: %roundtrip --pass-pipeline='builtin.module(mf.model(mf-fuse-hyper-connections{print-plan=true}))' -split-input-file %t.mlir 2>&1 >/dev/null | FileCheck --check-prefix=PLAN %s
// RUN: %roundtrip --pass-pipeline='builtin.module(mf.model(mf-fuse-hyper-connections))' -split-input-file %t.mlir --remarks-filter=fuse 2>&1 >/dev/null | FileCheck --check-prefix=REMARK %s

#on = #mf.training<parallel = <stages = 1, interleave = 1, micro_batches = 1>,
  optimizer = #adamw, lr_schedule = #constant, loss_scale = 1.0, max_device_memory = 0, fusions = <hyper_connections = true>, locations = {hyper_connections = loc("use_fused_mhc"("some.yaml":7:3))}>

// Streams in fp32 are not converted.
// CHECK-LABEL: mf.model @streams
// CHECK: mf.mhc_pre %{{.*}} : (tensor<1x4x8xf32>,
// CHECK: mf.mhc_post

// The operators of a site are two.
// CHECK-LABEL: mf.model @becomes_two_operators
// CHECK: mf.layer @layers.0 body
// CHECK-NEXT: %[[X:.*]] = mf.cast
// CHECK-NEXT: %[[GAMMA:.*]] = mf.get_param @layers.0.attn_hc.rms_weight
// CHECK-NEXT: %[[W:.*]] = mf.get_param @layers.0.attn_hc.mapping_proj.weight
// CHECK-NEXT: %[[BIAS:.*]] = mf.get_param @layers.0.attn_hc.bias
// CHECK-NEXT: %[[PRE:.*]] = mf.get_param @layers.0.attn_hc.alpha_pre
// CHECK-NEXT: %[[POST:.*]] = mf.get_param @layers.0.attn_hc.alpha_post
// CHECK-NEXT: %[[RES:.*]] = mf.get_param @layers.0.attn_hc.alpha_res
// CHECK-NEXT: %[[W1:.*]] = mf.mul %[[W]], %[[GAMMA]] {name = "attn_hc.mul"}
// CHECK-NEXT: %[[FACTORS:.*]] = mf.concat %[[PRE]], %[[POST]], %[[RES]] {axis = 0 : i64, name = "attn_hc.cat"}
// CHECK-NEXT: %[[Y:.*]], %[[SHARES:.*]], %[[MIXING:.*]], %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} = mf.mhc_pre %[[X]], %[[W1]], %[[FACTORS]], %[[BIAS]] {count = 2 : i64, epsilon = 1.250000e-01 : f64, iterations = 3 : i64, least = 1.250000e-01 : f64, name = "attn_hc.mhc_pre"}
// CHECK-NEXT: %[[R:.*]] = mf.silu %[[Y]]
// CHECK-NEXT: %[[Z:.*]] = mf.mhc_post %[[X]], %[[MIXING]], %[[R]], %[[SHARES]] {name = "attn_hc.output_cell.mhc_post"}
// CHECK-NEXT: mf.cast %[[Z]]
// PLAN: mf.mhc_pre: 1 of 1
// PLAN-NEXT: layers.0 attn_hc.mhc_pre: 4 in place of [[#]] kernels, keeps [[#]] in place of [[#]] bytes
// REMARK: [Passed] Fusion | Category:fuse | Function=becomes_two_operators
// REMARK-SAME: mf.mhc_pre made of several operators
// REMARK-SAME: fused=1
= mf.model @becomes_two_operators attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
@ mf.layer @layers.0
+ %half = mf.cast %x {name = "cast"} : (tensor<1x4x8xf32>) -> tensor<1x4x8xbf16>
+ %wide = mf.cast %half {name = "attn_hc.cast"} : (tensor<1x4x8xbf16>) -> tensor<1x4x8xf32>
= %streams = mf.reshape %wide {name = "attn_hc.reshape"} : (tensor<1x4x8xf32>) -> tensor<1x4x2x4xf32>
= %n, %rstd = mf.rms_norm %wide, %gamma {epsilon = 0.125 : f64, name = "attn_hc.norm"} : (tensor<1x4x8xf32>, tensor<8xf32>) -> (tensor<1x4x8xf32>, tensor<1x4xf32>)
@ %flat
+ %input = mf.cast %flat {name = "attn_hc.cast"} : (tensor<1x4x4xf32>) -> tensor<1x4x4xbf16>
= %result = mf.silu %input {name = "attention"} : (tensor<1x4x4xbf16>) -> tensor<1x4x4xbf16>
@ %mix =
+ %r0 = mf.cast %result {name = "attn_hc.output_cell.cast"} : (tensor<1x4x4xbf16>) -> tensor<1x4x4xf32>
= %r1 = mf.reshape %r0 {name = "attn_hc.output_cell.reshape"} : (tensor<1x4x4xf32>) -> tensor<1x4x1x4xf32>
@ %z0
+ %z = mf.cast %z0 {name = "attn_hc.output_cell.cast"} : (tensor<1x4x8xf32>) -> tensor<1x4x8xbf16>
+ %z1 = mf.cast %z {name = "cast"} : (tensor<1x4x8xbf16>) -> tensor<1x4x8xf32>
= mf.return %z1 : tensor<1x4x8xf32>

// The marks of the trainer's kernels stay.
// CHECK-LABEL: mf.model @keeps_marks
// CHECK: mf.mul {{.*}} {mf.trainer_kernel = {{.*}} name = "attn_hc.mul"}
// CHECK-NEXT: mf.concat {{.*}} {axis = 0 : i64, mf.trainer_kernel = {{.*}} name = "attn_hc.cat"}
// CHECK-NEXT: mf.mhc_pre {{.*}} mf.trainer_kernel = {{.*}} kept = 64 : i64, name = "attn_hc"}, name = "attn_hc.mhc_pre"}
// CHECK: mf.mhc_post {{.*}} {mf.trainer_kernel = {{.*}} keeps_operands{{.*}} name = "attn_hc.output_cell.mhc_post"}
= mf.model @keeps_marks attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
= %n, %rstd = mf.rms_norm %x, %gamma {epsilon = 0.125 : f64, mf.trainer_kernel = {backward = 0 : i64, forward = 0 : i64, kept = 64 : i64, name = "attn_hc"}, name = "attn_hc.norm"} : (tensor<1x4x8xf32>, tensor<8xf32>) -> (tensor<1x4x8xf32>, tensor<1x4xf32>)
= %mix = mf.matmul %mixing, %streams {mf.trainer_kernel = {backward = 0 : i64, forward = 0 : i64, keeps_operands, kept = 0 : i64, name = "output_cell"}, name = "attn_hc.output_cell.mix", transpose_a = true} : (tensor<1x4x2x2xf32>, tensor<1x4x2x4xf32>) -> tensor<1x4x2x4xf32>

// The number that is added to what is read has to be that of the iterations.
// CHECK-LABEL: mf.model @another_number
// CHECK-NOT: mf.mhc_pre
// CHECK: mf.sinkhorn
// PLAN: mf.mhc_pre: 0 of 0
= mf.model @another_number attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
= %reads = mf.add_scalar %h3 {name = "attn_hc.add", value = 1.0e-3 : f64} : (tensor<1x4x2xf32>) -> tensor<1x4x2xf32>

// CHECK-LABEL: mf.model @is_not_selected
// CHECK-NOT: mf.mhc_pre
// CHECK: mf.sinkhorn
// PLAN: mf.mhc_pre: 0 of 1
// PLAN-NEXT: layers.0 attn_hc.mhc_pre: stays
= mf.model @is_not_selected attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64, training = #one_stage} {

// WARN: some.yaml:7:3: warning: 'use_fused_mhc' has no effect: no layer has what becomes one mf.mhc_pre
= mf.model @has_no_streams attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, training = #on, vocab_size = 16 : i64} {
- %streams
- ...
- mf.return %z0
+ mf.return %x : tensor<1x4x8xf32>
