// RUN: %variants %s | %roundtrip -verify-diagnostics -split-input-file

// A gradient that nobody reduces.
module attributes {mf.mesh = #mf.mesh<pp = 1, dp = 2, mp = 2>} {
mf.model @m attributes {micro_batch_size = 2 : i64, sequence_length = 8 : i64, vocab_size = 16 : i64} {
  // expected-note @below {{parameter is here}}
  mf.param @w : tensor<8x8xf32> init <ones> layout <[[], []], reduced = [dp]>
  mf.backward @b (%g0: tensor<8x8xf32>) -> (tensor<8x8xf32>)
      attributes {placement = #mf.placement<stage = 0, chunk = 0>, forward_arguments = [], gradients = [@w]} {
    mf.return %g0 : tensor<8x8xf32>
  }
  mf.forward @f (%x: tensor<8x8xf32>) -> (tensor<8x8xf32>)
      attributes {placement = #mf.placement<stage = 0, chunk = 0>, inputs = [], input_indices = []} {
    mf.return %x : tensor<8x8xf32>
  }
  // expected-error @below {{does not reduce the gradient of 'w', of which ranks of ["dp"] have summands; expected an mf.reduce_gradient}}
  mf.update @update0 (%lr: tensor<f32>, %step: tensor<f32>) attributes {stage = 0 : i64} {
    mf.return
  }
}
}

// The ranks of another axis.
- // expected-error
@ mf.update
+ // expected-error @below {{reduces the gradient of 'w' over ["mp"], but ranks of ["dp"] have summands of it}}
+ mf.reduce_gradient @w over ["mp"]

// More axes than have summands.
- // expected-error
@ mf.update
+ // expected-error @below {{reduces the gradient of 'w' over ["dp", "mp"], but ranks of ["dp"] have summands of it}}
+ mf.reduce_gradient @w over ["dp", "mp"]

// Twice.
- // expected-note
- // expected-error
@ mf.update
+ mf.reduce_gradient @w over ["dp"]
+ // expected-error @below {{reduces the gradient of 'w' a second time}}
+ mf.reduce_gradient @w over ["dp"]

// Behind what reads it.
- // expected-note
- // expected-error
@ mf.update
+ %n = mf.gradient_norms [@w] at [0] : tensor<1xf32>
+ // expected-error @below {{expected all reductions of gradients to be the first operators of the update}}
+ mf.reduce_gradient @w over ["dp"]

// No parameter.
- // expected-note
- // expected-error
@ mf.update
+ mf.reduce_gradient @w over ["dp"]
+ // expected-error @below {{expected a parameter, but got 'v'}}
+ mf.reduce_gradient @v over ["dp"]

module attributes {mf.mesh = #mf.mesh<pp = 1, dp = 2, mp = 2>} {
mf.model @m attributes {micro_batch_size = 2 : i64, sequence_length = 8 : i64, vocab_size = 16 : i64} {
  // What is stored is a part of what is used.
  // expected-error @below {{is stored as #mf.layout<[[dp], []]>, which does not cut dimension 0 of its layout further}}
  mf.param @w : tensor<8x8xf32> init <ones> layout <[[mp], []], reduced = [dp]> stored <[[dp], []]> {gathered = tensor<4x8xf32>}
}
}

// Sums are shared out first.
^
= // expected-error @below {{expected the axes that it is stored over to be first those with summands of its gradient, ["mp"], but got ["dp", "mp"]}}
= mf.param @w : tensor<8x8xf32> init <ones> layout <[[], []], reduced = [mp]> stored <[[dp, mp], []]> {gathered = tensor<8x8xf32>}

^
= // expected-error @below {{is gathered as 'tensor<4x8xf32>', but its part is 'tensor<8x8xf32>'}}
= mf.param @w : tensor<8x8xf32> init <ones> layout <[[], []], reduced = [dp]> stored <[[dp], []]> {gathered = tensor<4x8xf32>}

^
= // expected-error @below {{is not stored in parts, so expected no 'scatter_gradients'}}
= mf.param @w : tensor<8x8xf32> init <ones> {scatter_gradients}

^
= // expected-error @below {{is not stored in parts, so expected no 'gathered' of its own type}}
= mf.param @w : tensor<8x8xf32> init <ones> {gathered = tensor<8x8xf32>}

// A slice that does not divide.
^
= // expected-error @below {{expected dimension 0 of 'tensor<6x8xf32>' to be a multiple of 4, the ranks of ["mp", "dp"]}}
= mf.param @w : tensor<6x8xf32> init <ones> layout <[[mp], []], reduced = [dp]> stored <[[mp, dp], []]> {gathered = tensor<3x8xf32>}

// A slice of which each rank has two, and nobody the others.
^
= // expected-error @below {{custom op 'mf.param' has axis "dp" twice; expected it to cut one dimension, or to be partial, or reduced}}
= mf.param @w : tensor<8x8xf32> init <ones> layout <[[], []], reduced = [dp]> stored <[[dp, dp], []]> {gathered = tensor<8x8xf32>}

^
= // expected-error @below {{expected a type of floats that is not wider than 'bf16' as mf.kept, but got f32}}
= mf.param @w : tensor<8x8xbf16> init <ones> {mf.kept = f32}

^
= // expected-error @below {{is stored as #mf.layout<[[dp], []]>, which does not cut dimension 1 of its layout further}}
= mf.param @w : tensor<8x8xf32> init <ones> layout <[[], []], reduced = [dp]> stored <[[dp], []]> {storage_dim = 1 : i64, gathered = tensor<8x8xf32>}

^
= // expected-error @below {{expected 0 or 1 as 'storage_dim', but got 2}}
= mf.param @w : tensor<8x8xf32> init <ones> {storage_dim = 2 : i64}

// expected-error @below {{has a kept type; expected it on an mf.param}}
module attributes {mf.kept = bf16} {}
