// RUN: %roundtrip --pass-pipeline='builtin.module(mf.model(mf-fold-gradient-scales))' --remarks-filter='optimizer' %s 2> %t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK --input-file=%t.remarks
// RUN: %roundtrip --pass-pipeline='builtin.module(mf.model(mf-fold-gradient-scales{print-plan=true}))' %s -o /dev/null 2>&1 | FileCheck %s --check-prefix=PLAN

// What the loss scale and clipping multiply gradients by is read by the norm and the updates, in the order of the products.
// CHECK-LABEL: mf.model @both
mf.model @both attributes {micro_batch_size = 1 : i64, sequence_length = 8 : i64, vocab_size = 16 : i64} {
  mf.param @w : tensor<8x8xbf16> init <ones>
  mf.param @gamma : tensor<8xf32> init <ones>
  // CHECK: mf.update @update0 (%[[LR:.*]]: tensor<f32>, %[[STEP:.*]]: tensor<f32>, %[[SCALE:.*]]: tensor<f32>)
  mf.update @update0 (%lr: tensor<f32>, %step: tensor<f32>, %scale: tensor<f32>) attributes {stage = 0 : i64} {
    // CHECK-NEXT: %[[INVERSE:.*]] = mf.reciprocal %[[SCALE]]
    %inverse = mf.reciprocal %scale : (tensor<f32>) -> tensor<f32>
    mf.scale_gradients [@w, @gamma] by %inverse : tensor<f32>
    // CHECK-NEXT: %[[NORMS:.*]] = mf.gradient_norms [@w, @gamma] at [0, 1] times %[[INVERSE]] : tensor<f32> : tensor<2xf32>
    %norms = mf.gradient_norms [@w, @gamma] at [0, 1] : tensor<2xf32>
    // CHECK-NEXT: %[[NORM:.*]] = mf.reduce_sum %[[NORMS]]
    %norm = mf.reduce_sum %norms {axes = array<i64: 0>} : (tensor<2xf32>) -> tensor<f32>
    // CHECK-NEXT: %[[OVERFLOW:.*]] = mf.non_finite %[[NORM]]
    %overflow = mf.non_finite %norm : tensor<f32> -> tensor<f32>
    // CHECK-NEXT: %[[FACTOR:.*]] = mf.clamp_max %[[NORM]]
    %factor = mf.clamp_max %norm {value = 1.0} : (tensor<f32>) -> tensor<f32>
    mf.scale_gradients [@w, @gamma] by %factor : tensor<f32>
    // CHECK-NEXT: mf.adamw @w, %[[LR]], %[[STEP]], %[[OVERFLOW]] times %[[INVERSE]], %[[FACTOR]] : tensor<f32>, tensor<f32> {
    mf.adamw @w, %lr, %step, %overflow {beta1 = 0.9, beta2 = 0.95, eps = 1.0e-8, weight_decay = 0.1, bias_correction = true} : tensor<f32>, tensor<f32>, tensor<f32>
    // CHECK-NEXT: mf.adamw @gamma, %[[LR]], %[[STEP]], %[[OVERFLOW]] times %[[INVERSE]], %[[FACTOR]] : tensor<f32>, tensor<f32> {
    mf.adamw @gamma, %lr, %step, %overflow {beta1 = 0.9, beta2 = 0.95, eps = 1.0e-8, weight_decay = 0.1, bias_correction = true} : tensor<f32>, tensor<f32>, tensor<f32>
    // CHECK-NEXT: mf.return
    mf.return
  }
}
// Each read and written twice: 2 x 2 x (128 + 32) bytes.
// REMARK: stage 0 multiplies gradients where they are read
// REMARK-SAME: bytes not moved=640, factors=2
// PLAN: mf.scale_gradients of 2 gradients: in 2 operators that read them
// PLAN-NEXT: mf.scale_gradients of 2 gradients: in 3 operators that read them

// What copies a gradient elsewhere needs the product in memory.
// CHECK-LABEL: mf.model @obstacle
mf.model @obstacle attributes {micro_batch_size = 1 : i64, sequence_length = 8 : i64, vocab_size = 16 : i64} {
  mf.param @load : tensor<8xf32> init <zeros> {update_rule = #mf.update_rule<record>}
  mf.update @update0 (%lr: tensor<f32>, %step: tensor<f32>) attributes {stage = 0 : i64} {
    // CHECK: mf.scale_gradients [@load]
    mf.scale_gradients [@load] by %lr : tensor<f32>
    // CHECK-NEXT: mf.record_statistic @load
    %value = mf.record_statistic @load : tensor<8xf32>
    mf.return
  }
}
// REMARK: stage 0 multiplies gradients in place: mf.record_statistic needs them so
// PLAN-NEXT: mf.scale_gradients of 1 gradients: in place, for mf.record_statistic

// A scale that stays keeps those in front of it: the factors would come in another order, and round differently.
// CHECK-LABEL: mf.model @order
mf.model @order attributes {micro_batch_size = 1 : i64, sequence_length = 8 : i64, vocab_size = 16 : i64} {
  mf.param @load : tensor<8xf32> init <zeros> {update_rule = #mf.update_rule<record>}
  mf.update @update0 (%lr: tensor<f32>, %step: tensor<f32>) attributes {stage = 0 : i64} {
    // CHECK: mf.scale_gradients [@load] by %[[LR:.*]] : tensor<f32>
    mf.scale_gradients [@load] by %lr : tensor<f32>
    // CHECK-NEXT: mf.scale_gradients [@load]
    mf.scale_gradients [@load] by %step : tensor<f32>
    %value = mf.record_statistic @load : tensor<8xf32>
    mf.return
  }
}
// PLAN-NEXT: mf.scale_gradients of 1 gradients: in place, for mf.record_statistic
// PLAN-NEXT: mf.scale_gradients of 1 gradients: in place, for mf.scale_gradients

// A norm in front reads the gradient without the factor; a norm behind that also reads what is not scaled needs the product.
// CHECK-LABEL: mf.model @some
mf.model @some attributes {micro_batch_size = 1 : i64, sequence_length = 8 : i64, vocab_size = 16 : i64} {
  mf.param @w : tensor<8x8xbf16> init <ones>
  mf.param @gamma : tensor<8xf32> init <ones>
  mf.update @update0 (%lr: tensor<f32>, %step: tensor<f32>, %scale: tensor<f32>) attributes {stage = 0 : i64} {
    // CHECK: mf.gradient_norms [@w, @gamma] at [0, 1] : tensor<2xf32>
    %norms = mf.gradient_norms [@w, @gamma] at [0, 1] : tensor<2xf32>
    // CHECK-NEXT: mf.scale_gradients [@w]
    mf.scale_gradients [@w] by %scale : tensor<f32>
    // CHECK-NEXT: mf.gradient_norms [@w, @gamma] at [0, 1] times %{{.*}} : tensor<f32> : tensor<2xf32>
    mf.scale_gradients [@w, @gamma] by %lr : tensor<f32>
    %both = mf.gradient_norms [@w, @gamma] at [0, 1] : tensor<2xf32>
    mf.return
  }
}
// PLAN-NEXT: mf.scale_gradients of 2 gradients: in 1 operators that read them
// PLAN-NEXT: mf.scale_gradients of 1 gradients: in place, for mf.gradient_norms
