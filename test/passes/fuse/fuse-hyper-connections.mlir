// RUN: %variants %S/../Inputs/training.mlir %s > %t.mlir
// RUN: %roundtrip --pass-pipeline='builtin.module(mf.model(mf-fuse-hyper-connections))' -split-input-file %t.mlir 2>%t | FileCheck %s
// RUN: FileCheck --check-prefix=WARN %s < %t
// RUN: %roundtrip --pass-pipeline='builtin.module(mf.model(mf-fuse-hyper-connections{print-plan=true}))' -split-input-file %t.mlir 2>&1 >/dev/null | FileCheck --check-prefix=PLAN %s
// RUN: %roundtrip --pass-pipeline='builtin.module(mf.model(mf-fuse-hyper-connections))' -split-input-file %t.mlir --remarks-filter=fuse 2>&1 >/dev/null | FileCheck --check-prefix=REMARK %s

#on = #mf.training<parallel = <stages = 1, interleave = 1, micro_batches = 1>,
  optimizer = #adamw, lr_schedule = #constant, loss_scale = 1.0, max_device_memory = 0, fusions = <hyper_connections = true>, locations = {hyper_connections = loc("use_fused_mhc"("some.yaml":7:3))}>
// The operators of a site are two, which keep the marks of the trainer's kernels.
// CHECK-LABEL: mf.model @becomes_two_operators
// CHECK: mf.layer @layers.0 body (%[[X:.*]]: tensor<1x4x8xbf16>)
// CHECK-NEXT: %[[GAMMA:.*]] = mf.get_param @layers.0.attn_hc.rms_weight
// CHECK-NEXT: %[[W:.*]] = mf.get_param @layers.0.attn_hc.mapping_proj.weight
// CHECK-NEXT: %[[BIAS:.*]] = mf.get_param @layers.0.attn_hc.bias
// CHECK-NEXT: %[[PRE:.*]] = mf.get_param @layers.0.attn_hc.alpha_pre
// CHECK-NEXT: %[[POST:.*]] = mf.get_param @layers.0.attn_hc.alpha_post
// CHECK-NEXT: %[[RES:.*]] = mf.get_param @layers.0.attn_hc.alpha_res
// CHECK-NEXT: %[[W1:.*]] = mf.mul %[[W]], %[[GAMMA]] {mf.trainer_kernel = {{.*}} name = "attn_hc.mul"}
// CHECK-NEXT: %[[FACTORS:.*]] = mf.concat %[[PRE]], %[[POST]], %[[RES]] {axis = 0 : i64, mf.trainer_kernel = {{.*}} name = "attn_hc.cat"}
// CHECK-NEXT: %[[Y:.*]], %[[SHARES:.*]], %[[MIXING:.*]], %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} = mf.mhc_pre %[[X]], %[[W1]], %[[FACTORS]], %[[BIAS]] {count = 2 : i64, epsilon = 9.9999999999999995E-7 : f64, iterations = 3 : i64, least = 9.9999999999999995E-7 : f64, mf.trainer_kernel = {{.*}} kept = 64 : i64, name = "attn_hc"}, name = "attn_hc.mhc_pre"}
// CHECK-NEXT: %[[R:.*]] = mf.silu %[[Y]]
// CHECK-NEXT: %[[Z:.*]] = mf.mhc_post %[[X]], %[[MIXING]], %[[R]], %[[SHARES]] {mf.trainer_kernel = {{.*}} keeps_operands{{.*}} name = "attn_hc.output_cell.mhc_post"}
// CHECK-NEXT: mf.return %[[Z]]
// PLAN: mf.mhc_pre: 1 of 1
// PLAN-NEXT: layers.0 attn_hc.mhc_pre: 4 in place of [[#]] kernels, keeps [[#]] in place of [[#]] bytes
// REMARK: [Passed] Fusion | Category:fuse | Function=becomes_two_operators
// REMARK-SAME: mf.mhc_pre made of several operators
// REMARK-SAME: fused=1
mf.model @becomes_two_operators attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  mf.param @layers.0.attn_hc.rms_weight : tensor<8xf32> init <ones> {frozen}
  mf.param @layers.0.attn_hc.mapping_proj.weight : tensor<8x8xf32> init <normal, value = 0.5>
  mf.param @layers.0.attn_hc.bias : tensor<8xf32> init <normal, value = 0.5>
  mf.param @layers.0.attn_hc.alpha_pre : tensor<1xf32> init <constant, value = 0.5>
  mf.param @layers.0.attn_hc.alpha_post : tensor<1xf32> init <constant, value = 0.5>
  mf.param @layers.0.attn_hc.alpha_res : tensor<1xf32> init <constant, value = 0.5>
  mf.layer @layers.0 body (%x: tensor<1x4x8xbf16>) -> tensor<1x4x8xbf16> {
    %wide = mf.cast %x {name = "attn_hc.cast"} : (tensor<1x4x8xbf16>) -> tensor<1x4x8xf32>
    %streams = mf.reshape %wide {name = "attn_hc.reshape"} : (tensor<1x4x8xf32>) -> tensor<1x4x2x4xf32>
    %gamma = mf.get_param @layers.0.attn_hc.rms_weight : tensor<8xf32>
    %n, %rstd = mf.rms_norm %wide, %gamma {epsilon = 1.0e-6 : f64, mf.trainer_kernel = {backward = 0 : i64, forward = 0 : i64, kept = 64 : i64, name = "attn_hc"}, name = "attn_hc.norm"} : (tensor<1x4x8xf32>, tensor<8xf32>) -> (tensor<1x4x8xf32>, tensor<1x4xf32>)
    %w = mf.get_param @layers.0.attn_hc.mapping_proj.weight : tensor<8x8xf32>
    %h = mf.matmul %n, %w {name = "attn_hc.mapping_proj.matmul", transpose_b = true} : (tensor<1x4x8xf32>, tensor<8x8xf32>) -> tensor<1x4x8xf32>
    %bias = mf.get_param @layers.0.attn_hc.bias : tensor<8xf32>
    %h0 = mf.slice %h {name = "attn_hc.slice", sizes = array<i64: 1, 4, 2>, starts = array<i64: 0, 0, 0>} : (tensor<1x4x8xf32>) -> tensor<1x4x2xf32>
    %pre = mf.get_param @layers.0.attn_hc.alpha_pre : tensor<1xf32>
    %h1 = mf.mul %h0, %pre {name = "attn_hc.mul"} : (tensor<1x4x2xf32>, tensor<1xf32>) -> tensor<1x4x2xf32>
    %b0 = mf.slice %bias {name = "attn_hc.slice", sizes = array<i64: 2>, starts = array<i64: 0>} : (tensor<8xf32>) -> tensor<2xf32>
    %h2 = mf.add %h1, %b0 {name = "attn_hc.add"} : (tensor<1x4x2xf32>, tensor<2xf32>) -> tensor<1x4x2xf32>
    %h3 = mf.sigmoid %h2 {name = "attn_hc.sigmoid"} : (tensor<1x4x2xf32>) -> tensor<1x4x2xf32>
    %reads = mf.add_scalar %h3 {name = "attn_hc.add", value = 1.0e-6 : f64} : (tensor<1x4x2xf32>) -> tensor<1x4x2xf32>
    %row = mf.reshape %reads {name = "attn_hc.reshape"} : (tensor<1x4x2xf32>) -> tensor<1x4x1x2xf32>
    %pool = mf.matmul %row, %streams {name = "attn_hc.pool"} : (tensor<1x4x1x2xf32>, tensor<1x4x2x4xf32>) -> tensor<1x4x1x4xf32>
    %flat = mf.reshape %pool {name = "attn_hc.reshape"} : (tensor<1x4x1x4xf32>) -> tensor<1x4x4xf32>
    %input = mf.cast %flat {name = "attn_hc.cast"} : (tensor<1x4x4xf32>) -> tensor<1x4x4xbf16>
    %s0 = mf.slice %h {name = "attn_hc.slice", sizes = array<i64: 1, 4, 2>, starts = array<i64: 0, 0, 2>} : (tensor<1x4x8xf32>) -> tensor<1x4x2xf32>
    %post = mf.get_param @layers.0.attn_hc.alpha_post : tensor<1xf32>
    %s1 = mf.mul %s0, %post {name = "attn_hc.mul"} : (tensor<1x4x2xf32>, tensor<1xf32>) -> tensor<1x4x2xf32>
    %b1 = mf.slice %bias {name = "attn_hc.slice", sizes = array<i64: 2>, starts = array<i64: 2>} : (tensor<8xf32>) -> tensor<2xf32>
    %s2 = mf.add %s1, %b1 {name = "attn_hc.add"} : (tensor<1x4x2xf32>, tensor<2xf32>) -> tensor<1x4x2xf32>
    %s3 = mf.sigmoid %s2 {name = "attn_hc.sigmoid"} : (tensor<1x4x2xf32>) -> tensor<1x4x2xf32>
    %shares = mf.scale %s3 {name = "attn_hc.mul", value = 2.0 : f64} : (tensor<1x4x2xf32>) -> tensor<1x4x2xf32>
    %m0 = mf.slice %h {name = "attn_hc.slice", sizes = array<i64: 1, 4, 4>, starts = array<i64: 0, 0, 4>} : (tensor<1x4x8xf32>) -> tensor<1x4x4xf32>
    %res = mf.get_param @layers.0.attn_hc.alpha_res : tensor<1xf32>
    %m1 = mf.mul %m0, %res {name = "attn_hc.mul"} : (tensor<1x4x4xf32>, tensor<1xf32>) -> tensor<1x4x4xf32>
    %b2 = mf.slice %bias {name = "attn_hc.slice", sizes = array<i64: 4>, starts = array<i64: 4>} : (tensor<8xf32>) -> tensor<4xf32>
    %m2 = mf.add %m1, %b2 {name = "attn_hc.add"} : (tensor<1x4x4xf32>, tensor<4xf32>) -> tensor<1x4x4xf32>
    %m3 = mf.reshape %m2 {name = "attn_hc.reshape"} : (tensor<1x4x4xf32>) -> tensor<1x4x2x2xf32>
    %mixing = mf.sinkhorn %m3 {epsilon = 1.0e-6 : f64, iterations = 3 : i64, name = "attn_hc._sinkhorn_op.sinkhorn"} : (tensor<1x4x2x2xf32>) -> tensor<1x4x2x2xf32>
    %result = mf.silu %input {name = "attention"} : (tensor<1x4x4xbf16>) -> tensor<1x4x4xbf16>
    %mix = mf.matmul %mixing, %streams {mf.trainer_kernel = {backward = 0 : i64, forward = 0 : i64, keeps_operands, kept = 0 : i64, name = "output_cell"}, name = "attn_hc.output_cell.mix", transpose_a = true} : (tensor<1x4x2x2xf32>, tensor<1x4x2x4xf32>) -> tensor<1x4x2x4xf32>
    %r0 = mf.cast %result {name = "attn_hc.output_cell.cast"} : (tensor<1x4x4xbf16>) -> tensor<1x4x4xf32>
    %r1 = mf.reshape %r0 {name = "attn_hc.output_cell.reshape"} : (tensor<1x4x4xf32>) -> tensor<1x4x1x4xf32>
    %column = mf.reshape %shares {name = "attn_hc.output_cell.reshape"} : (tensor<1x4x2xf32>) -> tensor<1x4x2x1xf32>
    %share = mf.matmul %column, %r1 {name = "attn_hc.output_cell.share"} : (tensor<1x4x2x1xf32>, tensor<1x4x1x4xf32>) -> tensor<1x4x2x4xf32>
    %sum = mf.add %mix, %share {name = "attn_hc.output_cell.add"} : (tensor<1x4x2x4xf32>, tensor<1x4x2x4xf32>) -> tensor<1x4x2x4xf32>
    %z0 = mf.reshape %sum {name = "attn_hc.output_cell.reshape"} : (tensor<1x4x2x4xf32>) -> tensor<1x4x8xf32>
    %z = mf.cast %z0 {name = "attn_hc.output_cell.cast"} : (tensor<1x4x8xf32>) -> tensor<1x4x8xbf16>
    mf.return %z : tensor<1x4x8xbf16>
  }
}

