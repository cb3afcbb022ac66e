// RUN: %variants %s | %roundtrip --pass-pipeline='builtin.module(mf.model(mf-propagate-layouts))' -verify-diagnostics -split-input-file

module attributes {mf.mesh = #mf.mesh<pp = 1, mp = 2>} {
mf.model @m attributes {micro_batch_size = 2 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  // expected-error @below {{cannot be sharded: dimension 0 of 'w', 3, does not divide into 2 parts over mp; choose another model_parallel}}
  mf.param @w : tensor<3x8xf32> init <ones> {cuts = [["mp"], []]}
  mf.layer @layer body (%x: tensor<2x4x8xf32>) -> tensor<2x4x8xf32> { mf.return %x : tensor<2x4x8xf32> }
}
}

= module attributes {mf.mesh = #mf.mesh<pp = 1, dp = 4>} {
= // expected-error @below {{cannot be sharded: dimension 0, 2, does not divide into 4 parts over dp; choose another data_parallel}}
- mf.param

// Heads do not divide, though their elements would.
module attributes {mf.mesh = #mf.mesh<pp = 1, mp = 4>} {
mf.model @m attributes {micro_batch_size = 2 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  mf.param @w : tensor<8x8xf32> init <ones> {cuts = [["mp"], []]}
  mf.layer @layer body (%x: tensor<2x4x8xf32>) -> tensor<2x4x2x4xf32> {
    %q = mf.matmul %x, %w {transpose_b = true} : (tensor<2x4x8xf32>, tensor<8x8xf32>) -> tensor<2x4x8xf32>
    // expected-error @below {{cannot be sharded: dimension 2, of 2 times 4, does not divide into 4 parts over mp; choose another model_parallel}}
    %h = mf.reshape %q {name = "split"} : (tensor<2x4x8xf32>) -> tensor<2x4x2x4xf32>
    mf.return %h : tensor<2x4x2x4xf32>
  }
}
}

@ module
+ // expected-warning @below {{dimension 0 of 'w', 3, does not divide into 2 parts over mp; all ranks have all of it}}
- //
= mf.param @w : tensor<3x8xf32> init <ones> {cuts = [["mp"], []], may_stay_whole}

// Two dimensions that were swapped, joined.
module attributes {mf.mesh = #mf.mesh<pp = 1, dp = 2, cp = 4>} {
mf.model @m attributes {micro_batch_size = 2 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  mf.layer @layer body (%x: tensor<2x4x8xf32>) -> tensor<2x4x8xf32> {
    %t = mf.transpose %x {perm = array<i64: 1, 0, 2>, name = "turn"} : (tensor<2x4x8xf32>) -> tensor<4x2x8xf32>
    %r = mf.reshape %t {name = "join"} : (tensor<4x2x8xf32>) -> tensor<8x8xf32>
    // expected-error @below {{cannot be sharded: parts over cp and dp do not lie in the order of ranks, in which they would be exchanged; choose another data_parallel}}
    %s = mf.cumsum %r {axis = 0 : i64, name = "sum"} : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %b = mf.reshape %s {name = "back"} : (tensor<8x8xf32>) -> tensor<4x2x8xf32>
    %y = mf.transpose %b {perm = array<i64: 1, 0, 2>, name = "return"} : (tensor<4x2x8xf32>) -> tensor<2x4x8xf32>
    mf.return %y : tensor<2x4x8xf32>
  }
}
}
