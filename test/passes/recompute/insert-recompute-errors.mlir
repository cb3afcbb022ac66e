// A chunk that the schedule of the training does not have.
// RUN: %roundtrip --pass-pipeline='builtin.module(mf.model(mf.chunk(mf-insert-recompute)))' -verify-diagnostics %s

#training = #mf.training<parallel = <stages = 2, interleave = 1, micro_batches = 2, scheduler = "1f1b">,
  optimizer = <type = "AdamW", beta1 = 0.9, beta2 = 0.95, eps = 1.0e-8, weight_decay = 0.1, bias_correction = true>,
  lr_schedule = <type = "ConstantWarmUpLR", parameters = {learning_rate = 1.0e-3 : f64}>,
  loss_scale = 1.0, max_device_memory = 0>

mf.model @m attributes {training = #training, micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  // expected-error @below {{is not in the schedule of 2 stages with 1 chunks each}}
  mf.chunk @chunk2 (%x: tensor<4xf32>) -> tensor<4xf32>
      attributes {placement = #mf.placement<stage = 0, chunk = 1>, inputs = [], input_indices = [], gradients = []} {
    %y = mf.neg %x {name = "neg"} : (tensor<4xf32>) -> tensor<4xf32>
    %dy = mf.cut %y : tensor<4xf32>
    %dx = mf.neg %dy : (tensor<4xf32>) -> tensor<4xf32>
    mf.return %dx : tensor<4xf32>
  }
}