// Streams in fp32 are not converted.
// CHECK-LABEL: mf.model @streams_in_fp32
// CHECK: mf.mhc_pre %{{.*}} : (tensor<1x4x8xf32>,
// CHECK: mf.mhc_post
= mf.model @streams_in_fp32 attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
= mf.layer @layers.0 body (%x: tensor<1x4x8xf32>) -> tensor<1x4x8xf32> {
- %wide
= %streams = mf.reshape %x {name = "attn_hc.reshape"} : (tensor<1x4x8xf32>) -> tensor<1x4x2x4xf32>
= %n, %rstd = mf.rms_norm %x, %gamma {epsilon = 1.0e-6 : f64, name = "attn_hc.norm"} : (tensor<1x4x8xf32>, tensor<8xf32>) -> (tensor<1x4x8xf32>, tensor<1x4xf32>)
- %input
= %result = mf.silu %flat {name = "attention"} : (tensor<1x4x4xf32>) -> tensor<1x4x4xf32>
- ...
- %r1
+ %mix = mf.matmul %mixing, %streams {name = "attn_hc.output_cell.mix", transpose_a = true} : (tensor<1x4x2x2xf32>, tensor<1x4x2x4xf32>) -> tensor<1x4x2x4xf32>
+ %r1 = mf.reshape %result {name = "attn_hc.output_cell.reshape"} : (tensor<1x4x4xf32>) -> tensor<1x4x1x4xf32>
- %z = mf.cast
= mf.return %z0 : tensor<1x4x8xf32>

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
- %wide
- ...
- mf.return
+ mf.return %x : tensor<1x4x8xbf16>
