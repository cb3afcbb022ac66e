// Two copies of a product whose parts are added up.
#training = #mf.training<parallel = <stages = 1, interleave = 1, micro_batches = 1, scheduler = "1f1b", copies = 2>,
  optimizer = <type = "AdamW", beta1 = 0.9, beta2 = 0.95, eps = 1.0e-8, weight_decay = 0.1, bias_correction = true>,
  lr_schedule = <type = "ConstantWarmUpLR", parameters = {learning_rate = 1.0e-3 : f64}>,
  loss_scale = 1.0, max_device_memory = 0>

module attributes {mf.mesh = #mf.mesh<pp = 1, mp = 2>} {
mf.model @two_copies attributes {training = #training, micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  mf.param @w : tensor<4x4xf32> init <ones>
  mf.chunk @chunk0 (%x0: tensor<4x4xf32>, %x1: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>)
      attributes {placement = #mf.placement<stage = 0, chunk = 0>, inputs = [], input_indices = [], gradients = []} {
    %w = mf.get_param @w : tensor<4x4xf32>
    %p0 = mf.matmul %x0, %w : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %s0 = mf.all_reduce %p0 over ["mp"] : tensor<4x4xf32> -> tensor<4x4xf32>
    %y0 = mf.add %x0, %s0 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %p1 = mf.matmul %x1, %w : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %s1 = mf.all_reduce %p1 over ["mp"] : tensor<4x4xf32> -> tensor<4x4xf32>
    %y1 = mf.add %x1, %s1 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %d:2 = mf.cut %y0, %y1 : tensor<4x4xf32>, tensor<4x4xf32>
    mf.return %d#0, %d#1 : tensor<4x4xf32>, tensor<4x4xf32>
  }
}
}
