// RUN: %roundtrip --pass-pipeline='builtin.module(mf.model(mf-certify-update))' %s -o %t.right
// RUN: FileCheck %s < %t.right
// Multiplied where it is read, a gradient gives the same terms.
// RUN: %roundtrip --pass-pipeline='builtin.module(mf.model(mf-fold-gradient-scales,mf-certify-update))' %s | grep -o 'results = .*]]' > %t.folded
// RUN: grep -o 'results = .*]]' %t.right | diff - %t.folded
// Without its factor, it gives others.
// RUN: grep -v mf.scale_gradients %s | %roundtrip --pass-pipeline='builtin.module(mf.model(mf-certify-update))' | grep -o 'results = .*]]' > %t.unscaled
// RUN: grep -o 'results = .*]]' %t.right | not diff - %t.unscaled

// CHECK-LABEL: mf.model @leaves_parameters_and_moments
mf.model @leaves_parameters_and_moments attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  mf.param @w : tensor<8x8xf32> init <normal, value = 0.02>
  // CHECK: mf.update @update0
  // CHECK-SAME: mf.computes = {results = [
  // CHECK-SAME: ["first_moment.w", {{-?[0-9]+}}], ["host.report.global_norm", {{-?[0-9]+}}], ["second_moment.w", {{-?[0-9]+}}], ["w", {{-?[0-9]+}}]]}
  mf.update @update0 (%lr: tensor<f32>, %step: tensor<f32>) attributes {stage = 0 : i64} {
    %norms = mf.gradient_norms [@w] at [0] : tensor<1xf32>
    %norm = mf.reduce_sum %norms {axes = array<i64: 0>} : (tensor<1xf32>) -> tensor<f32>
    mf.report "global_norm", %norm : tensor<f32>
    %overflow = mf.non_finite %norm : tensor<f32> -> tensor<f32>
    mf.scale_gradients [@w] by %norm : tensor<f32>
    mf.adamw @w, %lr, %step, %overflow {beta1 = 0.9, beta2 = 0.95, bias_correction = true, eps = 1.0e-8, weight_decay = 0.1} : tensor<f32>, tensor<f32>, tensor<f32>
    mf.return
  }
}
