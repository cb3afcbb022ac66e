// RUN: %variants %S/../Inputs/training.mlir %s > %t.mlir
// RUN: %roundtrip --pass-pipeline='builtin.module(mf.model(mf-group-matmuls))' -split-input-file %t.mlir | FileCheck %s
// RUN: %roundtrip --pass-pipeline='builtin.module(mf.model(mf-group-matmuls{print-plan=true}))' -split-input-file %t.mlir 2>&1 >/dev/null | FileCheck --check-prefix=PLAN %s
// RUN: %roundtrip --pass-pipeline='builtin.module(mf.model(mf-group-matmuls))' -split-input-file %t.mlir --remarks-filter=fuse 2>&1 >/dev/null | FileCheck --check-prefix=REMARK %s

#off = #mf.training<parallel = <stages = 1, interleave = 1, micro_batches = 1>,
  optimizer = #adamw, lr_schedule = #constant, loss_scale = 1.0, max_device_memory = 0, fusions = <group_matmuls = false>>

// Nothing of the YAML says no.
// CHECK-LABEL: mf.model @grouped
// CHECK: %[[W:.*]] = mf.get_param
// CHECK-NEXT: %[[E:.*]] = mf.grouped_matmul %{{.*}}, %[[W]], %[[C:.*]] {name = "ffn.hook_ffn_forward"} : (tensor<2x1x6x4xf32>, tensor<1x3x4x8xf32>, tensor<2x1x3xf32>) -> tensor<2x1x6x8xf32>
// CHECK-NEXT: mf.grouped_matmul %[[E]], %[[W]], %[[C]] {name = "ffn.hook_ffn_forward", transpose_weight = true}
// CHECK-NEXT: mf.return
// PLAN: mf.grouped_matmul: 2 of 2
// PLAN-NEXT: layers.0 ffn.hook_ffn_forward: 1 in place of 1 kernels
// REMARK: Function=grouped
// REMARK-SAME: fused=2
mf.model @grouped attributes {training = #one_stage, micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  mf.param @w1 : tensor<1x3x4x8xf32> init <normal, value = 0.02>
  mf.layer @layers.0 body (%rows: tensor<2x1x6x4xf32>, %counts: tensor<2x1x3xf32>) -> tensor<2x1x6x4xf32> {
    %w = mf.get_param @w1 : tensor<1x3x4x8xf32>
    %e = mf.expert_matmul %rows, %w, %counts {name = "ffn.hook_ffn_forward"} : (tensor<2x1x6x4xf32>, tensor<1x3x4x8xf32>, tensor<2x1x3xf32>) -> tensor<2x1x6x8xf32>
    %y = mf.expert_matmul %e, %w, %counts {name = "ffn.hook_ffn_forward", transpose_weight = true} : (tensor<2x1x6x8xf32>, tensor<1x3x4x8xf32>, tensor<2x1x3xf32>) -> tensor<2x1x6x4xf32>
    mf.return %y : tensor<2x1x6x4xf32>
  }
}

// CHECK-LABEL: mf.model @one_after_another
// CHECK-NOT: mf.grouped_matmul
// CHECK: mf.return
// PLAN: mf.grouped_matmul: 0 of 2
= mf.model @one_after_another attributes {training = #off, micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
