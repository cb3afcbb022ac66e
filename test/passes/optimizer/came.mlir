// RUN: %roundtrip --pass-pipeline='builtin.module(mf.model(mf-insert-optimizer))' %s | FileCheck %s
// RUN: %roundtrip --pass-pipeline='builtin.module(mf.model(mf-insert-optimizer))' --remarks-filter-passed=optimizer %s -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

#constant = #mf.lr_schedule<type = "ConstantWarmUpLR", parameters = {learning_rate = 1.0e-3 : f64}>
#came = #mf.optimizer<type = "Came", beta1 = 0.5, beta2 = 0.95, eps = 1.0e-8, weight_decay = 0.25, bias_correction = false,
  came = <eps = 0.125, instability_eps = 0.0625, clip_threshold = 2.0, decay_rate = 0.75, beta3 = 0.75>>

module attributes {mf.mesh = #mf.mesh<pp = 1, dp = 2>} {

// A vector has a second moment. Rows of a matrix, which replicas share out, are means of a rank's own, columns are sums over ranks. Whatever
// decays decays by the same share.
// CHECK-LABEL: mf.model @means_of_rows_and_columns
// CHECK: mf.update @update0 (%[[LR:.*]]: tensor<f32>, %[[STEP:.*]]: tensor<f32>)
// CHECK: %[[OVERFLOW:.*]] = mf.non_finite
// CHECK: %[[G:.*]] = mf.take_gradient @gamma : tensor<8xf32>
// CHECK: %[[SQUARES:.*]] = mf.add_scalar %{{.*}} {value = 1.250000e-01 : f64}
// CHECK-NEXT: %[[V:.*]] = mf.update_average second_moment of @gamma, %[[SQUARES]], %[[STEP]], %[[OVERFLOW]] {decay = 7.500000e-01 : f64, grows}
// CHECK: %[[DIVISOR:.*]] = mf.clamp_min {{.*}} {value = 1.000000e+00 : f64}
// CHECK-NEXT: %[[CLIPPED:.*]] = mf.div %{{.*}}, %[[DIVISOR]]
// CHECK-NEXT: %[[M:.*]] = mf.update_average first_moment of @gamma, %[[CLIPPED]], %[[STEP]], %[[OVERFLOW]] {decay = 5.000000e-01 : f64}
// CHECK-NEXT: mf.take_step @gamma, %[[M]], %[[LR]], %[[OVERFLOW]] {scale = 1.000000e+00 : f64, weight_decay = 2.500000e-01 : f64}
// CHECK-NEXT: %[[G:.*]] = mf.take_gradient @w : tensor<8x4xf32>
// CHECK: %[[SQUARES:.*]] = mf.add_scalar
// CHECK-NEXT: %[[SUM:.*]] = mf.reduce_sum %[[SQUARES]] {axes = array<i64: 1>}
// CHECK-NEXT: %[[MEAN:.*]] = mf.scale %[[SUM]] {value = 2.500000e-01 : f64}
// CHECK-NEXT: %[[ROWS:.*]] = mf.update_average square_rows of @w, %[[MEAN]], {{.*}} grows} : tensor<8xf32>
// CHECK-NEXT: %[[SUM:.*]] = mf.reduce_sum %[[SQUARES]] {axes = array<i64: 0>}
// CHECK-NEXT: %[[ALL:.*]] = mf.all_reduce %[[SUM]] over ["dp"]
// CHECK-NEXT: %[[MEAN:.*]] = mf.scale %[[ALL]] {value = 6.250000e-02 : f64}
// CHECK-NEXT: %[[COLUMNS:.*]] = mf.update_average square_columns of @w, %[[MEAN]], {{.*}} grows} : tensor<4xf32>
// CHECK-NEXT: %[[SUM:.*]] = mf.reduce_sum %[[ROWS]] {axes = array<i64: 0>}
// CHECK-NEXT: %[[ALL:.*]] = mf.all_reduce %[[SUM]] over ["dp"]
// CHECK: mf.all_reduce %{{.*}} over ["dp"] : tensor<f32>
// CHECK: %[[CLIPPED:.*]] = mf.div
// CHECK-NEXT: %[[M:.*]] = mf.update_average first_moment of @w, %[[CLIPPED]]
// CHECK: mf.update_average instability_rows of @w, {{.*}} {decay = 7.500000e-01 : f64} : tensor<8xf32>
// CHECK: mf.update_average instability_columns of @w, {{.*}} {decay = 7.500000e-01 : f64} : tensor<4xf32>
// CHECK: mf.take_step @w, %{{.*}}, %[[LR]], %[[OVERFLOW]] {scale = 1.000000e+00 : f64, weight_decay = 2.500000e-01 : f64}
// Each expert is a matrix of its own.
// CHECK-NEXT: mf.take_gradient @experts
// CHECK: mf.update_average square_rows of @experts, {{.*}} : tensor<3x8xf32>
// CHECK: mf.update_average square_columns of @experts, {{.*}} : tensor<3x4xf32>
// CHECK-NEXT: mf.reduce_sum %{{.*}} {axes = array<i64: 1>} : (tensor<3x8xf32>) -> tensor<3xf32>
// CHECK: mf.reshape %{{.*}} : (tensor<3xf32>) -> tensor<3x1xf32>
// REMARK: Function=means_of_rows_and_columns | {{.*}}elements=136{{.*}}parameters=3
mf.model @means_of_rows_and_columns attributes {
    micro_batch_size = 1 : i64, sequence_length = 8 : i64, vocab_size = 16 : i64,
    training = #mf.training<parallel = <stages = 1, interleave = 1, micro_batches = 1, offset = 0>,
      optimizer = #came, lr_schedule = #constant, loss_scale = 1.0, max_device_memory = 0>} {
  mf.param @gamma : tensor<8xf32> init <ones>
  mf.param @w : tensor<16x4xf32> init <ones> layout <[[], []], reduced = [dp]> stored <[[dp], []]>
  mf.param @experts : tensor<3x8x4xf32> init <ones>
  mf.backward @chunk0.backward (%g0: tensor<8xf32>, %g1: tensor<8x4xf32>, %g2: tensor<3x8x4xf32>) -> (tensor<8xf32>, tensor<8x4xf32>, tensor<3x8x4xf32>)
      attributes {placement = #mf.placement<stage = 0, chunk = 0>, forward_arguments = [], gradients = [@gamma, @w, @experts]} {
    mf.return %g0, %g1, %g2 : tensor<8xf32>, tensor<8x4xf32>, tensor<3x8x4xf32>
  }
}

}
