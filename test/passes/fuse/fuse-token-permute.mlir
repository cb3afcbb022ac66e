// RUN: %variants %S/../Inputs/training.mlir %s > %t.mlir
// RUN: %roundtrip --pass-pipeline='builtin.module(mf.model(mf-fuse-token-permute))' -split-input-file %t.mlir 2>%t | FileCheck %s
// RUN: FileCheck --check-prefix=WARN %s < %t
// RUN: %roundtrip --pass-pipeline='builtin.module(mf.model(mf-fuse-token-permute{print-plan=true}))' -split-input-file %t.mlir 2>&1 >/dev/null | FileCheck --check-prefix=PLAN %s
// RUN: %roundtrip --pass-pipeline='builtin.module(mf.model(mf-fuse-token-permute))' -split-input-file %t.mlir --remarks-filter=fuse 2>&1 >/dev/null | FileCheck --check-prefix=REMARK %s

#on = #mf.training<parallel = <stages = 1, interleave = 1, micro_batches = 1>,
  optimizer = #adamw, lr_schedule = #constant, loss_scale = 1.0, max_device_memory = 0, fusions = <permute_tokens = true>, locations = {permute_tokens = loc("use_fused_ops_permute"("some.yaml":3:9))}>
// Both sorts are gone, and with them one of the two arrays of places.
// CHECK-LABEL: mf.model @of_bf16
// CHECK: mf.layer @layers.0 body (%[[X:.*]]: tensor<2x1x6x4xbf16>, %[[IDS:.*]]: tensor<2x1x6xf32>)
// CHECK-NEXT: %[[Y:.*]], %[[PLACES:.*]] = mf.token_permute %[[X]], %[[IDS]] {name = "ffn.hook_ffn_forward"} : (tensor<2x1x6x4xbf16>, tensor<2x1x6xf32>) -> (tensor<2x1x6x4xbf16>, tensor<2x1x6xi32>)
// CHECK-NEXT: %[[Z:.*]] = mf.scale %[[Y]]
// CHECK-NEXT: %[[W:.*]] = mf.token_unpermute %[[Z]], %[[PLACES]] {name = "ffn.hook_ffn_forward"} : (tensor<2x1x6x4xbf16>, tensor<2x1x6xi32>) -> tensor<2x1x6x4xbf16>
// CHECK-NEXT: mf.return %[[W]]
// PLAN: mf.token_permute: 1 of 1
// PLAN-NEXT: layers.0 ffn.hook_ffn_forward: 2 in place of 5 kernels, keeps 48 in place of 96 bytes
// REMARK: Function=of_bf16
// REMARK-SAME: bytes not kept=48
// REMARK-SAME: kernels saved=3
mf.model @of_bf16 attributes {training = #on, micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  mf.layer @layers.0 body (%x: tensor<2x1x6x4xbf16>, %ids: tensor<2x1x6xf32>) -> tensor<2x1x6x4xbf16> {
    %sorted, %order = mf.sort %ids {name = "ffn.hook_ffn_forward"} : (tensor<2x1x6xf32>) -> (tensor<2x1x6xf32>, tensor<2x1x6xi32>)
    %forth = mf.gather_rows %x, %order {name = "ffn.hook_ffn_forward"} : (tensor<2x1x6x4xbf16>, tensor<2x1x6xi32>) -> tensor<2x1x6x4xbf16>
    %made = mf.scale %forth {name = "ffn", value = 2.0 : f64} : (tensor<2x1x6x4xbf16>) -> tensor<2x1x6x4xbf16>
    %keys = mf.cast %order {name = "cast"} : (tensor<2x1x6xi32>) -> tensor<2x1x6xf32>
    %again, %places = mf.sort %keys {name = "ffn.hook_ffn_forward"} : (tensor<2x1x6xf32>) -> (tensor<2x1x6xf32>, tensor<2x1x6xi32>)
    %back = mf.gather_rows %made, %places {name = "ffn.hook_ffn_forward"} : (tensor<2x1x6x4xbf16>, tensor<2x1x6xi32>) -> tensor<2x1x6x4xbf16>
    mf.return %back : tensor<2x1x6x4xbf16>
  }
}

