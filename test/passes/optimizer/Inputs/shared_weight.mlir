// A weight whose rows tensor-parallel ranks have, each part on two ranks: what the description of mf-shard-optimizer is about.
module attributes {mf.mesh = #mf.mesh<pp = 1, dp = 2, mp = 2>} {
mf.model @shared_weight attributes {
    micro_batch_size = 2 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64,
    training = #mf.training<parallel = <stages = 1, interleave = 1, micro_batches = 2, optimizer_shard = <level = 1, threshold = 0>>,
      optimizer = <type = "AdamW", beta1 = 0.9, beta2 = 0.95, eps = 1.0e-8, weight_decay = 0.1, bias_correction = true>,
      lr_schedule = <type = "ConstantWarmUpLR", parameters = {learning_rate = 1.0e-3 : f64}>, loss_scale = 1.0, max_device_memory = 0>} {
  mf.param @w : tensor<16x8xf32> init <zeros> layout <[[mp], []], reduced = [dp]>
  mf.layer @layers.0 body (%x: tensor<8x8xbf16>) -> tensor<8x8xbf16> {
    %w = mf.get_param @w : tensor<8x8xf32>
    %c = mf.cast %w {name = "cast"} : (tensor<8x8xf32>) -> tensor<8x8xbf16>
    %y = mf.matmul %x, %c {name = "w1.matmul", transpose_b = true} : (tensor<8x8xbf16>, tensor<8x8xbf16>) -> tensor<8x8xbf16>
    mf.return %y : tensor<8x8xbf16>
  }
}
}
