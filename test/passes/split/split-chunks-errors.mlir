// Two chunks of one name cannot be: their halves would have one name too.
// RUN: mf-opt --pass-pipeline='builtin.module(mf.model(mf-split-chunks))' -verify-diagnostics -split-input-file %s

mf.model @m attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  // expected-note @below {{see existing symbol definition here}}
  mf.chunk @chunk0 (%x: tensor<4xf32>) -> tensor<4xf32>
      attributes {placement = #mf.placement<stage = 0, chunk = 0>, inputs = [], input_indices = [], gradients = []} {
    %dy = mf.cut %x : tensor<4xf32>
    mf.return %dy : tensor<4xf32>
  }
  // expected-error @below {{redefinition of symbol named 'chunk0'}}
  mf.chunk @chunk0 (%x: tensor<4xf32>) -> tensor<4xf32>
      attributes {placement = #mf.placement<stage = 1, chunk = 0>, inputs = [], input_indices = [], gradients = []} {
    %dy = mf.cut %x : tensor<4xf32>
    mf.return %dy : tensor<4xf32>
  }
}

// -----

// The name of a half is taken.
mf.model @m attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  // expected-note @below {{see existing symbol definition here}}
  mf.param @chunk0.forward : tensor<4xf32> init <ones>
  // expected-error @below {{redefinition of symbol named 'chunk0.forward'}}
  mf.chunk @chunk0 (%x: tensor<4xf32>) -> tensor<4xf32>
      attributes {placement = #mf.placement<stage = 0, chunk = 0>, inputs = [], input_indices = [], gradients = []} {
    %dy = mf.cut %x : tensor<4xf32>
    mf.return %dy : tensor<4xf32>
  }
}

// -----

// A chunk that begins with its cut has no forward at all, only a hidden input: that is fine.
mf.model @m attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  mf.chunk @chunk0 (%x: tensor<4xf32>) -> tensor<4xf32>
      attributes {placement = #mf.placement<stage = 0, chunk = 0>, inputs = [], input_indices = [], gradients = []} {
    %dy = mf.cut %x : tensor<4xf32>
    mf.return %dy : tensor<4xf32>
  }
}
