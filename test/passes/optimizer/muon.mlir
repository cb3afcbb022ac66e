// RUN: %roundtrip --pass-pipeline='builtin.module(mf.model(mf-insert-optimizer))' %s | FileCheck %s
// RUN: %roundtrip --pass-pipeline='builtin.module(mf.model(mf-insert-optimizer))' --remarks-filter-passed=optimizer %s -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

#constant = #mf.lr_schedule<type = "ConstantWarmUpLR", parameters = {learning_rate = 1.0e-3 : f64}>
#muon = #mf.optimizer<type = "Muon", beta1 = 0.9, beta2 = 0.95, eps = 1.0e-8, weight_decay = 0.1, bias_correction = true,
  muon = <momentum = 0.95, nesterov = true, rms = 0.2, eps = 1.0e-7, coefficients = [[3.5, -4.5, 2.0]], adamw_include = ["*embedding*"]>>
#spread = #mf.optimizer<type = "Muon", beta1 = 0.9, beta2 = 0.95, eps = 1.0e-8, weight_decay = 0.1, bias_correction = true,
  muon = <momentum = 0.95, nesterov = true, rms = 0.2, eps = 1.0e-7, coefficients = [[3.5, -4.5, 2.0]], adamw_include = [], spreads = true>>

module attributes {mf.mesh = #mf.mesh<pp = 1, dp = 2>} {

// The embedding and the norm are AdamW's. The whole matrix is gathered in bf16 and made orthogonal. Of the result a rank takes the step that
// its part asks for.
// CHECK-LABEL: mf.model @matrices_become_orthogonal
// CHECK: %[[OVERFLOW:.*]] = mf.non_finite
// CHECK: mf.adamw @embedding.weight,
// CHECK-NEXT: mf.adamw @gamma,
// CHECK-NEXT: %[[PART:.*]] = mf.momentum @w, %[[OVERFLOW]] {momentum = {{.*}}, nesterov = true} : tensor<f32> -> tensor<8x8xbf16>
// CHECK-NEXT: %[[WHOLE:.*]] = mf.all_gather %[[PART]] over ["dp"] replicated : tensor<8x8xbf16> -> tensor<16x8xbf16>
// CHECK-NEXT: %[[MATRIX:.*]] = mf.reshape %[[WHOLE]] : (tensor<16x8xbf16>) -> tensor<1x16x8xbf16>
// CHECK-NEXT: %[[NEXT:.*]] = mf.newton_schulz %[[MATRIX]] {coefficients = array<f64: 3.500000e+00, -4.500000e+00, 2.000000e+00>, eps = 9.9999999999999995E-8 : f64} : (tensor<1x16x8xbf16>) -> tensor<1x16x8xbf16>
// CHECK-NEXT: %[[FLAT:.*]] = mf.reshape %[[NEXT]]
// CHECK-NEXT: %[[OWN:.*]] = mf.own_part %[[FLAT]] over ["dp"] : tensor<16x8xbf16> -> tensor<8x8xbf16>
// CHECK-NEXT: mf.take_step @w, %[[OWN]], {{.*}} {scale = 8.000000e-01 : f64, weight_decay = 1.000000e-01 : f64}
mf.model @matrices_become_orthogonal attributes {
    micro_batch_size = 1 : i64, sequence_length = 8 : i64, vocab_size = 16 : i64,
    training = #mf.training<parallel = <stages = 1, interleave = 1, micro_batches = 1, offset = 0>,
      optimizer = #muon, lr_schedule = #constant, loss_scale = 1.0, max_device_memory = 0>} {
  mf.param @embedding.weight : tensor<16x8xf32> init <ones>
  mf.param @gamma : tensor<8xf32> init <ones>
  mf.param @w : tensor<16x8xf32> init <ones> layout <[[], []], reduced = [dp]> stored <[[dp], []]>
  mf.backward @chunk0.backward (%g0: tensor<16x8xf32>, %g1: tensor<8xf32>, %g2: tensor<8x8xf32>) -> (tensor<16x8xf32>, tensor<8xf32>, tensor<8x8xf32>)
      attributes {placement = #mf.placement<stage = 0, chunk = 0>, forward_arguments = [], gradients = [@embedding.weight, @gamma, @w]} {
    mf.return %g0, %g1, %g2 : tensor<16x8xf32>, tensor<8xf32>, tensor<8x8xf32>
  }
}

// The same parts of all periods are one matrix: gates and up projections in turns, two parts of each head, columns of experts. The step of each matrix
// is as long as its own larger dimension asks for. What stands behind the periods are matrices too.
// CHECK-LABEL: mf.model @parts_are_matrices_of_their_own
// CHECK: mf.momentum @fc1
// CHECK-NEXT: mf.reshape %{{.*}} : (tensor<16x8xbf16>) -> tensor<1x16x8xbf16>
// CHECK-NEXT: mf.reshape %{{.*}} : (tensor<1x16x8xbf16>) -> tensor<1x8x2x8xbf16>
// CHECK-NEXT: mf.split %{{.*}} {axis = 2 : i64} : (tensor<1x8x2x8xbf16>) -> (tensor<1x8x1x8xbf16>, tensor<1x8x1x8xbf16>)
// CHECK-NEXT: mf.reshape %{{.*}} : (tensor<1x8x1x8xbf16>) -> tensor<1x8x8xbf16>
// CHECK: mf.concat {{.*}} {axis = 2 : i64} : (tensor<1x8x1x8xbf16>, tensor<1x8x1x8xbf16>) -> tensor<1x8x2x8xbf16>
// CHECK: mf.take_step @fc1
// CHECK-NEXT: mf.momentum @qb
// CHECK: mf.split %{{.*}} {axis = 2 : i64} : (tensor<1x2x8x4xbf16>) -> (tensor<1x2x6x4xbf16>, tensor<1x2x2x4xbf16>)
// CHECK-NEXT: mf.reshape %{{.*}} : (tensor<1x2x6x4xbf16>) -> tensor<1x12x4xbf16>
// CHECK-NEXT: mf.reshape %{{.*}} : (tensor<1x2x2x4xbf16>) -> tensor<1x4x4xbf16>
// CHECK: mf.newton_schulz {{.*}} -> tensor<1x12x4xbf16>
// CHECK: mf.scale %{{.*}} {value = 0.692820{{[0-9]*}} : f64} : (tensor<1x12x4xf32>) -> tensor<1x12x4xf32>
// CHECK: mf.newton_schulz {{.*}} -> tensor<1x4x4xbf16>
// CHECK: mf.scale %{{.*}} {value = 4.000000e-01 : f64} : (tensor<1x4x4xf32>) -> tensor<1x4x4xf32>
// CHECK: mf.concat {{.*}} -> tensor<1x2x8x4xf32>
// CHECK: mf.take_step @qb, {{.*}} {scale = 1.000000e+00 : f64
// CHECK-NEXT: mf.momentum @experts
// CHECK: mf.split %{{.*}} {axis = 3 : i64} : (tensor<3x8x1x4xbf16>) -> (tensor<3x8x1x2xbf16>, tensor<3x8x1x2xbf16>)
// CHECK: mf.take_step @experts
// CHECK-NEXT: mf.momentum @qkv
// CHECK: mf.split %{{.*}} {axis = 1 : i64} : (tensor<1x16x4xbf16>) -> (tensor<1x12x4xbf16>, tensor<1x4x4xbf16>)
// CHECK: mf.split %{{.*}} {axis = 2 : i64} : (tensor<1x3x4x4xbf16>) -> (tensor<1x3x3x4xbf16>, tensor<1x3x1x4xbf16>)
// CHECK: mf.concat {{.*}} {axis = 1 : i64} : (tensor<1x12x4xf32>, tensor<1x4x4xf32>) -> tensor<1x16x4xf32>
mf.model @parts_are_matrices_of_their_own attributes {
    micro_batch_size = 1 : i64, sequence_length = 8 : i64, vocab_size = 16 : i64,
    training = #mf.training<parallel = <stages = 1, interleave = 1, micro_batches = 1, offset = 0>,
      optimizer = #muon, lr_schedule = #constant, loss_scale = 1.0, max_device_memory = 0>} {
  mf.param @fc1 : tensor<16x8xf32> init <ones> {matrices = #mf.matrices<dim = 0, sizes = [1, 1]>}
  mf.param @qb : tensor<16x4xf32> init <ones> {matrices = #mf.matrices<dim = 0, sizes = [6, 2]>}
  mf.param @experts : tensor<3x8x4xf32> init <ones> {matrices = #mf.matrices<dim = 1, sizes = [2, 2]>}
  mf.param @qkv : tensor<16x4xf32> init <ones> {matrices = #mf.matrices<dim = 0, sizes = [3, 1], rest = [4]>}
  mf.backward @chunk0.backward (%g0: tensor<16x8xf32>, %g1: tensor<16x4xf32>, %g2: tensor<3x8x4xf32>, %g3: tensor<16x4xf32>)
      -> (tensor<16x8xf32>, tensor<16x4xf32>, tensor<3x8x4xf32>, tensor<16x4xf32>)
      attributes {placement = #mf.placement<stage = 0, chunk = 0>, forward_arguments = [], gradients = [@fc1, @qb, @experts, @qkv]} {
    mf.return %g0, %g1, %g2, %g3 : tensor<16x8xf32>, tensor<16x4xf32>, tensor<3x8x4xf32>, tensor<16x4xf32>
  }
}

// Of two matrices each rank works on one. The third stands alone: all work on it.
// CHECK-LABEL: mf.model @each_matrix_has_an_owner
// CHECK: %[[FIRST:.*]] = mf.momentum @first
// CHECK: %[[SECOND:.*]] = mf.momentum @second
// CHECK: %[[STACK:.*]] = mf.concat {{.*}} {axis = 0 : i64} : (tensor<1x4x8xbf16>, tensor<1x4x8xbf16>) -> tensor<2x4x8xbf16>
// CHECK-NEXT: mf.all_to_all %[[STACK]] over ["dp"] split 0 concat 1 : tensor<2x4x8xbf16> -> tensor<1x8x8xbf16>
// CHECK: mf.newton_schulz {{.*}} -> tensor<1x8x8xbf16>
// CHECK: mf.all_to_all %{{.*}} over ["dp"] split 1 concat 0 : tensor<1x8x8xbf16> -> tensor<2x4x8xbf16>
// CHECK: mf.take_step @first
// CHECK: mf.take_step @second
// CHECK: mf.momentum @third
// CHECK-NEXT: mf.all_gather
// REMARK: Function=matrices_become_orthogonal | {{.*}}matrices by Muon=1, parameters=3
mf.model @each_matrix_has_an_owner attributes {
    micro_batch_size = 1 : i64, sequence_length = 8 : i64, vocab_size = 16 : i64,
    training = #mf.training<parallel = <stages = 1, interleave = 1, micro_batches = 1, offset = 0>,
      optimizer = #spread, lr_schedule = #constant, loss_scale = 1.0, max_device_memory = 0>} {
  mf.param @first : tensor<8x8xf32> init <ones> layout <[[], []], reduced = [dp]> stored <[[dp], []]>
  mf.param @second : tensor<8x8xf32> init <ones> layout <[[], []], reduced = [dp]> stored <[[dp], []]>
  mf.param @third : tensor<8x8xf32> init <ones> layout <[[], []], reduced = [dp]> stored <[[dp], []]>
  mf.backward @chunk0.backward (%g0: tensor<4x8xf32>, %g1: tensor<4x8xf32>, %g2: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>)
      attributes {placement = #mf.placement<stage = 0, chunk = 0>, forward_arguments = [], gradients = [@first, @second, @third]} {
    mf.return %g0, %g1, %g2 : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>
  }
}

}
