// What is no joint graph is refused before the pass looks at it.
// RUN: mf-opt --pass-pipeline='builtin.module(mf.model(mf.chunk(mf-insert-recompute)))' -verify-diagnostics -split-input-file %s

mf.model @m attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  // expected-error @below {{expected one mf.cut, but has 0}}
  mf.chunk @without_cut (%x: tensor<4xf32>) -> tensor<4xf32>
      attributes {placement = #mf.placement<stage = 0, chunk = 0>, inputs = [], input_indices = [], gradients = []} {
    %y = mf.silu %x {name = "silu", recompute = #mf.recompute<full>} : (tensor<4xf32>) -> tensor<4xf32>
    mf.return %y : tensor<4xf32>
  }
}

// -----

mf.model @m attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  // expected-error @below {{expected one mf.cut, but has 2}}
  mf.chunk @with_two_cuts (%x: tensor<4xf32>) -> tensor<4xf32>
      attributes {placement = #mf.placement<stage = 0, chunk = 0>, inputs = [], input_indices = [], gradients = []} {
    %a = mf.cut %x : tensor<4xf32>
    %b = mf.cut %a : tensor<4xf32>
    mf.return %b : tensor<4xf32>
  }
}
