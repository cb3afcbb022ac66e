// What the halves are called must be free.
// RUN: %roundtrip --pass-pipeline='builtin.module(mf.model(mf-split-chunks))' -verify-diagnostics %s

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
