// An embedding whose table is also the weight of two layers and of the head.
mf.model @tied_layers attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  mf.param @table : tensor<16x8xf32> init <normal, value = 0.5>
  mf.param @copy : tensor<16x8xf32> init <normal, value = 0.5> tied to @table
  mf.param @first : tensor<16x8xf32> init <normal, value = 0.5> tied to @table
  mf.param @head : tensor<16x8xf32> init <normal, value = 0.5> tied to @table
  mf.param @gamma : tensor<8xf32> init <ones>
  mf.layer @embedding embedding (%tokens: tensor<1x4xi32>) -> tensor<1x4x8xf32> {
    %table = mf.get_param @table : tensor<16x8xf32>
    %x = mf.embedding %table, %tokens {name = "gather"} : (tensor<16x8xf32>, tensor<1x4xi32>) -> tensor<1x4x8xf32>
    mf.return %x : tensor<1x4x8xf32>
  }
  mf.layer @layers.0 body (%x: tensor<1x4x8xf32>) -> tensor<1x4x8xf32> {
    %w = mf.get_param @copy : tensor<16x8xf32>
    %h = mf.matmul %x, %w {name = "up", transpose_b = true} : (tensor<1x4x8xf32>, tensor<16x8xf32>) -> tensor<1x4x16xf32>
    %a = mf.silu %h {name = "silu"} : (tensor<1x4x16xf32>) -> tensor<1x4x16xf32>
    %d = mf.matmul %a, %w {name = "down"} : (tensor<1x4x16xf32>, tensor<16x8xf32>) -> tensor<1x4x8xf32>
    %y = mf.add %x, %d {name = "add"} : (tensor<1x4x8xf32>, tensor<1x4x8xf32>) -> tensor<1x4x8xf32>
    mf.return %y : tensor<1x4x8xf32>
  }
  mf.layer @layers.1 body (%x: tensor<1x4x8xf32>) -> tensor<1x4x8xf32> {
    %w = mf.get_param @first : tensor<16x8xf32>
    %h = mf.matmul %x, %w {name = "up", transpose_b = true} : (tensor<1x4x8xf32>, tensor<16x8xf32>) -> tensor<1x4x16xf32>
    %a = mf.silu %h {name = "silu"} : (tensor<1x4x16xf32>) -> tensor<1x4x16xf32>
    %d = mf.matmul %a, %w {name = "down"} : (tensor<1x4x16xf32>, tensor<16x8xf32>) -> tensor<1x4x8xf32>
    %y = mf.add %x, %d {name = "add"} : (tensor<1x4x8xf32>, tensor<1x4x8xf32>) -> tensor<1x4x8xf32>
    mf.return %y : tensor<1x4x8xf32>
  }
  mf.layer @layers.2 body (%x: tensor<1x4x8xf32>) -> tensor<1x4x8xf32> {
    %gamma = mf.get_param @gamma : tensor<8xf32>
    %y, %rstd = mf.rms_norm %x, %gamma {epsilon = 1.0e-5, name = "norm"} : (tensor<1x4x8xf32>, tensor<8xf32>) -> (tensor<1x4x8xf32>, tensor<1x4xf32>)
    mf.return %y : tensor<1x4x8xf32>
  }
  mf.layer @lm_head head (%x: tensor<1x4x8xf32>, %labels: tensor<4xi32>) -> tensor<f32> {
    %w = mf.get_param @head : tensor<16x8xf32>
    %l = mf.matmul %x, %w {name = "matmul", transpose_b = true} : (tensor<1x4x8xf32>, tensor<16x8xf32>) -> tensor<1x4x16xf32>
    %logits = mf.reshape %l {name = "reshape"} : (tensor<1x4x16xf32>) -> tensor<4x16xf32>
    %loss, %logsumexp, %count = mf.cross_entropy %logits, %labels {name = "loss"} : (tensor<4x16xf32>, tensor<4xi32>) -> (tensor<f32>, tensor<4xf32>, tensor<f32>)
    mf.return %loss : tensor<f32>
  }
}
