// What crosses the cut becomes a residual; what costs nothing to make again does not.
// RUN: %roundtrip --pass-pipeline='builtin.module(mf.model(mf-build-backward,mf-split-chunks))' %s | FileCheck %s

// Residuals come behind the output, in forward's order; backward takes the output's gradient, then arguments of forward
// that it reads again, then the residuals.
// CHECK-LABEL: mf.model @what_backward_reads_becomes_a_residual
mf.model @what_backward_reads_becomes_a_residual attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  mf.param @gamma : tensor<8xf32> init <ones>
  // CHECK: mf.forward @chunk0.forward (%[[X:.*]]: tensor<4x8xf32>, %{{.*}}: tensor<4xi32>) -> (tensor<4x8xf32>, tensor<4xf32>, tensor<4x8xf32>) attributes {input_indices = [1], inputs = [#mf<input_kind labels>], placement = #mf.placement<stage = 1, chunk = 0>}
  // CHECK: %{{.*}}, %[[RSTD:.*]] = mf.rms_norm %[[X]]
  // CHECK: %[[SOFTMAX:.*]] = mf.softmax
  // CHECK: mf.return %[[SOFTMAX]], %[[RSTD]], %[[SOFTMAX]]
  // CHECK: mf.backward @chunk0.backward (%[[DY:.*]]: tensor<4x8xf32>, %[[X:.*]]: tensor<4x8xf32>, %[[RSTD:.*]]: tensor<4xf32>, %[[SOFTMAX:.*]]: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<8xf32>) attributes {forward_arguments = [0], gradients = [@gamma], placement = #mf.placement<stage = 1, chunk = 0>}
  // CHECK-NEXT: %[[DNORM:.*]] = mf.softmax_grad %[[DY]], %[[SOFTMAX]]
  // CHECK-NEXT: %[[GAMMA:.*]] = mf.get_param @gamma
  // CHECK-NEXT: mf.rms_norm_grad %[[DNORM]], %[[X]], %[[RSTD]], %[[GAMMA]]
  mf.layer @layers.0 head (%x: tensor<4x8xf32>, %labels: tensor<4xi32>) -> tensor<4x8xf32> attributes {placement = #mf.placement<stage = 1, chunk = 0>} {
    %gamma = mf.get_param @gamma : tensor<8xf32>
    %norm, %rstd = mf.rms_norm %x, %gamma {epsilon = 1.0e-5 : f64} : (tensor<4x8xf32>, tensor<8xf32>) -> (tensor<4x8xf32>, tensor<4xf32>)
    %y = mf.softmax %norm : (tensor<4x8xf32>) -> tensor<4x8xf32>
    mf.return %y : tensor<4x8xf32>
  }
}

// A view of what is kept is made again, and what it views is kept once.
// CHECK-LABEL: mf.model @views_are_made_again
mf.model @views_are_made_again attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  // CHECK: mf.forward @chunk0.forward (%{{.*}}: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  // CHECK: mf.backward @chunk0.backward (%[[DY:.*]]: tensor<4xf32>, %[[A:.*]]: tensor<4xf32>) -> tensor<4xf32>
  // CHECK-NEXT: mf.silu_grad %[[DY]], %[[A]]
  // CHECK-NEXT: mf.reshape %[[DY]]
  // CHECK-NEXT: %[[VIEW:.*]] = mf.reshape %[[A]] {name = "layers.0.reshape"}
  // CHECK-NEXT: mf.silu_grad %{{.*}}, %[[VIEW]]
  mf.layer @layers.0 body (%x: tensor<4xf32>) -> tensor<4xf32> attributes {placement = #mf.placement<stage = 0, chunk = 0>} {
    %a = mf.neg %x : (tensor<4xf32>) -> tensor<4xf32>
    %view = mf.reshape %a {name = "reshape"} : (tensor<4xf32>) -> tensor<2x2xf32>
    %b = mf.silu %view : (tensor<2x2xf32>) -> tensor<2x2xf32>
    %r = mf.reshape %b : (tensor<2x2xf32>) -> tensor<4xf32>
    %c = mf.silu %a : (tensor<4xf32>) -> tensor<4xf32>
    %y = mf.add %r, %c : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    mf.return %y : tensor<4xf32>
  }
}

