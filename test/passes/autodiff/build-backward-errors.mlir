// RUN: %variants %s | %roundtrip --pass-pipeline='builtin.module(mf.model(mf-build-backward))' -verify-diagnostics -split-input-file

mf.model @m attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  // expected-error @below {{has no placement; run mf-partition first}}
  mf.layer @layer body (%x: tensor<4xf32>) -> tensor<4xf32> { mf.return %x : tensor<4xf32> }
}

mf.model @m attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  mf.layer @a body (%x: tensor<4xf32>) -> tensor<4xf32> attributes {placement = #mf.placement<stage = 0, chunk = 0>} {
    mf.return %x : tensor<4xf32>
  }
  mf.layer @b body (%x: tensor<4xf32>) -> tensor<4xf32> attributes {placement = #mf.placement<stage = 1, chunk = 0>} {
    mf.return %x : tensor<4xf32>
  }
  // expected-error @below {{expected the layers of one chunk to follow each other}}
  mf.layer @c body (%x: tensor<4xf32>) -> tensor<4xf32> attributes {placement = #mf.placement<stage = 0, chunk = 0>} {
    mf.return %x : tensor<4xf32>
  }
}

// Backward operators are not differentiated again.
mf.model @m attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  mf.layer @layer body (%x: tensor<4xf32>) -> tensor<4xf32> attributes {placement = #mf.placement<stage = 0, chunk = 0>} {
    // expected-error @below {{has no gradient, but a trained parameter or the chunk's input depends on it}}
    %y = mf.silu_grad %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    mf.return %y : tensor<4xf32>
  }
}

// What an operator keeps for backward is no result to compute with.
mf.model @m attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  mf.layer @layer body (%x: tensor<4x8xf32>) -> tensor<4xf32> attributes {placement = #mf.placement<stage = 0, chunk = 0>} {
    %gamma = mf.reduce_sum %x {axes = array<i64: 0>} : (tensor<4x8xf32>) -> tensor<8xf32>
    // expected-error @below {{has no gradient for result 1, but a trained parameter or the chunk's input depends on it}}
    %y, %rstd = mf.rms_norm %x, %gamma {epsilon = 1.0e-5 : f64} : (tensor<4x8xf32>, tensor<8xf32>) -> (tensor<4x8xf32>, tensor<4xf32>)
    mf.return %rstd : tensor<4xf32>
  }
}

mf.model @m attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  mf.param @w : tensor<4xf32> init <ones>
  mf.param @v : tensor<4xf32> init <ones>
  // expected-error @below {{no result of the chunk depends on its input 0, of type 'tensor<4xf32>'; drop it from the results of the layer before}}
  mf.layer @layer body (%x: tensor<4xf32>) -> tensor<4xf32> attributes {placement = #mf.placement<stage = 0, chunk = 0>} {
    mf.return %w : tensor<4xf32>
  }
}

mf.model @m attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  mf.param @w : tensor<4xf32> init <ones>
  mf.layer @layer body (%x: tensor<4xf32>) -> tensor<4xf32> attributes {placement = #mf.placement<stage = 0, chunk = 0>} {
    // expected-error @below {{reads a trained parameter that the result does not depend on}}
    %w = mf.get_param @w : tensor<4xf32>
    mf.return %x : tensor<4xf32>
  }
}

// The slopes of ALiBi are constants.
mf.model @m attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  mf.param @slopes : tensor<2xf32> init <alibi>
  mf.layer @layer body (%x: tensor<1x2x4x8xf32>) -> tensor<1x2x4x8xf32> attributes {placement = #mf.placement<stage = 0, chunk = 0>} {
    // expected-error @below {{has no gradient for operand 3, which depends on a trained parameter or the chunk's input}}
    %max, %sum, %y = mf.flash_attention %x, %x, %x, %slopes {scale = 0.5 : f64} : (tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<2xf32>) -> (tensor<1x2x4xf32>, tensor<1x2x4xf32>, tensor<1x2x4x8xf32>)
    mf.return %y : tensor<1x2x4x8xf32>
  }
}

mf.model @m attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  mf.param @table : tensor<16x8xf32> init <ones>
  // expected-error @below {{begins a chunk whose layers take tokens as 'tensor<1x2xi32>' and as 'tensor<1x4xi32>'; expected one part of them for all, as mf-propagate-layouts decides; run it first}}
  mf.layer @embedding embedding (%tokens: tensor<1x2xi32>) -> tensor<1x2x8xf32> attributes {placement = #mf.placement<stage = 0, chunk = 0>} {
    %x = mf.embedding %table, %tokens : (tensor<16x8xf32>, tensor<1x2xi32>) -> tensor<1x2x8xf32>
    mf.return %x : tensor<1x2x8xf32>
  }
  mf.layer @later embedding (%x: tensor<1x2x8xf32>, %tokens: tensor<1x4xi32>) -> (tensor<1x2x8xf32>, tensor<1x4x8xf32>) attributes {placement = #mf.placement<stage = 0, chunk = 0>} {
    %y = mf.embedding %table, %tokens : (tensor<16x8xf32>, tensor<1x4xi32>) -> tensor<1x4x8xf32>
    mf.return %x, %y : tensor<1x2x8xf32>, tensor<1x4x8xf32>
  }
}
