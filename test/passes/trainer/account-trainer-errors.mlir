// RUN: %roundtrip --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(mf.model(mf-account-trainer))' %s

// expected-error@+1 {{'mf.model' op has no training configuration; run mf-read-config first}}
mf.model @unread attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
}

// -----

mf.model @unplaced attributes {
    micro_batch_size = 1 : i64, sequence_length = 64 : i64, vocab_size = 16 : i64,
    training = #mf.training<parallel = <stages = 1, interleave = 1, micro_batches = 1>,
      optimizer = <type = "AdamW", beta1 = 0.9, beta2 = 0.95, eps = 1.0e-8, weight_decay = 0.1, bias_correction = true>,
      lr_schedule = <type = "ConstantWarmUpLR", parameters = {learning_rate = 1.0e-3 : f64}>, loss_scale = 1.0, max_device_memory = 0, dynamic_graph = true>} {
  // expected-error@+1 {{'mf.layer' op has no placement; run mf-partition first}}
  mf.layer @layers.0 body (%x: tensor<4xf32>) -> tensor<4xf32> {
    mf.return %x : tensor<4xf32>
  }
}
