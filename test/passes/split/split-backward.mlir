// Backward in two functions: what the stage before waits for, and what may wait.
// RUN: %roundtrip --pass-pipeline='builtin.module(mf.model(mf-build-backward,mf-split-chunks{split-backward=always}))' %s | FileCheck %s
// RUN: %roundtrip --pass-pipeline='builtin.module(mf.model(mf-build-backward,mf-split-chunks{split-backward=always}))' --remark-format=emitRemark --remarks-filter=residuals %s -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// Without a training attribute nothing says that backward is split.
// RUN: %roundtrip --pass-pipeline='builtin.module(mf.model(mf-build-backward,mf-split-chunks))' %s | FileCheck %s --check-prefix=WHOLE
// WHOLE-NOT: mf.backward_weights

// Operators that reach no gradient of the hidden input wait; what they read of the others is kept. A cast of a weight is
// made again. The norm's gradient comes with that of its input.
// REMARK: [Passed] WeightHalf | Category:residuals | Function=chunk0 | Remark="backward is split in two", input gradient operators=4, kept bytes=64, kept values=1, weight gradient operators=2
// CHECK-LABEL: mf.model @weights_wait
mf.model @weights_wait attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  mf.param @gamma : tensor<8xf32> init <ones>
  mf.param @w : tensor<8x8xf32> init <ones>
  // CHECK: mf.forward @chunk0.forward (%{{.*}}: tensor<4x8xf32>) -> (tensor<4x8xbf16>, tensor<4xf32>, tensor<4x8xbf16>)
  // CHECK: mf.backward @chunk0.backward (%[[DY:.*]]: tensor<4x8xbf16>, %[[X:.*]]: tensor<4x8xf32>, %[[RSTD:.*]]: tensor<4xf32>, %{{.*}}: tensor<4x8xbf16>) -> (tensor<4x8xf32>, tensor<8xf32>, tensor<4x8xbf16>) attributes {forward_arguments = [0], gradients = [@gamma], kept = 1 : i64, placement = #mf.placement<stage = 1, chunk = 0>}
  // CHECK: %[[DZ:.*]] = mf.neg %[[DY]]
  // CHECK: mf.matmul %[[DZ]]
  // CHECK: %[[DX:.*]], %[[DGAMMA:.*]] = mf.rms_norm_grad
  // CHECK-NOT: mf.matmul
  // CHECK: mf.return %[[DX]], %[[DGAMMA]], %[[DZ]]
  // CHECK: mf.backward_weights @chunk0.weights (%{{.*}}: tensor<4xf32>, %[[N:.*]]: tensor<4x8xbf16>, %[[KEPT:.*]]: tensor<4x8xbf16>) -> tensor<8x8xf32> attributes {forward_arguments = [], gradients = [@w], output_gradients = [], placement = #mf.placement<stage = 1, chunk = 0>}
  // CHECK-NEXT: %[[D:.*]] = mf.matmul %[[KEPT]], %[[N]] {{.*}}transpose_a = true}
  // CHECK-NEXT: %[[WIDE:.*]] = mf.cast %[[D]]
  // CHECK-NEXT: mf.return %[[WIDE]]
  mf.layer @layers.0 body (%x: tensor<4x8xf32>) -> tensor<4x8xbf16> attributes {placement = #mf.placement<stage = 1, chunk = 0>} {
    %gamma = mf.get_param @gamma : tensor<8xf32>
    %norm, %rstd = mf.rms_norm %x, %gamma {epsilon = 1.0e-5 : f64} : (tensor<4x8xf32>, tensor<8xf32>) -> (tensor<4x8xf32>, tensor<4xf32>)
    %n = mf.cast %norm : (tensor<4x8xf32>) -> tensor<4x8xbf16>
    %w = mf.get_param @w : tensor<8x8xf32>
    %narrow = mf.cast %w : (tensor<8x8xf32>) -> tensor<8x8xbf16>
    %z = mf.matmul %n, %narrow {transpose_b = true} : (tensor<4x8xbf16>, tensor<8x8xbf16>) -> tensor<4x8xbf16>
    %y = mf.neg %z : (tensor<4x8xbf16>) -> tensor<4x8xbf16>
    mf.return %y : tensor<4x8xbf16>
  }
}