// The kernels are of bf16 alone.
// CHECK-LABEL: mf.model @of_fp32
// CHECK: %[[X:.*]] = mf.cast %{{.*}} {name = "ffn.hook_ffn_forward"} : (tensor<2x1x6x4xf32>) -> tensor<2x1x6x4xbf16>
// CHECK-NEXT: %[[Y:.*]], %[[PLACES:.*]] = mf.token_permute %[[X]],
// CHECK-NEXT: %[[Z:.*]] = mf.cast %[[Y]] {name = "ffn.hook_ffn_forward"} : (tensor<2x1x6x4xbf16>) -> tensor<2x1x6x4xf32>
// CHECK-NEXT: %[[M:.*]] = mf.scale %[[Z]]
// CHECK-NEXT: %[[N:.*]] = mf.cast %[[M]] {name = "ffn.hook_ffn_forward"} : (tensor<2x1x6x4xf32>) -> tensor<2x1x6x4xbf16>
// CHECK-NEXT: %[[U:.*]] = mf.token_unpermute %[[N]], %[[PLACES]]
// CHECK-NEXT: %[[W:.*]] = mf.cast %[[U]] {name = "ffn.hook_ffn_forward"} : (tensor<2x1x6x4xbf16>) -> tensor<2x1x6x4xf32>
// CHECK-NEXT: mf.return %[[W]]
mf.model @of_fp32 attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  mf.layer @layers.0 body (%x: tensor<2x1x6x4xf32>, %ids: tensor<2x1x6xf32>) -> tensor<2x1x6x4xf32> {
    %sorted, %order = mf.sort %ids {name = "ffn.hook_ffn_forward"} : (tensor<2x1x6xf32>) -> (tensor<2x1x6xf32>, tensor<2x1x6xi32>)
    %forth = mf.gather_rows %x, %order {name = "ffn.hook_ffn_forward"} : (tensor<2x1x6x4xf32>, tensor<2x1x6xi32>) -> tensor<2x1x6x4xf32>
    %made = mf.scale %forth {name = "ffn", value = 2.0 : f64} : (tensor<2x1x6x4xf32>) -> tensor<2x1x6x4xf32>
    %keys = mf.cast %order {name = "cast"} : (tensor<2x1x6xi32>) -> tensor<2x1x6xf32>
    %again, %places = mf.sort %keys {name = "ffn.hook_ffn_forward"} : (tensor<2x1x6xf32>) -> (tensor<2x1x6xf32>, tensor<2x1x6xi32>)
    %back = mf.gather_rows %made, %places {name = "ffn.hook_ffn_forward"} : (tensor<2x1x6x4xf32>, tensor<2x1x6xi32>) -> tensor<2x1x6x4xf32>
    mf.return %back : tensor<2x1x6x4xf32>
  }
}

// CHECK-LABEL: mf.model @not_asked_for
// CHECK-NOT: mf.token_permute
// CHECK: mf.return
= mf.model @not_asked_for attributes {training = #one_stage, micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {

// The sorted ids are read too, so the sort is needed.
// CHECK-LABEL: mf.model @ids_read
// CHECK-NOT: mf.token_permute
// CHECK: mf.return
// WARN: some.yaml:3:9: warning: 'use_fused_ops_permute' has no effect: no layer has what becomes one mf.token_permute
// WARN-NOT: warning
= mf.model @ids_read attributes {training = #on, micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
= mf.layer @layers.0 body (%x: tensor<2x1x6x4xbf16>, %ids: tensor<2x1x6xf32>) -> tensor<2x1x6xf32> {
- mf.return
+ %z = mf.scale %sorted {name = "scale", value = 2.0 : f64} : (tensor<2x1x6xf32>) -> tensor<2x1x6xf32>
+ mf.return %z : tensor<2x1x6xf32>
