// RUN: %roundtrip --pass-pipeline='builtin.module(mf.model(mf-insert-optimizer))' -verify-diagnostics -split-input-file %s

// The YAML comes first.
// expected-error @below {{has no training configuration; run mf-read-config first}}
mf.model @m attributes {micro_batch_size = 1 : i64, sequence_length = 8 : i64, vocab_size = 16 : i64} {
}

// -----

#adamw = #mf.optimizer<type = "AdamW", beta1 = 0.9, beta2 = 0.95, eps = 1.0e-8, weight_decay = 0.1, bias_correction = true>
#adam_weight_decay = #mf.optimizer<type = "AdamWeightDecay", beta1 = 0.8, beta2 = 0.99, eps = 1.0e-6, weight_decay = 0.01, bias_correction = false>
#constant = #mf.lr_schedule<type = "ConstantWarmUpLR", parameters = {learning_rate = 1.0e-3 : f64}>
// A parameter belongs to one chunk; a model that reads it twice ties a second one to it.
mf.model @m attributes {
    micro_batch_size = 1 : i64, sequence_length = 8 : i64, vocab_size = 16 : i64,
    training = #mf.training<parallel = <stages = 2, interleave = 1, micro_batches = 2, offset = 0>,
      optimizer = #adamw, lr_schedule = #constant, loss_scale = 1.0, max_device_memory = 0>} {
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

// -----

#adamw = #mf.optimizer<type = "AdamW", beta1 = 0.9, beta2 = 0.95, eps = 1.0e-8, weight_decay = 0.1, bias_correction = true>
#adam_weight_decay = #mf.optimizer<type = "AdamWeightDecay", beta1 = 0.8, beta2 = 0.99, eps = 1.0e-6, weight_decay = 0.01, bias_correction = false>
#constant = #mf.lr_schedule<type = "ConstantWarmUpLR", parameters = {learning_rate = 1.0e-3 : f64}>
// The owner of a tied parameter is trained too.
mf.model @m attributes {
    micro_batch_size = 1 : i64, sequence_length = 8 : i64, vocab_size = 16 : i64,
    training = #mf.training<parallel = <stages = 1, interleave = 1, micro_batches = 1, offset = 0>,
      optimizer = #adamw, lr_schedule = #constant, loss_scale = 1.0, max_device_memory = 0>} {
  mf.param @embedding : tensor<8x8xf32> init <ones>
  // expected-error @below {{is tied to 'embedding', which no chunk trains}}
  mf.param @head : tensor<8x8xf32> init <ones> tied to @embedding
  mf.backward @chunk0.backward (%g0: tensor<8x8xf32>) -> (tensor<8x8xf32>)
      attributes {placement = #mf.placement<stage = 0, chunk = 0>, forward_arguments = [], gradients = [@head]} {
    mf.return %g0 : tensor<8x8xf32>
  }
}
