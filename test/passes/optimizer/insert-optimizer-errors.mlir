// RUN: %variants %S/../Inputs/training.mlir %s | %roundtrip --pass-pipeline='builtin.module(mf.model(mf-insert-optimizer))' -verify-diagnostics -split-input-file

// The YAML comes first.
// expected-error @below {{has no training configuration; run mf-read-config first}}
mf.model @m attributes {micro_batch_size = 1 : i64, sequence_length = 8 : i64, vocab_size = 16 : i64} {
}

// A parameter belongs to one chunk; a model that reads it twice ties a second one to it.
mf.model @m attributes {micro_batch_size = 1 : i64, sequence_length = 8 : i64, vocab_size = 16 : i64, training = #two_stages} {
  mf.param @w : tensor<8x8xf32> init <ones>
  mf.backward @chunk0.backward (%g0: tensor<8x8xf32>) -> (tensor<8x8xf32>)
      attributes {placement = #mf.placement<stage = 0, chunk = 0>, forward_arguments = [], gradients = [@w]} {
    mf.return %g0 : tensor<8x8xf32>
  }
  // expected-error @below {{expected 'w' to be read by one chunk; tie a second parameter to it for the other}}
  mf.backward @chunk1.backward (%g0: tensor<8x8xf32>) -> (tensor<8x8xf32>)
      attributes {placement = #mf.placement<stage = 1, chunk = 0>, forward_arguments = [], gradients = [@w]} {
    mf.return %g0 : tensor<8x8xf32>
  }
}

// The owner of a tied parameter is trained too.
mf.model @m attributes {micro_batch_size = 1 : i64, sequence_length = 8 : i64, vocab_size = 16 : i64, training = #one_stage} {
  mf.param @embedding : tensor<8x8xf32> init <ones>
  // expected-error @below {{is tied to 'embedding', which no chunk trains}}
  mf.param @head : tensor<8x8xf32> init <ones> tied to @embedding
  mf.backward @chunk0.backward (%g0: tensor<8x8xf32>) -> (tensor<8x8xf32>)
      attributes {placement = #mf.placement<stage = 0, chunk = 0>, forward_arguments = [], gradients = [@head]} {
    mf.return %g0 : tensor<8x8xf32>
  }
}
