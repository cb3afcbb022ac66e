// Two feed-forward layers between an embedding and a loss: small enough to
// read at every level. docs/walk-through.md follows it through the compiler.
mf.model @two_layers attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  mf.param @embedding.weight : tensor<16x8xf32> init <normal, value = 0.02>
  mf.param @layers.0.norm.weight : tensor<8xf32> init <ones>
  mf.param @layers.0.w1.weight : tensor<8x8xf32> init <normal, value = 0.02>
  mf.param @layers.1.norm.weight : tensor<8xf32> init <ones>
  mf.param @layers.1.w1.weight : tensor<8x8xf32> init <normal, value = 0.02>
  mf.param @lm_head.weight : tensor<16x8xf32> init <normal, value = 0.02>
  mf.layer @embedding embedding (%tokens: tensor<1x4xi32>) -> tensor<1x4x8xf32> {
    %table = mf.get_param @embedding.weight : tensor<16x8xf32>
    %x = mf.embedding %table, %tokens {name = "gather"} : (tensor<16x8xf32>, tensor<1x4xi32>) -> tensor<1x4x8xf32>
    mf.return %x : tensor<1x4x8xf32>
  }
  mf.layer @layers.0 body (%x: tensor<1x4x8xf32>) -> tensor<1x4x8xf32> {
    %gamma = mf.get_param @layers.0.norm.weight : tensor<8xf32>
    %n, %rstd = mf.rms_norm %x, %gamma {epsilon = 1.0e-5, name = "ffn_norm.norm"} : (tensor<1x4x8xf32>, tensor<8xf32>) -> (tensor<1x4x8xf32>, tensor<1x4xf32>)
    %w1 = mf.get_param @layers.0.w1.weight : tensor<8x8xf32>
    %h = mf.matmul %n, %w1 {name = "feed_forward.w1.matmul", transpose_b = true} : (tensor<1x4x8xf32>, tensor<8x8xf32>) -> tensor<1x4x8xf32>
    %a = mf.silu %h {name = "feed_forward.w1.activation.silu"} : (tensor<1x4x8xf32>) -> tensor<1x4x8xf32>
    %g = mf.mul %a, %h {name = "feed_forward.mul"} : (tensor<1x4x8xf32>, tensor<1x4x8xf32>) -> tensor<1x4x8xf32>
    %y = mf.add %x, %g {name = "add"} : (tensor<1x4x8xf32>, tensor<1x4x8xf32>) -> tensor<1x4x8xf32>
    mf.return %y : tensor<1x4x8xf32>
  }
  mf.layer @layers.1 body (%x: tensor<1x4x8xf32>) -> tensor<1x4x8xf32> {
    %gamma = mf.get_param @layers.1.norm.weight : tensor<8xf32>
    %n, %rstd = mf.rms_norm %x, %gamma {epsilon = 1.0e-5, name = "ffn_norm.norm"} : (tensor<1x4x8xf32>, tensor<8xf32>) -> (tensor<1x4x8xf32>, tensor<1x4xf32>)
    %w1 = mf.get_param @layers.1.w1.weight : tensor<8x8xf32>
    %h = mf.matmul %n, %w1 {name = "feed_forward.w1.matmul", transpose_b = true} : (tensor<1x4x8xf32>, tensor<8x8xf32>) -> tensor<1x4x8xf32>
    %a = mf.silu %h {name = "feed_forward.w1.activation.silu"} : (tensor<1x4x8xf32>) -> tensor<1x4x8xf32>
    %g = mf.mul %a, %h {name = "feed_forward.mul"} : (tensor<1x4x8xf32>, tensor<1x4x8xf32>) -> tensor<1x4x8xf32>
    %y = mf.add %x, %g {name = "add"} : (tensor<1x4x8xf32>, tensor<1x4x8xf32>) -> tensor<1x4x8xf32>
    mf.return %y : tensor<1x4x8xf32>
  }
  mf.layer @lm_head head (%x: tensor<1x4x8xf32>, %labels: tensor<4xi32>) -> tensor<f32> {
    %w = mf.get_param @lm_head.weight : tensor<16x8xf32>
    %l = mf.matmul %x, %w {name = "matmul", transpose_b = true} : (tensor<1x4x8xf32>, tensor<16x8xf32>) -> tensor<1x4x16xf32>
    %logits = mf.reshape %l {name = "reshape"} : (tensor<1x4x16xf32>) -> tensor<4x16xf32>
    %loss, %logsumexp, %count = mf.cross_entropy %logits, %labels {name = "loss"} : (tensor<4x16xf32>, tensor<4xi32>) -> (tensor<f32>, tensor<4xf32>, tensor<f32>)
    mf.return %loss : tensor<f32>
  }
}
