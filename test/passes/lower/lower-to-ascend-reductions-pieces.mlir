// Each piece of the sequence has a backward of its own, and all add to the same gradients: ranks sum these beside that
// of the first piece, which runs last, though there is one micro-batch.
// RUN: %roundtrip --pass-pipeline='builtin.module(mf.model(mf-split-sequence,mf-propagate-layouts,mf-lower-reshards,mf-localize,mf-shard-optimizer,mf-reduce-in-backward,mf-build-backward,mf-split-chunks,mf-insert-optimizer,mf-build-schedule),mf-lower-to-ascend,ascend.program(ascend-plan-memory),ascend-verify-program)' %s -o %t.mlir
// RUN: FileCheck %s --input-file=%t.mlir

// CHECK: ascend.routine @chunk0.backward
// CHECK-NOT: ascend.collective
// CHECK: ascend.routine @chunk0.piece1.backward
// CHECK-NOT: ascend.collective
// CHECK: ascend.step
// CHECK: ascend.call @chunk0.piece1.backward
// CHECK-NOT: ascend.collective
// CHECK: %[[COMPLETE:.*]]:2 = ascend.call @chunk0.backward({{.*}}records
// CHECK-NEXT: %[[SUM:.*]] = ascend.global @gradient.head.weight
// CHECK-NEXT: ascend.collective all_reduce %[[SUM]] to %[[SUM]] over <dp> channel "dp" on @collective.dp after %[[COMPLETE]]#0
// CHECK: %[[LAST:.*]] = ascend.collective all_reduce {{.*}} after %[[COMPLETE]]#1
// CHECK: ascend.call @update({{.*}} after {{.*}}%[[LAST]]
module attributes {mf.mesh = #mf.mesh<pp = 1, dp = 2>} {
mf.model @two_pieces attributes {micro_batch_size = 4 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64,
    training = #mf.training<parallel = <stages = 1, interleave = 1, micro_batches = 1, scheduler = "seq1f1b", sequence_pieces = 2>,
    optimizer = <type = "AdamW", beta1 = 0.9, beta2 = 0.95, eps = 1.0e-8, weight_decay = 0.1, bias_correction = true>,
    lr_schedule = <type = "ConstantWarmUpLR", parameters = {learning_rate = 1.0e-3 : f64}>, loss_scale = 1.0, max_device_memory = 0>} {
  mf.param @embedding.weight : tensor<16x8xf32> init <normal, value = 0.02>
  mf.param @head.weight : tensor<16x8xf32> init <normal, value = 0.02>
  mf.layer @embedding embedding (%tokens: tensor<4x4xi32>) -> tensor<4x4x8xf32> attributes {placement = #mf.placement<stage = 0, chunk = 0>} {
    %table = mf.get_param @embedding.weight : tensor<16x8xf32>
    %x = mf.embedding %table, %tokens {name = "gather"} : (tensor<16x8xf32>, tensor<4x4xi32>) -> tensor<4x4x8xf32>
    mf.return %x : tensor<4x4x8xf32>
  }
  mf.layer @head head (%x: tensor<4x4x8xf32>, %labels: tensor<4x4xi32>) -> tensor<f32> attributes {placement = #mf.placement<stage = 0, chunk = 0>} {
    %w = mf.get_param @head.weight : tensor<16x8xf32>
    %logits = mf.matmul %x, %w {name = "matmul", transpose_b = true} : (tensor<4x4x8xf32>, tensor<16x8xf32>) -> tensor<4x4x16xf32>
    %rows = mf.reshape %logits {name = "reshape"} : (tensor<4x4x16xf32>) -> tensor<16x16xf32>
    %flat = mf.reshape %labels {name = "reshape"} : (tensor<4x4xi32>) -> tensor<16xi32>
    %loss, %l, %c = mf.cross_entropy %rows, %flat {name = "loss"} : (tensor<16x16xf32>, tensor<16xi32>) -> (tensor<f32>, tensor<16xf32>, tensor<f32>)
    mf.return %loss : tensor<f32>
  }
}
}
