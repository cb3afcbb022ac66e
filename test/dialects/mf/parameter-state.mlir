// RUN: %variants %s | %prints-itself %roundtrip

// Ranks share the storage of @w out; its readers find it put together. Of
// @layers.0.w1.weight each has the whole, and a summand of its gradient.
module attributes {mf.mesh = #mf.mesh<pp = 1, dp = 2, cp = 2, mp = 2>} {
  mf.model @shared_out attributes {micro_batch_size = 2 : i64, sequence_length = 8 : i64, vocab_size = 16 : i64} {
    mf.param @w : tensor<16x8xf32> init <zeros> layout <[[mp], []], reduced = [dp]> stored <[[mp, dp], []]> {gathered = tensor<8x8xbf16>}
    mf.param @v : tensor<16x8xf32> init <zeros> layout <[[mp], []], reduced = [dp]> stored <[[mp, dp], []]> {gathered = tensor<8x8xf32>, scatter_gradients}
    mf.param @layers.0.w1.weight : tensor<8x8xf32> init <ones> layout <[[], []], reduced = [dp, cp]> {parallel_optimizer = false}
    mf.forward @f (%x: tensor<8x8xbf16>) -> tensor<8x8xbf16> attributes {input_indices = [], inputs = [], placement = #mf.placement<stage = 0, chunk = 0>} {
      %w = mf.get_param @w : tensor<8x8xbf16>
      mf.return %w : tensor<8x8xbf16>
    }
    mf.backward @b (%g: tensor<8x8xbf16>) -> tensor<8x8xf32> attributes {forward_arguments = [], gradients = [@layers.0.w1.weight], placement = #mf.placement<stage = 0, chunk = 0>} {
      %c = mf.cast %g {name = "cast"} : (tensor<8x8xbf16>) -> tensor<8x8xf32>
      mf.return %c : tensor<8x8xf32>
    }
    mf.update @update0 (%lr: tensor<f32>, %step: tensor<f32>) attributes {stage = 0 : i64} {
      mf.reduce_gradient @layers.0.w1.weight over ["dp", "cp"]
      mf.return
    }
  }
}
