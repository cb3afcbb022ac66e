// RUN: %variants %S/../Inputs/training.mlir %s > %t.mlir
// RUN: %roundtrip --pass-pipeline='builtin.module(mf.model(mf-insert-optimizer))' -split-input-file %t.mlir | FileCheck %s

#adam_weight_decay = #mf.optimizer<type = "AdamWeightDecay", beta1 = 0.8, beta2 = 0.99, eps = 1.0e-6, weight_decay = 0.01, bias_correction = false>
#pma = #mf.optimizer<type = "PmaAdamW", beta1 = 0.9, beta2 = 0.95, eps = 1.0e-6, weight_decay = 0.1, bias_correction = true, average = <interval = 1000, fused = 10, share = 0.2, sums = false>>

// Without clipping the norm is still computed: it tells whether a gradient is not finite.
// CHECK-LABEL: mf.model @a_stage_updates_what_it_trains
mf.model @a_stage_updates_what_it_trains attributes {
    micro_batch_size = 1 : i64, sequence_length = 8 : i64, vocab_size = 16 : i64,
    training = #mf.training<parallel = <stages = 1, interleave = 1, micro_batches = 1, offset = 0>,
      optimizer = #adamw, lr_schedule = #constant, loss_scale = 1.0, max_device_memory = 0>} {
  mf.param @table : tensor<8x8xf32> init <ones> {frozen}
  mf.param @gamma : tensor<8xf32> init <ones>
  mf.param @w : tensor<8x8xf32> init <ones>
  mf.backward @chunk0.backward (%g0: tensor<8x8xf32>, %g1: tensor<8xf32>) -> (tensor<8x8xf32>, tensor<8xf32>)
      attributes {placement = #mf.placement<stage = 0, chunk = 0>, forward_arguments = [], gradients = [@w, @gamma]} {
    mf.return %g0, %g1 : tensor<8x8xf32>, tensor<8xf32>
  }
  // CHECK: mf.update @update0 (%[[LR:.*]]: tensor<f32>, %[[STEP:.*]]: tensor<f32>) attributes {stage = 0 : i64} {
  // Places in the vector of norms are those of the model's parameters, whatever order backward makes gradients in.
  // CHECK-NEXT: %[[NORMS:.*]] = mf.gradient_norms [@w, @gamma] at [1, 0] : tensor<2xf32>
  // CHECK-NEXT: %[[SQUARES:.*]] = mf.mul %[[NORMS]], %[[NORMS]]
  // CHECK-NEXT: %[[SUM:.*]] = mf.reduce_sum %[[SQUARES]] {axes = array<i64: 0>}
  // CHECK-NEXT: %[[NORM:.*]] = mf.sqrt %[[SUM]]
  // CHECK-NEXT: %[[OVERFLOW:.*]] = mf.non_finite %[[NORM]]
  // CHECK-NEXT: mf.report "overflow", %[[OVERFLOW]]
  // CHECK-NEXT: mf.adamw @w, %[[LR]], %[[STEP]], %[[OVERFLOW]] {beta1 = 9.000000e-01 : f64, beta2 = 0.94999999999999996 : f64, bias_correction = true, eps = 1.000000e-08 : f64, weight_decay = 1.000000e-01 : f64}
  // Vectors do not decay.
  // CHECK-NEXT: mf.adamw @gamma, {{.*}} weight_decay = 0.000000e+00 : f64}
  // Frozen tables are not touched.
  // CHECK-NEXT: mf.return
}

