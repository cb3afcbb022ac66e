// A layer with attention and one without, in two pieces of their sequence: what the description of mf-split-sequence is about.
mf.model @one_layer attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64,
    training = #mf.training<parallel = <stages = 1, interleave = 1, micro_batches = 1, scheduler = "seq1f1b", sequence_pieces = 2>,
    optimizer = <type = "AdamW", beta1 = 0.9, beta2 = 0.95, eps = 1.0e-8, weight_decay = 0.1, bias_correction = true>,
    lr_schedule = <type = "ConstantWarmUpLR", parameters = {learning_rate = 1.0e-3 : f64}>, loss_scale = 1.0, max_device_memory = 0>} {
  mf.param @embedding.weight : tensor<16x8xf32> init <normal, value = 0.02>
  mf.param @positions : tensor<4x8xf32> init <rotary_cos, value = 10000.0> {frozen}
  mf.layer @embedding embedding (%tokens: tensor<1x4xi32>) -> tensor<1x4x8xf32> attributes {placement = #mf.placement<stage = 0, chunk = 0>} {
    %table = mf.get_param @embedding.weight : tensor<16x8xf32>
    %x = mf.embedding %table, %tokens {name = "gather"} : (tensor<16x8xf32>, tensor<1x4xi32>) -> tensor<1x4x8xf32>
    %p = mf.get_param @positions : tensor<4x8xf32>
    %y = mf.mul %x, %p {name = "positions"} : (tensor<1x4x8xf32>, tensor<4x8xf32>) -> tensor<1x4x8xf32>
    mf.return %y : tensor<1x4x8xf32>
  }
  mf.layer @layers.0 body (%x: tensor<1x4x8xf32>) -> tensor<1x4x8xf32> attributes {placement = #mf.placement<stage = 0, chunk = 0>} {
    %h = mf.reshape %x {name = "attention.reshape"} : (tensor<1x4x8xf32>) -> tensor<1x4x2x4xf32>
    %q = mf.transpose %h {name = "attention.transpose", perm = array<i64: 0, 2, 1, 3>} : (tensor<1x4x2x4xf32>) -> tensor<1x2x4x4xf32>
    %k = mf.silu %q {name = "attention.keys"} : (tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
    %m, %s, %a = mf.flash_attention %q, %k, %k {name = "attention.flash_attention", scale = 0.5} : (tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>) -> (tensor<1x2x4xf32>, tensor<1x2x4xf32>, tensor<1x2x4x4xf32>)
    %t = mf.transpose %a {name = "attention.transpose", perm = array<i64: 0, 2, 1, 3>} : (tensor<1x2x4x4xf32>) -> tensor<1x4x2x4xf32>
    %y = mf.reshape %t {name = "attention.reshape"} : (tensor<1x4x2x4xf32>) -> tensor<1x4x8xf32>
    mf.return %y : tensor<1x4x8xf32>
  }
  mf.param @head.weight : tensor<16x8xf32> init <normal, value = 0.02>
  mf.layer @head head (%x: tensor<1x4x8xf32>, %labels: tensor<1x4xi32>) -> tensor<f32> attributes {placement = #mf.placement<stage = 0, chunk = 0>} {
    %w = mf.get_param @head.weight : tensor<16x8xf32>
    %logits = mf.matmul %x, %w {name = "matmul", transpose_b = true} : (tensor<1x4x8xf32>, tensor<16x8xf32>) -> tensor<1x4x16xf32>
    %rows = mf.reshape %logits {name = "reshape"} : (tensor<1x4x16xf32>) -> tensor<4x16xf32>
    %flat = mf.reshape %labels {name = "reshape"} : (tensor<1x4xi32>) -> tensor<4xi32>
    %loss, %l, %c = mf.cross_entropy %rows, %flat {name = "loss"} : (tensor<4x16xf32>, tensor<4xi32>) -> (tensor<f32>, tensor<4xf32>, tensor<f32>)
    mf.return %loss : tensor<f32>
  }
}