// Nobody waits for a gradient of tokens: in the first chunk what makes one parameter's gradient alone may wait. The
// output's gradient and an argument of forward are passed again.
// CHECK-LABEL: mf.model @no_hidden_input
mf.model @no_hidden_input attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  mf.param @table : tensor<16x8xf32> init <ones>
  mf.param @w : tensor<8x8xf32> init <ones>
  // CHECK: mf.backward @chunk0.backward (%[[DY:.*]]: tensor<4x8xf32>, %[[X:.*]]: tensor<4x8xf32>) attributes {forward_arguments = [], gradients = [], placement
  // CHECK-NEXT: mf.return{{$}}
  // CHECK: mf.backward_weights @chunk0.weights (%[[DY:.*]]: tensor<4x8xf32>, %[[TOKENS:.*]]: tensor<4xi32>, %[[X:.*]]: tensor<4x8xf32>) -> (tensor<16x8xf32>, tensor<8x8xf32>) attributes {forward_arguments = [0], gradients = [@table, @w], output_gradients = [0]
  // CHECK: mf.matmul %[[DY]], %[[X]] {{.*}}transpose_a = true}
  // CHECK: mf.embedding_grad %{{.*}}, %[[TOKENS]]
  mf.layer @layers.0 embedding (%tokens: tensor<4xi32>) -> tensor<4x8xf32> attributes {placement = #mf.placement<stage = 0, chunk = 0>} {
    %table = mf.get_param @table : tensor<16x8xf32>
    %x = mf.embedding %table, %tokens : (tensor<16x8xf32>, tensor<4xi32>) -> tensor<4x8xf32>
    %w = mf.get_param @w : tensor<8x8xf32>
    %y = mf.matmul %x, %w {transpose_b = true} : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
    mf.return %y : tensor<4x8xf32>
  }
}

// What is recomputed for both is computed in the first half and kept; for the weight half alone, there, and without the
// barrier. Whatever the barrier in the first half came after, it does not wait for the weight half.
// CHECK-LABEL: mf.model @recomputed
mf.model @recomputed attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  mf.param @w : tensor<8x8xf32> init <ones>
  mf.param @v : tensor<8x8xf32> init <ones>
  // CHECK: mf.backward @both.backward (%[[DY:.*]]: tensor<4x8xf32>, %[[X:.*]]: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>)
  // CHECK-NEXT: %[[BARRIER:.*]] = mf.barrier %[[X]]{{( |$)}}
  // CHECK: %[[A:.*]] = mf.silu %[[BARRIER]]
  // CHECK-NEXT: %[[DX:.*]] = mf.mul %[[DY]], %[[A]]
  // CHECK-NEXT: mf.return %[[DX]], %[[A]]
  // CHECK: mf.backward_weights @both.weights (%[[DY:.*]]: tensor<4x8xf32>, %[[X:.*]]: tensor<4x8xf32>, %[[A:.*]]: tensor<4x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>)
  // CHECK-NOT: mf.barrier
  // CHECK: mf.matmul %[[DY]], %[[A]]
  // CHECK: %[[B:.*]] = mf.neg %[[X]]
  // CHECK: mf.matmul %[[DY]], %[[B]]
  mf.chunk @both (%x: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>)
      attributes {placement = #mf.placement<stage = 1, chunk = 0>, inputs = [], input_indices = [], gradients = [@w, @v]} {
    %w = mf.get_param @w : tensor<8x8xf32>
    %y = mf.matmul %x, %w {transpose_b = true} : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
    %dy = mf.cut %y : tensor<4x8xf32>
    %early = mf.matmul %dy, %dy {transpose_a = true} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
    %barrier = mf.barrier %x, %early : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
    %a = mf.silu %barrier : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %dw = mf.matmul %dy, %a {transpose_a = true} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
    %b = mf.neg %barrier : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %db = mf.matmul %dy, %b {transpose_a = true} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
    %dv = mf.add %early, %db : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    %dx = mf.mul %dy, %a : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    mf.return %dx, %dw, %dv : tensor<4x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>
  }
}