// min(1, max_norm / (max(norm, max_norm) + 1e-6)), as MindSpore Transformers' ClipGradNorm.
// CHECK-LABEL: mf.model @clipping_scales_all_gradients
// CHECK: %[[NORM:.*]] = mf.sqrt
// CHECK: mf.report "global_norm", %[[NORM]]
// CHECK-NEXT: %[[MAX:.*]] = mf.clamp_min %[[NORM]] {value = 5.000000e-01 : f64}
// CHECK-NEXT: %[[DIVISOR:.*]] = mf.add_scalar %[[MAX]] {value = 9.9999999999999995E-7 : f64}
// CHECK-NEXT: %[[INVERSE:.*]] = mf.reciprocal %[[DIVISOR]]
// CHECK-NEXT: %[[QUOTIENT:.*]] = mf.scale %[[INVERSE]] {value = 5.000000e-01 : f64}
// CHECK-NEXT: %[[FACTOR:.*]] = mf.clamp_max %[[QUOTIENT]] {value = 1.000000e+00 : f64}
// CHECK-NEXT: mf.scale_gradients [@w] by %[[FACTOR]]
// CHECK-NEXT: mf.adamw @w
= mf.model @clipping_scales_all_gradients attributes {
= optimizer = #adamw, lr_schedule = #constant, clipping = <max_norm = 0.5>, loss_scale = 1.0, max_device_memory = 0>} {
- mf.param @table
- mf.param @gamma
= mf.backward @chunk0.backward (%g0: tensor<8x8xf32>) -> (tensor<8x8xf32>)
= attributes {placement = #mf.placement<stage = 0, chunk = 0>, forward_arguments = [], gradients = [@w]} {
= mf.return %g0 : tensor<8x8xf32>

// Gradients are divided by the loss scale before their norm is taken.
// CHECK-LABEL: mf.model @loss_scale_is_taken_out_first
// CHECK: mf.update @update0 (%{{.*}}: tensor<f32>, %{{.*}}: tensor<f32>, %[[SCALE:.*]]: tensor<f32>)
// CHECK-NEXT: %[[INVERSE:.*]] = mf.reciprocal %[[SCALE]]
// CHECK-NEXT: mf.scale_gradients [@w] by %[[INVERSE]]
// CHECK-NEXT: mf.gradient_norms [@w]
// MindSpore's AdamWeightDecay corrects no bias.
// CHECK: mf.adamw @w, {{.*}} {beta1 = 8.000000e-01 : f64, beta2 = 0.98999999999999999 : f64, bias_correction = false, eps = 9.9999999999999995E-7 : f64, weight_decay = 1.000000e-02 : f64}
^
= mf.model @loss_scale_is_taken_out_first attributes {
= optimizer = #adam_weight_decay, lr_schedule = #constant, loss_scale = 1024.0, max_device_memory = 0>} {

// Two stages: each makes the norms of its own gradients at their places, and the sum over stages has all of them.
// CHECK-LABEL: mf.model @stages_share_one_global_norm
// CHECK: mf.update @update0 {{.*}} attributes {stage = 0 : i64}
// CHECK-NEXT: %[[OWN:.*]] = mf.gradient_norms [@first] at [0] : tensor<2xf32>
// CHECK-NEXT: %[[SQUARES:.*]] = mf.mul %[[OWN]], %[[OWN]]
// CHECK-NEXT: mf.all_reduce %[[SQUARES]] over ["pp"]
// The last stage reports.
// CHECK-NOT: mf.report
// CHECK: mf.scale_gradients [@first]
// CHECK-NEXT: mf.adamw @first
// CHECK-NEXT: mf.return
// CHECK: mf.update @update1 {{.*}} attributes {stage = 1 : i64}
// CHECK-NEXT: mf.gradient_norms [@second] at [1] : tensor<2xf32>
// CHECK: mf.report "overflow"
// CHECK-NEXT: mf.report "global_norm"
// CHECK: mf.adamw @second
^
= mf.model @stages_share_one_global_norm attributes {
= training = #mf.training<parallel = <stages = 2, interleave = 1, micro_batches = 2, offset = 0>,
= optimizer = #adamw, lr_schedule = #constant, clipping = <max_norm = 1.0>, loss_scale = 1.0, max_device_memory = 0>} {
= mf.param @first : tensor<8x8xf32> init <ones>
+ mf.param @second : tensor<8x8xf32> init <ones>
= attributes {placement = #mf.placement<stage = 0, chunk = 0>, forward_arguments = [], gradients = [@first]} {
+ mf.return %g0 : tensor<8x8xf32>
+ }
+ mf.backward @chunk1.backward (%g0: tensor<8x8xf32>) -> (tensor<8x8xf32>)
+ attributes {placement = #mf.placement<stage = 1, chunk = 0>, forward_arguments = [], gradients = [@second]} {

// A tied parameter of the same stage is its owner: one gradient, one update.
// CHECK-LABEL: mf.model @tied_parameters_of_one_stage_are_one
mf.model @tied_parameters_of_one_stage_are_one attributes {
    micro_batch_size = 1 : i64, sequence_length = 8 : i64, vocab_size = 16 : i64,
    training = #mf.training<parallel = <stages = 1, interleave = 1, micro_batches = 1, offset = 0>,
      optimizer = #adamw, lr_schedule = #constant, loss_scale = 1.0, max_device_memory = 0>} {
  mf.param @embedding : tensor<8x8xf32> init <ones>
  mf.param @head : tensor<8x8xf32> init <ones> tied to @embedding
  mf.backward @chunk0.backward (%g0: tensor<8x8xf32>, %g1: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>)
      attributes {placement = #mf.placement<stage = 0, chunk = 0>, forward_arguments = [], gradients = [@embedding, @head]} {
    mf.return %g0, %g1 : tensor<8x8xf32>, tensor<8x8xf32>
  }
  // CHECK: mf.update @update0
  // CHECK-NEXT: mf.reduce_tied @embedding, [@head] stages [0, 0]
  // Its gradient counts once for the norm.
  // CHECK-NEXT: mf.gradient_norms [@embedding] at [0] : tensor<1xf32>
  // CHECK: mf.adamw @embedding
  // CHECK-NEXT: mf.return
}

// On two stages both copies get the sum of both gradients and make the same step.
// CHECK-LABEL: mf.model @tied_parameters_of_two_stages_stay_equal
// CHECK: mf.update @update0
// CHECK-NEXT: mf.reduce_tied @embedding, [@head] stages [0, 1]
// CHECK-NEXT: mf.gradient_norms [@embedding] at [0] : tensor<2xf32>
// CHECK: mf.scale_gradients [@embedding]
// CHECK-NEXT: mf.adamw @embedding
// CHECK: mf.update @update1
// CHECK-NEXT: mf.reduce_tied @embedding, [@head] stages [0, 1]
// CHECK-NEXT: mf.gradient_norms [@gamma] at [1] : tensor<2xf32>
// CHECK: mf.scale_gradients [@gamma, @head]
// CHECK-NEXT: mf.adamw @gamma
// CHECK-NEXT: mf.adamw @head
^
= mf.model @tied_parameters_of_two_stages_stay_equal attributes {
= training = #mf.training<parallel = <stages = 2, interleave = 1, micro_batches = 2, offset = 0>,
= optimizer = #adamw, lr_schedule = #constant, clipping = <max_norm = 1.0>, loss_scale = 1.0, max_device_memory = 0>} {
@ mf.param @embedding
+ mf.param @gamma : tensor<8xf32> init <ones>
= mf.backward @chunk0.backward (%g0: tensor<8x8xf32>) -> (tensor<8x8xf32>)
= attributes {placement = #mf.placement<stage = 0, chunk = 0>, forward_arguments = [], gradients = [@embedding]} {
= mf.return %g0 : tensor<8x8xf32>
+ }
+ mf.backward @chunk1.backward (%g0: tensor<8xf32>, %g1: tensor<8x8xf32>) -> (tensor<8xf32>, tensor<8x8xf32>)
+ attributes {placement = #mf.placement<stage = 1, chunk = 0>, forward_arguments = [], gradients = [@gamma, @head]} {
+ mf.return %g0, %g1 : tensor<8xf32>, tensor<8x8xf32>

// Every stage that holds the owner or a copy takes part in one reduction; a copy beside its owner is the owner.
// CHECK-LABEL: mf.model @tied_parameters_of_three_stages_stay_equal
mf.model @tied_parameters_of_three_stages_stay_equal attributes {
    micro_batch_size = 1 : i64, sequence_length = 8 : i64, vocab_size = 16 : i64,
    training = #mf.training<parallel = <stages = 4, interleave = 1, micro_batches = 4, offset = 0>,
      optimizer = #adamw, lr_schedule = #constant, clipping = <max_norm = 1.0>, loss_scale = 1.0, max_device_memory = 0>} {
  mf.param @copy : tensor<8x8xf32> init <ones> tied to @embedding
  mf.param @embedding : tensor<8x8xf32> init <ones>
  mf.param @first : tensor<8x8xf32> init <ones> tied to @embedding
  mf.param @second : tensor<8x8xf32> init <ones> tied to @embedding
  mf.param @gamma : tensor<8xf32> init <ones>
  mf.param @beta : tensor<8xf32> init <ones> tied to @gamma
  mf.param @head : tensor<8x8xf32> init <ones> tied to @embedding
  mf.backward @chunk0.backward (%g0: tensor<8x8xf32>, %g1: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>)
      attributes {placement = #mf.placement<stage = 0, chunk = 0>, forward_arguments = [], gradients = [@embedding, @copy]} {
    mf.return %g0, %g1 : tensor<8x8xf32>, tensor<8x8xf32>
  }
  mf.backward @chunk1.backward (%g0: tensor<8x8xf32>, %g1: tensor<8x8xf32>, %g2: tensor<8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8xf32>)
      attributes {placement = #mf.placement<stage = 1, chunk = 0>, forward_arguments = [], gradients = [@second, @first, @beta]} {
    mf.return %g0, %g1, %g2 : tensor<8x8xf32>, tensor<8x8xf32>, tensor<8xf32>
  }
  mf.backward @chunk2.backward (%g0: tensor<8xf32>) -> tensor<8xf32>
      attributes {placement = #mf.placement<stage = 2, chunk = 0>, forward_arguments = [], gradients = [@gamma]} {
    mf.return %g0 : tensor<8xf32>
  }
  mf.backward @chunk3.backward (%g0: tensor<8x8xf32>) -> tensor<8x8xf32>
      attributes {placement = #mf.placement<stage = 3, chunk = 0>, forward_arguments = [], gradients = [@head]} {
    mf.return %g0 : tensor<8x8xf32>
  }
  // CHECK: mf.update @update0
  // CHECK-NEXT: mf.reduce_tied @embedding, [@copy, @first, @second, @head] stages [0, 0, 1, 1, 3]
  // CHECK-NEXT: mf.gradient_norms [@embedding] at [0] : tensor<2xf32>
  // CHECK: mf.update @update1
  // CHECK-NEXT: mf.reduce_tied @embedding, [@copy, @first, @second, @head] stages [0, 0, 1, 1, 3]
  // CHECK-NEXT: mf.reduce_tied @gamma, [@beta] stages [2, 1]
  // CHECK-NEXT: mf.gradient_norms [] at []
  // CHECK: mf.scale_gradients [@second, @first, @beta]
  // CHECK-NEXT: mf.adamw @second
  // CHECK-NEXT: mf.adamw @first
  // CHECK-NEXT: mf.adamw @beta
  // CHECK: mf.update @update2
  // CHECK-NEXT: mf.reduce_tied @gamma, [@beta] stages [2, 1]
  // CHECK-NEXT: mf.gradient_norms [@gamma] at [1]
  // CHECK: mf.update @update3
  // CHECK-NEXT: mf.reduce_tied @embedding, [@copy, @first, @second, @head] stages [0, 0, 1, 1, 3]
  // CHECK-NEXT: mf.gradient_norms [] at []
}

// A stage that trains nothing takes part in the norm all the same.
// CHECK-LABEL: mf.model @a_stage_without_parameters
// CHECK: mf.update @update1
// CHECK-NEXT: %[[NORMS:.*]] = mf.gradient_norms [] at [] : tensor<1xf32>
// CHECK-NEXT: %[[SQUARES:.*]] = mf.mul %[[NORMS]], %[[NORMS]]
// CHECK-NEXT: mf.all_reduce %[[SQUARES]]
// CHECK-NOT: mf.adamw
= mf.model @a_stage_without_parameters attributes {
= training = #mf.training<parallel = <stages = 2, interleave = 1, micro_batches = 2, offset = 0>,
- mf.param @table
- mf.param @gamma
= mf.backward @chunk0.backward (%g0: tensor<8x8xf32>) -> (tensor<8x8xf32>)
= attributes {placement = #mf.placement<stage = 0, chunk = 0>, forward_arguments = [], gradients = [@w]} {
= mf.return %g0 : tensor<8x8xf32>

// Statistics of experts take no part in norm, clipping and AdamW. The bias
// follows the load; the shares of choices are kept, and what of them is above
// the threshold of the callback, or had no room, is reported by row.
// CHECK-LABEL: mf.model @statistics_of_experts
// CHECK: mf.update @update0
// CHECK: mf.scale_gradients [@layers.1.w]
// CHECK-NEXT: mf.gradient_norms [@layers.1.w] at [0] : tensor<1xf32>
// CHECK: mf.scale_gradients [@layers.1.w]
// CHECK-NEXT: mf.adamw @layers.1.w
// CHECK-NEXT: mf.balance_experts @layers.1.bias rate 1.000000e-03 target 2.500000e-01
// CHECK-NEXT: %[[SHARE:.*]] = mf.record_statistic @layers.1.share : tensor<2x8xf32>
// CHECK-NEXT: %[[ABOVE:.*]] = mf.add_scalar %[[SHARE]] {value = -2.000000e-01 : f64}
// CHECK-NEXT: %[[CUT:.*]] = mf.clamp_min %[[ABOVE]] {value = 0.000000e+00 : f64}
// CHECK-NEXT: %[[RATE:.*]] = mf.reduce_sum %[[CUT]] {axes = array<i64: 1>} : (tensor<2x8xf32>) -> tensor<2xf32>
// CHECK-NEXT: mf.report "drop_rate.layers.1.share", %[[RATE]] : tensor<2xf32>
// CHECK-NEXT: mf.add_scalar %[[SHARE]] {value = -2.500000e-01 : f64}
// CHECK: mf.report "dropped.layers.1.share"
// CHECK-NEXT: mf.record_statistic @layers.2.share
// CHECK-NEXT: mf.return
^
= mf.model @statistics_of_experts attributes {
= training = #mf.training<parallel = <stages = 1, interleave = 1, micro_batches = 2, offset = 0>,
= optimizer = #adamw, lr_schedule = #constant, clipping = <max_norm = 1.0>, loss_scale = 2.0, max_device_memory = 0,
+ expert_balance = <rate = 1.0e-3, target = 0.25>, drop_rate = <threshold = 0.2, layers = 2>>} {
= mf.param @layers.1.w : tensor<8x8xf32> init <ones>
+ mf.param @layers.1.bias : tensor<8xf32> init <zeros> {update_rule = #mf.update_rule<balance>}
+ mf.param @layers.1.share : tensor<2x8xf32> init <zeros> {capacity_share = 0.25, update_rule = #mf.update_rule<record>}
+ mf.param @layers.2.share : tensor<2x8xf32> init <zeros> {capacity_share = 0.25, update_rule = #mf.update_rule<record>}
= mf.backward @chunk0.backward (%g0: tensor<8x8xf32>, %g1: tensor<8xf32>, %g2: tensor<2x8xf32>) -> (tensor<8x8xf32>, tensor<8xf32>, tensor<2x8xf32>, tensor<2x8xf32>)
= attributes {placement = #mf.placement<stage = 0, chunk = 0>, forward_arguments = [], gradients = [@layers.1.w, @layers.1.bias, @layers.1.share, @layers.2.share]} {
= mf.return %g0, %g1, %g2, %g2 : tensor<8x8xf32>, tensor<8xf32>, tensor<2x8xf32>, tensor<2x8xf32>

// PmaAdamW averages each parameter behind its step.
// CHECK-LABEL: mf.model @parameters_have_averages
mf.model @parameters_have_averages attributes {
    micro_batch_size = 1 : i64, sequence_length = 8 : i64, vocab_size = 16 : i64,
    training = #mf.training<parallel = <stages = 1, interleave = 1, micro_batches = 1, offset = 0>,
      optimizer = #pma, lr_schedule = #constant, loss_scale = 1.0, max_device_memory = 0>} {
  mf.param @w : tensor<8x8xf32> init <ones>
  mf.param @gamma : tensor<8xf32> init <ones>
  mf.backward @chunk0.backward (%g0: tensor<8x8xf32>, %g1: tensor<8xf32>) -> (tensor<8x8xf32>, tensor<8xf32>)
      attributes {placement = #mf.placement<stage = 0, chunk = 0>, forward_arguments = [], gradients = [@w, @gamma]} {
    mf.return %g0, %g1 : tensor<8x8xf32>, tensor<8xf32>
  }
  // CHECK: mf.update @update0 (%[[LR:.*]]: tensor<f32>, %[[STEP:.*]]: tensor<f32>)
  // CHECK: %[[OVERFLOW:.*]] = mf.non_finite
  // CHECK: mf.adamw @w,
  // CHECK-NEXT: mf.average_weight @w, %[[STEP]], %[[OVERFLOW]] <interval = 1000, fused = 10, share = 2.000000e-01> : tensor<f32>, tensor<f32>
  // CHECK-NEXT: mf.adamw @gamma,
  // CHECK-NEXT: mf.average_weight @gamma, %[[STEP]], %[[OVERFLOW]]
}

// Remarks say what each stage updates.
// RUN: %roundtrip --pass-pipeline='builtin.module(mf.model(mf-insert-optimizer))' --remarks-filter-passed=optimizer -split-input-file %t.mlir -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// REMARK: [Passed] Update | Category:optimizer | Function=a_stage_updates_what_it_trains | Remark="stage 0 updates its parameters", elements=72, gradients reduced over ranks=0, parameters=2, reductions of tied gradients=0, without decay=1
// REMARK: Function=tied_parameters_of_three_stages_stay_equal | Remark="stage 1 updates its parameters", elements=136, gradients reduced over ranks=0, parameters=3, reductions of tied gradients=2, without decay=1