// What is made of parameters alone is made again: a weight and its cast need no room from forward to backward.
// CHECK-LABEL: mf.model @casts_of_weights_are_made_again
mf.model @casts_of_weights_are_made_again attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  mf.param @w : tensor<8x8xf32> init <ones>
  // Only forward's argument crosses.
  // CHECK: mf.forward @chunk0.forward (%{{.*}}: tensor<4x8xbf16>) -> tensor<4x8xbf16>
  // CHECK: mf.backward @chunk0.backward (%[[DY:.*]]: tensor<4x8xbf16>, %[[X:.*]]: tensor<4x8xbf16>) ->
  // CHECK-NEXT: %[[W:.*]] = mf.get_param @w
  // CHECK-NEXT: %[[NARROW:.*]] = mf.cast %[[W]]
  // CHECK-NEXT: mf.matmul %[[DY]], %[[NARROW]]
  // CHECK-NEXT: mf.matmul %[[DY]], %[[X]]
  mf.layer @layers.0 body (%x: tensor<4x8xbf16>) -> tensor<4x8xbf16> attributes {placement = #mf.placement<stage = 0, chunk = 0>} {
    %w = mf.get_param @w : tensor<8x8xf32>
    %narrow = mf.cast %w : (tensor<8x8xf32>) -> tensor<8x8xbf16>
    %y = mf.matmul %x, %narrow {transpose_b = true} : (tensor<4x8xbf16>, tensor<8x8xbf16>) -> tensor<4x8xbf16>
    mf.return %y : tensor<4x8xbf16>
  }
}

// Marks that nobody has used yet do not survive; the order of chunks does.
// CHECK-LABEL: mf.model @chunks_keep_their_order
mf.model @chunks_keep_their_order attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  // CHECK: mf.forward @chunk0.forward
  // CHECK-NOT: recompute
  // CHECK: mf.backward @chunk0.backward
  // CHECK: mf.forward @chunk1.forward
  // CHECK: mf.backward @chunk1.backward
  // CHECK-NOT: mf.chunk
  mf.chunk @chunk0 (%x: tensor<4xf32>) -> tensor<4xf32>
      attributes {placement = #mf.placement<stage = 0, chunk = 0>, inputs = [], input_indices = [], gradients = []} {
    %y = mf.neg %x {recompute = #mf.recompute<full>} : (tensor<4xf32>) -> tensor<4xf32>
    %dy = mf.cut %y : tensor<4xf32>
    mf.return %dy : tensor<4xf32>
  }
  mf.chunk @chunk1 (%x: tensor<4xf32>) -> tensor<4xf32>
      attributes {placement = #mf.placement<stage = 1, chunk = 0>, inputs = [], input_indices = [], gradients = []} {
    %dy = mf.cut %x : tensor<4xf32>
    mf.return %dy : tensor<4xf32>
  }
}

// RUN: %roundtrip --pass-pipeline='builtin.module(mf.model(mf-build-backward,mf-split-chunks))' --remarks-filter-analyse=residuals %s -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// 4 and 4x8 elements of fp32.
// REMARK: [[#@LINE-71]]:3: remark: [Analysis] Residuals | Category:residuals | Function=chunk0 | Remark="kept from forward to backward", bytes=144, values=2

// A chunk that begins with its cut has a forward that returns its input.
// CHECK-LABEL: mf.model @nothing_before_the_cut
mf.model @nothing_before_the_cut attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  // CHECK: mf.forward @chunk0.forward (%[[X:.*]]: tensor<4xf32>) -> tensor<4xf32>
  // CHECK-NEXT: mf.return %[[X]] : tensor<4xf32>
  // CHECK: mf.backward @chunk0.backward (%[[DY:.*]]: tensor<4xf32>) -> tensor<4xf32>
  // CHECK-NEXT: mf.return %[[DY]] : tensor<4xf32>
  mf.chunk @chunk0 (%x: tensor<4xf32>) -> tensor<4xf32>
      attributes {placement = #mf.placement<stage = 0, chunk = 0>, inputs = [], input_indices = [], gradients = []} {
    %dy = mf.cut %x : tensor<4xf32>
    mf.return %dy : tensor<4xf32>
  }
}
