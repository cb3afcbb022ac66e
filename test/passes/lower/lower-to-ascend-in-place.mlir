// One micro-batch: backward makes gradients in place, and nothing needs to be zero before.
// RUN: cat %S/../Inputs/training.mlir %s | %roundtrip --pass-pipeline='builtin.module(mf.model(mf-build-schedule),mf-lower-to-ascend)' | FileCheck %s

// CHECK-LABEL: ascend.routine @chunk0.backward
// CHECK-DAG: %[[W:.*]] = ascend.global @gradient.w
// CHECK-DAG: %[[V:.*]] = ascend.global @gradient.v
// CHECK-DAG: %[[SLOT:.*]] = ascend.slot 0
// CHECK: ascend.launch "aclnnEmbeddingDenseBackward"({{.*}}) -> (%[[W]])
// A gradient that is a residual's memory is copied: the residual stays where it is.
// CHECK: ascend.view %[[SLOT]] : <8x1xf32, hbm> to <8xf32, hbm>
// CHECK-NEXT: %[[VIEW:.*]] = ascend.view %[[SLOT]] : <8x1xf32, hbm> to <8xf32, hbm>
// CHECK-NEXT: ascend.launch "aclnnInplaceCopy"(%[[VIEW]]) -> (%[[V]])
// A kernel with a workspace takes an operand's memory for its result if nothing else reads the operand, also through views.
// CHECK-LABEL: ascend.routine @update
// CHECK: ascend.launch "mfMomentum"({{.*}}) -> (%{{.*}}, %[[ONCE:[0-9]+]])
// CHECK-NEXT: %[[MATRIX:.*]] = ascend.view %[[ONCE]] : <16x1xbf16, hbm> to <1x16x1xbf16, hbm>
// CHECK-NEXT: ascend.alloc : <{{.*}}xi32, hbm>
// CHECK-NEXT: ascend.launch "mfNewtonSchulz"(%[[MATRIX]]) -> (%[[MATRIX]]) workspace
// CHECK: ascend.launch "mfMomentum"({{.*}}) -> (%{{.*}}, %[[TWICE:[0-9]+]])
// CHECK-NEXT: %[[MATRIX:.*]] = ascend.view %[[TWICE]] : <16x1xbf16, hbm> to <1x16x1xbf16, hbm>
// CHECK-NEXT: %[[OTHER:.*]] = ascend.alloc : <1x16x1xbf16, hbm>
// CHECK-NEXT: ascend.alloc : <{{.*}}xi32, hbm>
// CHECK-NEXT: ascend.launch "mfNewtonSchulz"(%[[MATRIX]]) -> (%[[OTHER]]) workspace
// CHECK-LABEL: ascend.routine @begin
// CHECK: ascend.global @loss
// CHECK-NOT: @gradient

mf.model @one_micro_batch attributes {micro_batch_size = 1 : i64, sequence_length = 8 : i64, vocab_size = 16 : i64, training = #one_stage} {
  mf.param @w : tensor<16x1xf32> init <ones>
  mf.param @v : tensor<8xf32> init <ones>
  mf.forward @chunk0.forward (%tokens: tensor<8xi32>) -> (tensor<f32>, tensor<8x1xf32>)
      attributes {placement = #mf.placement<stage = 0, chunk = 0>, inputs = [#mf<input_kind tokens>], input_indices = [0]} {
    %w = mf.get_param @w : tensor<16x1xf32>
    %x = mf.embedding %w, %tokens {name = "gather"} : (tensor<16x1xf32>, tensor<8xi32>) -> tensor<8x1xf32>
    %y = mf.reduce_sum %x {name = "sum", axes = array<i64: 0, 1>} : (tensor<8x1xf32>) -> tensor<f32>
    mf.return %y, %x : tensor<f32>, tensor<8x1xf32>
  }
  mf.backward @chunk0.backward (%dy: tensor<f32>, %tokens: tensor<8xi32>, %x: tensor<8x1xf32>) -> (tensor<16x1xf32>, tensor<8xf32>)
      attributes {placement = #mf.placement<stage = 0, chunk = 0>, forward_arguments = [0], gradients = [@w, @v]} {
    %dx = mf.mul %x, %dy {name = "mul"} : (tensor<8x1xf32>, tensor<f32>) -> tensor<8x1xf32>
    %dw = mf.embedding_grad %dx, %tokens {name = "gather.grad"} : (tensor<8x1xf32>, tensor<8xi32>) -> tensor<16x1xf32>
    %dv = mf.reshape %x {name = "reshape"} : (tensor<8x1xf32>) -> tensor<8xf32>
    mf.return %dw, %dv : tensor<16x1xf32>, tensor<8xf32>
  }
  mf.update @update0 (%lr: tensor<f32>, %step: tensor<f32>) attributes {stage = 0 : i64} {
    %once = mf.momentum @w, %step {momentum = 0.5 : f64, nesterov = true} : tensor<f32> -> tensor<16x1xbf16>
    %a = mf.reshape %once : (tensor<16x1xbf16>) -> tensor<1x16x1xbf16>
    %x = mf.newton_schulz %a {coefficients = array<f64: 1.5, -0.5, 0.0>, eps = 0.125 : f64} : (tensor<1x16x1xbf16>) -> tensor<1x16x1xbf16>
    %u = mf.reshape %x : (tensor<1x16x1xbf16>) -> tensor<16x1xbf16>
    mf.take_step @w, %u, %lr, %step {scale = 0.5 : f64, weight_decay = 0.0 : f64} : tensor<16x1xbf16>, tensor<f32>, tensor<f32>
    %twice = mf.momentum @w, %step {momentum = 0.5 : f64, nesterov = true} : tensor<f32> -> tensor<16x1xbf16>
    %b = mf.reshape %twice : (tensor<16x1xbf16>) -> tensor<1x16x1xbf16>
    %y = mf.newton_schulz %b {coefficients = array<f64: 1.5, -0.5, 0.0>, eps = 0.125 : f64} : (tensor<1x16x1xbf16>) -> tensor<1x16x1xbf16>
    %z = mf.reshape %y : (tensor<1x16x1xbf16>) -> tensor<16x1xbf16>
    mf.take_step @w, %z, %lr, %step {scale = 0.5 : f64, weight_decay = 0.0 : f64} : tensor<16x1xbf16>, tensor<f32>, tensor<f32>
    mf.take_step @w, %twice, %lr, %step {scale = 0.5 : f64, weight_decay = 0.0 : f64} : tensor<16x1xbf16>, tensor<f32>, tensor<f32>
    mf.return
  }
}
