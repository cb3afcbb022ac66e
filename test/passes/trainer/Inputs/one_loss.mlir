// A head and its loss in the dynamic graph: what the description of mf-account-trainer is about.
mf.model @one_loss attributes {
    micro_batch_size = 1 : i64, sequence_length = 2048 : i64, vocab_size = 4096 : i64, compressed_mask,
    training = #mf.training<parallel = <stages = 1, interleave = 1, micro_batches = 1>,
      optimizer = <type = "AdamW", beta1 = 0.9, beta2 = 0.95, eps = 1.0e-8, weight_decay = 0.1, bias_correction = true>,
      lr_schedule = <type = "ConstantWarmUpLR", parameters = {learning_rate = 1.0e-3 : f64}>, loss_scale = 1.0, max_device_memory = 0, dynamic_graph = true>} {
  mf.param @embedding.weight : tensor<4096x16xf32> init <zeros>
  mf.layer @embedding embedding (%tokens: tensor<1x2048xi32>) -> tensor<1x2048x16xbf16> attributes {placement = #mf.placement<stage = 0, chunk = 0>} {
    %t = mf.get_param @embedding.weight : tensor<4096x16xf32>
    %x = mf.embedding %t, %tokens {name = "gather"} : (tensor<4096x16xf32>, tensor<1x2048xi32>) -> tensor<1x2048x16xf32>
    %y = mf.cast %x {name = "cast"} : (tensor<1x2048x16xf32>) -> tensor<1x2048x16xbf16>
    mf.return %y : tensor<1x2048x16xbf16>
  }
  mf.param @head.weight : tensor<4096x16xf32> init <zeros> {mf.kept = bf16}
  mf.layer @lm_head head (%x: tensor<1x2048x16xbf16>, %labels: tensor<1x2048xi32>) -> tensor<f32> attributes {placement = #mf.placement<stage = 0, chunk = 0>} {
    %w = mf.get_param @head.weight : tensor<4096x16xf32>
    %c = mf.cast %w {name = "cast"} : (tensor<4096x16xf32>) -> tensor<4096x16xbf16>
    %y = mf.reshape %labels {name = "reshape"} : (tensor<1x2048xi32>) -> tensor<2048xi32>
    %l = mf.matmul %x, %c {name = "matmul", transpose_b = true} : (tensor<1x2048x16xbf16>, tensor<4096x16xbf16>) -> tensor<1x2048x4096xbf16>
    %f = mf.cast %l {name = "cast"} : (tensor<1x2048x4096xbf16>) -> tensor<1x2048x4096xf32>
    %r = mf.reshape %f {name = "reshape"} : (tensor<1x2048x4096xf32>) -> tensor<2048x4096xf32>
    %loss, %logsumexp, %count = mf.cross_entropy %r, %y {name = "loss"} : (tensor<2048x4096xf32>, tensor<2048xi32>) -> (tensor<f32>, tensor<2048xf32>, tensor<f32>)
    mf.return %loss : tensor<f32>
  }
}
