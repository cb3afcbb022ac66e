// A linear layer that gets adapters, behind an embedding and in front of a head that stay as they are.
mf.model @one_linear attributes {lora = #mf.lora<rank = 2, alpha = 8.0, dropout = 0.0, target = "w1", name_a = "mindpet_delta_lora_a", name_b = "mindpet_delta_lora_b">, micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  mf.param @model.embedding.weight : tensor<16x6xf32> init <normal, value = 2.000000e-02>
  mf.param @model.layers.0.w1.weight : tensor<8x6xf32> init <normal, value = 2.000000e-02>
  mf.param @lm_head.weight : tensor<16x8xf32> init <normal, value = 2.000000e-02>
  mf.layer @embedding embedding (%tokens: tensor<1x4xi32>) -> tensor<1x4x6xf32> {
    %table = mf.get_param @model.embedding.weight : tensor<16x6xf32>
    %x = mf.embedding %table, %tokens {name = "gather"} : (tensor<16x6xf32>, tensor<1x4xi32>) -> tensor<1x4x6xf32>
    mf.return %x : tensor<1x4x6xf32>
  }
  mf.layer @layers.0 body (%x: tensor<1x4x6xf32>) -> tensor<1x4x8xf32> {
    %w = mf.get_param @model.layers.0.w1.weight : tensor<8x6xf32>
    %y = mf.matmul %x, %w {name = "w1.matmul", transpose_b = true} : (tensor<1x4x6xf32>, tensor<8x6xf32>) -> tensor<1x4x8xf32>
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
