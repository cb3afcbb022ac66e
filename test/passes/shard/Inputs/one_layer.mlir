// A layer whose weight two ranks share out by columns: what the descriptions of the sharding passes are about.
module attributes {mf.mesh = #mf.mesh<pp = 1, mp = 2>} {
mf.model @one_layer attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  mf.param @layers.0.attention.wo.weight : tensor<8x8xf32> init <normal, value = 0.02> {cuts = [[], ["mp"]]}
  mf.layer @layers.0 body (%x: tensor<1x4x8xf32>) -> tensor<1x4x8xf32> {
    %w = mf.get_param @layers.0.attention.wo.weight : tensor<8x8xf32>
    %y = mf.matmul %x, %w {name = "attention.wo.matmul", transpose_b = true} : (tensor<1x4x8xf32>, tensor<8x8xf32>) -> tensor<1x4x8xf32>
    mf.return %y : tensor<1x4x8xf32>
  }
}
}
