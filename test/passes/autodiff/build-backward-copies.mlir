// Three copies of the model in one graph: inputs and losses of their own, weights and what is made of them together,
// and a gradient that is the sum over copies in their order, so three times that of the mean.
// RUN: %roundtrip --pass-pipeline='builtin.module(mf.model(mf-build-backward))' %s -o %t.chunks.mlir
// RUN: FileCheck %s --input-file=%t.chunks.mlir
// RUN: mf-check-rewrite %s %t.chunks.mlir | FileCheck %s --check-prefix=RUNS
// RUNS: same losses, gradients as finite differences of the loss
// RUN: %roundtrip --pass-pipeline='builtin.module(mf.model(mf-split-chunks{split-backward=always}))' %t.chunks.mlir -o %t.halves.mlir
// RUN: mf-check-rewrite %t.chunks.mlir %t.halves.mlir | FileCheck %s --check-prefix=SAME
// SAME: same losses, gradients

#training = #mf.training<parallel = <stages = 2, interleave = 1, micro_batches = 2, scheduler = "1f1b", copies = 3>,
  optimizer = <type = "AdamW", beta1 = 0.9, beta2 = 0.95, eps = 1.0e-8, weight_decay = 0.1, bias_correction = true>,
  lr_schedule = <type = "ConstantWarmUpLR", parameters = {learning_rate = 1.0e-3 : f64}>,
  loss_scale = 1.0, max_device_memory = 0>

mf.model @copies attributes {training = #training, micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  mf.param @table : tensor<16x8xf32> init <normal, value = 0.2>
  mf.param @w : tensor<8x8xf32> init <normal, value = 0.2>
  mf.param @head : tensor<16x8xf32> init <normal, value = 0.2>

  // CHECK: mf.chunk @chunk0 (%[[T0:.*]]: tensor<4xi32>, %[[T1:.*]]: tensor<4xi32>, %[[T2:.*]]: tensor<4xi32>) -> tensor<16x8xf32>
  // CHECK-SAME: input_indices = [0, 1, 2], inputs = [#mf<input_kind tokens>, #mf<input_kind tokens>, #mf<input_kind tokens>]
  // CHECK: %[[TABLE:.*]] = mf.get_param @table
  // CHECK-NOT: mf.get_param
  // CHECK: mf.embedding %[[TABLE]], %[[T0]] {name = "embedding.gather"}
  // CHECK-NEXT: mf.embedding %[[TABLE]], %[[T1]] {name = "embedding.gather"}
  // CHECK-NEXT: mf.embedding %[[TABLE]], %[[T2]]
  // CHECK-NEXT: %[[DX:.*]]:3 = mf.cut
  // CHECK-NEXT: %[[D0:.*]] = mf.embedding_grad %[[DX]]#0, %[[T0]]
  // CHECK-NEXT: %[[D1:.*]] = mf.embedding_grad %[[DX]]#1, %[[T1]]
  // CHECK-NEXT: %[[D01:.*]] = mf.add %[[D0]], %[[D1]]
  // CHECK-NEXT: %[[D2:.*]] = mf.embedding_grad %[[DX]]#2, %[[T2]]
  // CHECK-NEXT: %[[D:.*]] = mf.add %[[D01]], %[[D2]]
  // CHECK-NEXT: mf.return %[[D]] : tensor<16x8xf32>
  mf.layer @embedding embedding (%tokens: tensor<4xi32>) -> tensor<4x8xf32>
      attributes {placement = #mf.placement<stage = 0, chunk = 0>} {
    %table = mf.get_param @table : tensor<16x8xf32>
    %x = mf.embedding %table, %tokens {name = "gather"} : (tensor<16x8xf32>, tensor<4xi32>) -> tensor<4x8xf32>
    mf.return %x : tensor<4x8xf32>
  }
  // Hidden inputs of all copies come first, then their labels.
  // CHECK: mf.chunk @chunk1 (%{{.*}}: tensor<4x8xf32>, %{{.*}}: tensor<4x8xf32>, %{{.*}}: tensor<4x8xf32>, %{{.*}}: tensor<4xi32>, %{{.*}}: tensor<4xi32>, %{{.*}}: tensor<4xi32>) -> (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<8x8xf32>, tensor<16x8xf32>)
  // One negated weight for all: its gradient is a sum before it is negated.
  // CHECK: mf.neg {{.*}} {name = "layer.negated"}
  // CHECK-NOT: "layer.negated"
  // CHECK: mf.cut %{{.*}}, %{{.*}}, %{{.*}} : tensor<f32>, tensor<f32>, tensor<f32>
  // CHECK: mf.neg {{.*}} {name = "layer.negated.grad"}
  // CHECK-NOT: "layer.negated.grad"
  mf.layer @layer body (%x: tensor<4x8xf32>) -> tensor<4x8xf32>
      attributes {placement = #mf.placement<stage = 1, chunk = 0>} {
    %w = mf.get_param @w : tensor<8x8xf32>
    %negated = mf.neg %w {name = "negated"} : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %h = mf.matmul %x, %negated {name = "w", transpose_b = true} : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
    %y = mf.add %x, %h {name = "add"} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    mf.return %y : tensor<4x8xf32>
  }
  mf.layer @head_layer head (%x: tensor<4x8xf32>, %labels: tensor<4xi32>) -> tensor<f32>
      attributes {placement = #mf.placement<stage = 1, chunk = 0>} {
    %head = mf.get_param @head : tensor<16x8xf32>
    %logits = mf.matmul %x, %head {name = "matmul", transpose_b = true} : (tensor<4x8xf32>, tensor<16x8xf32>) -> tensor<4x16xf32>
    %loss, %logsumexp, %count = mf.cross_entropy %logits, %labels {name = "loss", ignore_index = -100 : i64} : (tensor<4x16xf32>, tensor<4xi32>) -> (tensor<f32>, tensor<4xf32>, tensor<f32>)
    mf.return %loss : tensor<f32>
  }
}