// A swapped value is copied back by each half that reads it, and is not kept on the device in between; so is a view of it.
// CHECK-LABEL: mf.model @swapped
mf.model @swapped attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  mf.param @w : tensor<8x8xf32> init <ones>
  // CHECK: mf.backward @swap.backward (%{{.*}}: tensor<4x8xf32>, %[[HOST:.*]]: !mf.host<tensor<4x8xf32>>) -> tensor<4x8xf32> attributes {forward_arguments = [], gradients = [], placement
  // CHECK-NEXT: %[[BACK:.*]] = mf.prefetch %[[HOST]] {distance = 2 : i64
  // CHECK-NEXT: mf.silu_grad %{{.*}}, %[[BACK]]
  // CHECK: mf.backward_weights @swap.weights (%{{.*}}: tensor<4x8xf32>, %[[HOST:.*]]: !mf.host<tensor<4x8xf32>>) -> tensor<8x8xf32>
  // CHECK-NEXT: %[[BACK:.*]] = mf.prefetch %[[HOST]] {distance = 2 : i64
  // CHECK-NEXT: %[[VIEW:.*]] = mf.reshape %[[BACK]]
  // CHECK: mf.matmul %{{.*}}, %{{.*}} {transpose_a = true}
  mf.chunk @swap (%x: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<8x8xf32>)
      attributes {placement = #mf.placement<stage = 1, chunk = 0>, inputs = [], input_indices = [], gradients = [@w]} {
    %a = mf.neg %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %host = mf.offload %a {distance = 2 : i64, name = "a"} : tensor<4x8xf32>
    %y = mf.silu %a : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %dy = mf.cut %y : tensor<4x8xf32>
    %back = mf.prefetch %host {distance = 2 : i64, name = "a"} : tensor<4x8xf32>
    %dx = mf.silu_grad %dy, %back : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    %view = mf.reshape %back : (tensor<4x8xf32>) -> tensor<2x2x8xf32>
    %flat = mf.reshape %view : (tensor<2x2x8xf32>) -> tensor<4x8xf32>
    %dw = mf.matmul %dy, %flat {transpose_a = true} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
    mf.return %dx, %dw : tensor<4x8xf32>, tensor<8x8xf32>
  }
}

// Without a hidden input, what two gradients come from is in the first half, but a copy back that only they read is not.
// CHECK-LABEL: mf.model @swapped_for_weights
mf.model @swapped_for_weights attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  mf.param @w : tensor<8x8xf32> init <ones>
  mf.param @v : tensor<8x8xf32> init <ones>
  // CHECK: mf.backward @first.backward (%{{.*}}: tensor<4x8xf32>, %{{.*}}: !mf.host<tensor<4x8xf32>>) attributes
  // CHECK-NEXT: mf.return{{$}}
  // CHECK: mf.backward_weights @first.weights (%[[DY:.*]]: tensor<4x8xf32>, %[[HOST:.*]]: !mf.host<tensor<4x8xf32>>) -> (tensor<8x8xf32>, tensor<8x8xf32>)
  // CHECK-NEXT: %[[BACK:.*]] = mf.prefetch %[[HOST]]
  // CHECK-NEXT: %[[VIEW:.*]] = mf.reshape %[[BACK]]
  // CHECK-NEXT: %[[FLAT:.*]] = mf.reshape %[[VIEW]]
  // CHECK-NEXT: mf.matmul %[[DY]], %[[FLAT]] {transpose_a = true}
  // CHECK-NEXT: mf.matmul %[[FLAT]], %[[DY]] {transpose_a = true}
  // CHECK-NEXT: mf.return
  mf.chunk @first (%tokens: tensor<4xi32>) -> (tensor<8x8xf32>, tensor<8x8xf32>)
      attributes {placement = #mf.placement<stage = 0, chunk = 0>, inputs = [#mf<input_kind tokens>], input_indices = [0], gradients = [@w, @v]} {
    %w = mf.get_param @w : tensor<8x8xf32>
    %a = mf.embedding %w, %tokens : (tensor<8x8xf32>, tensor<4xi32>) -> tensor<4x8xf32>
    %host = mf.offload %a {distance = 2 : i64, name = "a"} : tensor<4x8xf32>
    %y = mf.neg %a : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %dy = mf.cut %y : tensor<4x8xf32>
    %back = mf.prefetch %host {distance = 2 : i64, name = "a"} : tensor<4x8xf32>
    %view = mf.reshape %back : (tensor<4x8xf32>) -> tensor<2x2x8xf32>
    %flat = mf.reshape %view : (tensor<2x2x8xf32>) -> tensor<4x8xf32>
    %dw = mf.matmul %dy, %flat {transpose_a = true} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
    %dv = mf.matmul %flat, %dy {transpose_a = true} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
    mf.return %dw, %dv : tensor<8x8xf32>, tensor<8x8xf32>
  }
}

// The schedule runs the weight half of every chunk, so that it is there with nothing to do.
// CHECK-LABEL: mf.model @nothing_to_wait
mf.model @nothing_to_wait attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  // CHECK: mf.backward_weights @view.weights () attributes {forward_arguments = [], gradients = [], output_gradients = []
  // CHECK-NEXT: mf.return{{$}}
  mf.chunk @view (%x: tensor<4xf32>) -> tensor<4xf32>
      attributes {placement = #mf.placement<stage = 1, chunk = 0>, inputs = [], input_indices = [], gradients = []} {
    %dy = mf.cut %x : tensor<4xf32>
    mf.return %dy : tensor<4xf32>
  }
}
