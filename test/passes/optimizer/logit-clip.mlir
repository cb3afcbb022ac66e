// RUN: %roundtrip --pass-pipeline='builtin.module(mf.model(mf-insert-optimizer))' %s | FileCheck %s
// RUN: %roundtrip --pass-pipeline='builtin.module(mf.model(mf-insert-optimizer))' --remarks-filter-passed=optimizer %s -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

#constant = #mf.lr_schedule<type = "ConstantWarmUpLR", parameters = {learning_rate = 1.0e-3 : f64}>
#muon = #mf.optimizer<type = "Muon", beta1 = 0.9, beta2 = 0.95, eps = 1.0e-8, weight_decay = 0.1, bias_correction = true,
  muon = <momentum = 0.95, nesterov = true, rms = 0.2, eps = 1.0e-7, coefficients = [[3.5, -4.5, 2.0]], adamw_include = [], logit_threshold = 50.0>>

module attributes {mf.mesh = #mf.mesh<pp = 1, dp = 2>} {

// Behind all steps. A rank scales the rows that it stores; the largest logits are those of all ranks.
// CHECK-LABEL: mf.model @heads_are_clipped
// CHECK: mf.reduce_gradient @largest over ["dp"]
// CHECK: %[[OVERFLOW:.*]] = mf.non_finite
// CHECK: mf.take_step @qb
// CHECK-NEXT: %[[FACTORS:.*]] = mf.logit_factors @largest, %[[OVERFLOW]] {roots = [1, 2], sizes = [6, 2], threshold = 5.000000e+01 : f64} : tensor<f32> -> tensor<16xf32>
// CHECK-NEXT: %[[OWN:.*]] = mf.own_part %[[FACTORS]] over ["dp"] : tensor<16xf32> -> tensor<8xf32>
// CHECK-NEXT: mf.scale_rows @qb by %[[OWN]] : tensor<8xf32>
// REMARK: stage 0 updates its parameters{{.*}}weights clipped by their logits=1
mf.model @heads_are_clipped attributes {
    micro_batch_size = 1 : i64, sequence_length = 8 : i64, vocab_size = 16 : i64,
    training = #mf.training<parallel = <stages = 1, interleave = 1, micro_batches = 1, offset = 0>,
      optimizer = #muon, lr_schedule = #constant, loss_scale = 1.0, max_device_memory = 0>} {
  mf.param @largest : tensor<2xf32> init <zeros> layout <[[]], reduced = [dp]> {update_rule = #mf.update_rule<largest>}
  mf.param @qb : tensor<16x4xf32> init <ones> layout <[[], []], reduced = [dp]> stored <[[dp], []]> {
      matrices = #mf.matrices<dim = 0, sizes = [6, 2]>, logit_clip = #mf.logit_clip<largest = @largest, roots = [1, 2]>}
  mf.backward @chunk0.backward (%g0: tensor<2xf32>, %g1: tensor<8x4xf32>) -> (tensor<2xf32>, tensor<8x4xf32>)
      attributes {placement = #mf.placement<stage = 0, chunk = 0>, forward_arguments = [], gradients = [@largest, @qb]} {
    mf.return %g0, %g1 : tensor<2xf32>, tensor<8x4xf32>
  }
}
}
