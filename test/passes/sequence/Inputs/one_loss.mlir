mf.model @one_loss attributes {micro_batch_size = 1 : i64, sequence_length = 6 : i64, vocab_size = 8 : i64} {
  mf.param @w : tensor<8x4xbf16> init <zeros>
  mf.layer @head head (%x: tensor<1x6x4xbf16>, %labels: tensor<1x6xi32>) -> tensor<f32> attributes {input_indices = [1], inputs = [#mf<input_kind labels>]} {
    %w = mf.get_param @w : tensor<8x4xbf16>
    %y = mf.reshape %labels {name = "reshape"} : (tensor<1x6xi32>) -> tensor<6xi32>
    %l = mf.matmul %x, %w {name = "matmul", transpose_b = true} : (tensor<1x6x4xbf16>, tensor<8x4xbf16>) -> tensor<1x6x8xbf16>
    %f = mf.cast %l {name = "cast"} : (tensor<1x6x8xbf16>) -> tensor<1x6x8xf32>
    %r = mf.reshape %f {name = "reshape"} : (tensor<1x6x8xf32>) -> tensor<6x8xf32>
    %loss, %logsumexp, %count = mf.cross_entropy %r, %y {name = "loss"} : (tensor<6x8xf32>, tensor<6xi32>) -> (tensor<f32>, tensor<6xf32>, tensor<f32>)
    mf.return %loss : tensor<f32>
  }
}
