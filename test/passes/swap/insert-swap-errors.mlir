// Marks and graphs that are refused before the pass looks at them.
// RUN: mf-opt --pass-pipeline='builtin.module(mf.model(mf.chunk(mf-insert-swap)))' -verify-diagnostics -split-input-file %s

mf.model @m attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  // expected-error @below {{expected one mf.cut, but has 0}}
  mf.chunk @without_cut (%x: tensor<4xf32>) -> tensor<4xf32>
      attributes {placement = #mf.placement<stage = 0, chunk = 0>, inputs = [], input_indices = [], gradients = []} {
    %y = mf.silu %x {name = "silu", swap = #mf.swap<distance = 1>} : (tensor<4xf32>) -> tensor<4xf32>
    mf.return %y : tensor<4xf32>
  }
}

// -----

mf.model @m attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  mf.chunk @distance (%x: tensor<4xf32>) -> tensor<4xf32>
      attributes {placement = #mf.placement<stage = 0, chunk = 0>, inputs = [], input_indices = [], gradients = []} {
    // expected-error @below {{expected a distance from 1 to 2147483647 kernels, but got 0}}
    %y = mf.silu %x {name = "silu", swap = #mf.swap<distance = 0>} : (tensor<4xf32>) -> tensor<4xf32>
    %dy = mf.cut %y : tensor<4xf32>
    mf.return %dy : tensor<4xf32>
  }
}

// -----

mf.model @m attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  mf.chunk @type (%x: tensor<4xf32>) -> tensor<4xf32>
      attributes {placement = #mf.placement<stage = 0, chunk = 0>, inputs = [], input_indices = [], gradients = []} {
    // expected-error @below {{attribute 'swap' failed to satisfy constraint: swap mark of one operator}}
    %y = mf.silu %x {name = "silu", swap = true} : (tensor<4xf32>) -> tensor<4xf32>
    %dy = mf.cut %y : tensor<4xf32>
    mf.return %dy : tensor<4xf32>
  }
}

// -----

mf.model @m attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  mf.chunk @unknown (%x: tensor<4xf32>) -> tensor<4xf32>
      attributes {placement = #mf.placement<stage = 0, chunk = 0>, inputs = [], input_indices = [], gradients = []} {
    // expected-error @below {{has the unknown attribute "mf.swapped"}}
    %y = mf.silu %x {name = "silu", mf.swapped = 1 : i64} : (tensor<4xf32>) -> tensor<4xf32>
    %dy = mf.cut %y : tensor<4xf32>
    mf.return %dy : tensor<4xf32>
  }
}
