// RUN: %roundtrip --pass-pipeline='builtin.module(mf.model(mf-certify))' -verify-diagnostics -split-input-file %s

// Terms are written before values are moved.
mf.model @m attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  mf.chunk @chunk0 (%x: tensor<4xf32>) -> tensor<4xf32> attributes {gradients = [], input_indices = [], inputs = [], placement = #mf.placement<stage = 0, chunk = 0>} {
    %y = mf.silu %x {name = "silu"} : (tensor<4xf32>) -> tensor<4xf32>
    // expected-error @below {{has no term: expected an operator of the model or of its backward; run mf-certify right after mf-build-backward}}
    %c = mf.offload %y {distance = 1 : i64, name = "silu"} : tensor<4xf32>
    %dy = mf.cut %y : tensor<4xf32>
    %p = mf.prefetch %c {distance = 1 : i64, name = "silu"} : tensor<4xf32>
    %dx = mf.mul %dy, %p {name = "silu.grad"} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    mf.return %dx : tensor<4xf32>
  }
}
