// RUN: %variants %s | %roundtrip --pass-pipeline='builtin.module(mf.model(mf-interleave-rows))' -verify-diagnostics -split-input-file

#training = #mf.training<parallel = <stages = 1, interleave = 1, micro_batches = 1, scheduler = "1f1b", row_blocks = 3>,
  optimizer = <type = "AdamW", beta1 = 0.9, beta2 = 0.95, eps = 1.0e-8, weight_decay = 0.1, bias_correction = true>,
  lr_schedule = <type = "ConstantWarmUpLR", parameters = {learning_rate = 1.0e-3 : f64}>,
  loss_scale = 1.0, max_device_memory = 0>
// expected-error @below {{'model' cannot run in 3 blocks of rows (fine_grain_interleave): 4 rows do not divide into 3 blocks on each of 1 context-parallel ranks}}
mf.model @model attributes {training = #training, micro_batch_size = 2 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  mf.param @norm : tensor<8xf32> init <ones>
  mf.param @query : tensor<8x8xf32> init <ones>
  mf.param @out : tensor<8x8xf32> init <ones>
  mf.layer @layer body (%x: tensor<2x4x8xf32>) -> tensor<2x4x8xf32> { mf.return %x : tensor<2x4x8xf32> }
}

= #training = #mf.training<parallel = <stages = 1, interleave = 1, micro_batches = 1, scheduler = "1f1b", row_blocks = 2>,
= // expected-error @below {{'model' cannot run in 2 blocks of rows (fine_grain_interleave): 'layer' is not of one hidden input and one result of 4 rows}}
= mf.layer @layer body (%x: tensor<2x4x8xf32>) -> (tensor<2x4x8xf32>, tensor<2x4x8xf32>) { mf.return %x, %x : tensor<2x4x8xf32>, tensor<2x4x8xf32> }
