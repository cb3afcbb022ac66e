// RUN: %variants %S/../Inputs/training.mlir %s | %roundtrip --pass-pipeline='builtin.module(mf.model(mf-insert-optimizer))' -split-input-file | FileCheck %s

// Gradients of which ranks have summands are reduced first, in the model's order. Squares of parts are summed over the ranks
// that have the others: what is stored in pieces over both axes.
// CHECK-LABEL: mf.model @ranks
// CHECK: mf.update @update0
// CHECK-NEXT: mf.reduce_gradient @gamma over ["dp"]
// CHECK-NEXT: mf.reduce_gradient @column over ["dp"]
// CHECK-NEXT: mf.reduce_gradient @row over ["dp"]
// CHECK-NEXT: mf.reduce_gradient @piece over ["dp"]
// CHECK-NEXT: %[[NORMS:.*]] = mf.gradient_norms [@whole, @gamma] at [1, 0] : tensor<5xf32>
// CHECK-NEXT: %[[WHOLE:.*]] = mf.mul %[[NORMS]], %[[NORMS]]
// CHECK-NEXT: %[[OF_MP:.*]] = mf.gradient_norms [@row, @column] at [3, 2] : tensor<5xf32>
// CHECK-NEXT: %[[OWN_MP:.*]] = mf.mul %[[OF_MP]], %[[OF_MP]]
// CHECK-NEXT: %[[MP:.*]] = mf.all_reduce %[[OWN_MP]] over ["mp"]
// CHECK-NEXT: %[[SUM:.*]] = mf.add %[[WHOLE]], %[[MP]]
// CHECK-NEXT: %[[OF_ALL:.*]] = mf.gradient_norms [@piece] at [4] : tensor<5xf32>
// CHECK-NEXT: %[[OWN_ALL:.*]] = mf.mul %[[OF_ALL]], %[[OF_ALL]]
// CHECK-NEXT: %[[ALL:.*]] = mf.all_reduce %[[OWN_ALL]] over ["dp", "mp"]
// CHECK-NEXT: %[[SQUARES:.*]] = mf.add %[[SUM]], %[[ALL]]
// CHECK-NEXT: mf.reduce_sum %[[SQUARES]]
#adam_weight_decay = #mf.optimizer<type = "AdamWeightDecay", beta1 = 0.8, beta2 = 0.99, eps = 1.0e-6, weight_decay = 0.01, bias_correction = false>
module attributes {mf.mesh = #mf.mesh<pp = 1, dp = 2, mp = 2>} {
mf.model @ranks attributes {
    micro_batch_size = 1 : i64, sequence_length = 8 : i64, vocab_size = 16 : i64,
    training = #mf.training<parallel = <stages = 1, interleave = 1, micro_batches = 2>,
      optimizer = #adamw, lr_schedule = #constant, loss_scale = 1.0, max_device_memory = 0>} {
  mf.param @gamma : tensor<8xf32> init <ones> layout <[[]], reduced = [dp]>
  mf.param @whole : tensor<8x8xf32> init <ones> layout <[[], []]>
  mf.param @column : tensor<16x8xf32> init <ones> layout <[[mp], []], reduced = [dp]>
  mf.param @row : tensor<8x16xf32> init <ones> layout <[[], [mp]], reduced = [dp]>
  mf.param @piece : tensor<16x8xf32> init <ones> layout <[[mp], []], reduced = [dp]> stored <[[mp, dp], []]> {gathered = tensor<8x8xf32>}
  mf.backward @chunk0.backward (%g0: tensor<8x8xf32>, %g1: tensor<8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8xf32>)
      attributes {placement = #mf.placement<stage = 0, chunk = 0>, forward_arguments = [], gradients = [@row, @column, @whole, @piece, @gamma]} {
    mf.return %g0, %g0, %g0, %g0, %g1 : tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8xf32>
  }
}
}

// gradients_mean divides sums over ranks.
// CHECK-LABEL: mf.model @mean
// CHECK: mf.reduce_gradient @gamma over ["dp"] mean
= mf.model @mean attributes {
= training = #mf.training<parallel = <stages = 1, interleave = 1, micro_batches = 2, gradients_mean = true>,
