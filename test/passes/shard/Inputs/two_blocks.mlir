// A feed forward layer between two others, in blocks of rows.
#training = #mf.training<parallel = <stages = 1, interleave = 1, micro_batches = 1, scheduler = "1f1b", row_blocks = 2>,
  optimizer = <type = "AdamW", beta1 = 0.9, beta2 = 0.95, eps = 1.0e-8, weight_decay = 0.1, bias_correction = true>,
  lr_schedule = <type = "ConstantWarmUpLR", parameters = {learning_rate = 1.0e-3 : f64}>,
  loss_scale = 1.0, max_device_memory = 0>

mf.model @two_blocks attributes {training = #training, micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  mf.param @norm : tensor<8xf32> init <ones>
  mf.param @w1 : tensor<8x8xf32> init <ones>
  mf.layer @first body (%x: tensor<1x4x8xf32>) -> tensor<1x4x8xf32> { mf.return %x : tensor<1x4x8xf32> }
  mf.layer @layer body (%x: tensor<1x4x8xf32>) -> tensor<1x4x8xf32> {
    %g = mf.get_param @norm : tensor<8xf32>
    %w = mf.get_param @w1 : tensor<8x8xf32>
    %n, %r = mf.rms_norm %x, %g {epsilon = 1.0e-5, name = "ffn_norm.norm"} : (tensor<1x4x8xf32>, tensor<8xf32>) -> (tensor<1x4x8xf32>, tensor<1x4xf32>)
    %h = mf.matmul %n, %w {name = "feed_forward.w1.matmul"} : (tensor<1x4x8xf32>, tensor<8x8xf32>) -> tensor<1x4x8xf32>
    mf.return %h : tensor<1x4x8xf32>
  }
  mf.layer @last body (%x: tensor<1x4x8xf32>) -> tensor<1x4x8xf32> { mf.return %x : tensor<1x4x8xf32> }
}
