// Layers and operators with several results, and losses in the middle: the gradients of both chunks, and that they are
// those of the sum of both losses, in one function or in two.
// RUN: %roundtrip --pass-pipeline='builtin.module(mf.model(mf-build-backward))' %s -o %t.chunks.mlir
// RUN: FileCheck %s --input-file=%t.chunks.mlir
// RUN: mf-check-rewrite %s %t.chunks.mlir | FileCheck %s --check-prefix=RUNS
// RUNS: same losses, gradients as finite differences of the loss
// RUN: %roundtrip --pass-pipeline='builtin.module(mf.model(mf-split-chunks))' %t.chunks.mlir -o %t.functions.mlir
// RUN: mf-check-rewrite %t.chunks.mlir %t.functions.mlir | FileCheck %s --check-prefix=SAME
// RUN: %roundtrip --pass-pipeline='builtin.module(mf.model(mf-split-chunks{split-backward=always}))' %t.chunks.mlir -o %t.halves.mlir
// RUN: mf-check-rewrite %t.chunks.mlir %t.halves.mlir | FileCheck %s --check-prefix=SAME
// SAME: same losses, gradients

mf.model @several attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  mf.param @table : tensor<16x8xf32> init <normal, value = 0.2>
  mf.param @w : tensor<12x8xf32> init <normal, value = 0.2>
  mf.param @v : tensor<8x4xf32> init <normal, value = 0.2>
  mf.param @head : tensor<16x8xf32> init <normal, value = 0.2>

  // A chunk hands on what its last layer does, then its losses: here 4x8, 4x4 and one loss.
  // CHECK: mf.chunk @chunk0 (%{{.*}}: tensor<4xi32>)
  // CHECK: %[[PARTS:.*]]:3 = mf.split
  // CHECK: %[[LOSS:.*]] = mf.reduce_sum
  // CHECK: %[[GRADIENTS:.*]]:3 = mf.cut %{{.*}}, %{{.*}}, %[[LOSS]] : tensor<4x8xf32>, tensor<4x4xf32>, tensor<f32>
  mf.layer @embedding embedding (%tokens: tensor<4xi32>) -> tensor<4x8xf32>
      attributes {placement = #mf.placement<stage = 0, chunk = 0>} {
    %table = mf.get_param @table : tensor<16x8xf32>
    %x = mf.embedding %table, %tokens {name = "gather"} : (tensor<16x8xf32>, tensor<4xi32>) -> tensor<4x8xf32>
    mf.return %x : tensor<4x8xf32>
  }
  // No loss depends on the split's second part; the others have gradients, and its gradient is zero without a value
  // of its own: the pads of its neighbours.
  // CHECK: mf.pad %{{.*}} {high = array<i64: 0, 0>, low = array<i64: 0, 4>
  // CHECK: mf.concat
  mf.layer @layers.0 body (%x: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<f32>, tensor<4x4xf32>)
      attributes {placement = #mf.placement<stage = 0, chunk = 0>} {
    %w = mf.get_param @w : tensor<12x8xf32>
    %h = mf.matmul %x, %w {name = "w", transpose_b = true} : (tensor<4x8xf32>, tensor<12x8xf32>) -> tensor<4x12xf32>
    %a, %unused, %b = mf.split %h {axis = 1 : i64, name = "split"} : (tensor<4x12xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>)
    %square = mf.mul %a, %a {name = "square"} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %sum = mf.reduce_sum %square {name = "sum", axes = array<i64: 0, 1>} : (tensor<4x4xf32>) -> tensor<f32>
    mf.return %x, %sum, %b : tensor<4x8xf32>, tensor<f32>, tensor<4x4xf32>
  }

  // CHECK: mf.chunk @chunk1 (%{{.*}}: tensor<4x8xf32>, %{{.*}}: tensor<4x4xf32>, %{{.*}}: tensor<4xi32>) -> (tensor<4x8xf32>, tensor<4x4xf32>, tensor<8x4xf32>, tensor<16x8xf32>)
  // CHECK-SAME: input_indices = [2]
  // The layer that hands both through gets both gradients back.
  mf.layer @layers.1 body (%x: tensor<4x8xf32>, %b: tensor<4x4xf32>) -> (tensor<4x8xf32>, tensor<4x4xf32>)
      attributes {placement = #mf.placement<stage = 1, chunk = 0>} {
    %v = mf.get_param @v : tensor<8x4xf32>
    %h = mf.matmul %b, %v {name = "v", transpose_b = true} : (tensor<4x4xf32>, tensor<8x4xf32>) -> tensor<4x8xf32>
    %y = mf.add %x, %h {name = "add"} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    mf.return %y, %b : tensor<4x8xf32>, tensor<4x4xf32>
  }
  // CHECK: mf.cut %{{.*}}, %{{.*}} : tensor<f32>, tensor<f32>
  mf.layer @head_layer head (%x: tensor<4x8xf32>, %b: tensor<4x4xf32>, %labels: tensor<4xi32>) -> (tensor<f32>, tensor<f32>)
      attributes {placement = #mf.placement<stage = 1, chunk = 0>} {
    %square = mf.mul %b, %b {name = "square"} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %sum = mf.reduce_sum %square {name = "sum", axes = array<i64: 0, 1>} : (tensor<4x4xf32>) -> tensor<f32>
    %head = mf.get_param @head : tensor<16x8xf32>
    %logits = mf.matmul %x, %head {name = "matmul", transpose_b = true} : (tensor<4x8xf32>, tensor<16x8xf32>) -> tensor<4x16xf32>
    %loss, %logsumexp, %count = mf.cross_entropy %logits, %labels {name = "loss", ignore_index = -100 : i64} : (tensor<4x16xf32>, tensor<4xi32>) -> (tensor<f32>, tensor<4xf32>, tensor<f32>)
    mf.return %loss, %sum : tensor<f32>, tensor<f32>
  }
}
