// Layers 0, 1 and 3 have auxiliary losses, layer 1 two of them.
mf.model @auxiliary_losses attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 256 : i64} {
  mf.param @table : tensor<256x8xf32> init <normal, value = 0.5>
  mf.param @up.0 : tensor<16x8xf32> init <normal, value = 0.5>
  mf.param @down.0 : tensor<8x16xf32> init <normal, value = 0.5>
  mf.param @up.1 : tensor<16x8xf32> init <normal, value = 0.5>
  mf.param @down.1 : tensor<8x16xf32> init <normal, value = 0.5>
  mf.param @up.2 : tensor<16x8xf32> init <normal, value = 0.5>
  mf.param @down.2 : tensor<8x16xf32> init <normal, value = 0.5>
  mf.param @up.3 : tensor<16x8xf32> init <normal, value = 0.5>
  mf.param @down.3 : tensor<8x16xf32> init <normal, value = 0.5>
  mf.param @head : tensor<256x8xf32> init <normal, value = 0.5>
  mf.layer @embedding embedding (%tokens: tensor<1x4xi32>) -> tensor<1x4x8xf32> {
    %table = mf.get_param @table : tensor<256x8xf32>
    %x = mf.embedding %table, %tokens {name = "gather"} : (tensor<256x8xf32>, tensor<1x4xi32>) -> tensor<1x4x8xf32>
    mf.return %x : tensor<1x4x8xf32>
  }
  mf.layer @layers.0 body (%x: tensor<1x4x8xf32>) -> (tensor<1x4x8xf32>, tensor<f32>) {
    %up = mf.get_param @up.0 : tensor<16x8xf32>
    %h = mf.matmul %x, %up {name = "up", transpose_b = true} : (tensor<1x4x8xf32>, tensor<16x8xf32>) -> tensor<1x4x16xf32>
    %a = mf.silu %h {name = "silu"} : (tensor<1x4x16xf32>) -> tensor<1x4x16xf32>
    %down = mf.get_param @down.0 : tensor<8x16xf32>
    %d = mf.matmul %a, %down {name = "down", transpose_b = true} : (tensor<1x4x16xf32>, tensor<8x16xf32>) -> tensor<1x4x8xf32>
    %y = mf.add %x, %d {name = "add"} : (tensor<1x4x8xf32>, tensor<1x4x8xf32>) -> tensor<1x4x8xf32>
    %aux.square = mf.mul %a, %a {name = "aux.mul"} : (tensor<1x4x16xf32>, tensor<1x4x16xf32>) -> tensor<1x4x16xf32>
    %aux = mf.reduce_sum %aux.square {axes = array<i64: 0, 1, 2>, name = "aux"} : (tensor<1x4x16xf32>) -> tensor<f32>
    mf.return %y, %aux : tensor<1x4x8xf32>, tensor<f32>
  }
  mf.layer @layers.1 body (%x: tensor<1x4x8xf32>) -> (tensor<1x4x8xf32>, tensor<f32>, tensor<f32>) {
    %up = mf.get_param @up.1 : tensor<16x8xf32>
    %h = mf.matmul %x, %up {name = "up", transpose_b = true} : (tensor<1x4x8xf32>, tensor<16x8xf32>) -> tensor<1x4x16xf32>
    %a = mf.silu %h {name = "silu"} : (tensor<1x4x16xf32>) -> tensor<1x4x16xf32>
    %down = mf.get_param @down.1 : tensor<8x16xf32>
    %d = mf.matmul %a, %down {name = "down", transpose_b = true} : (tensor<1x4x16xf32>, tensor<8x16xf32>) -> tensor<1x4x8xf32>
    %y = mf.add %x, %d {name = "add"} : (tensor<1x4x8xf32>, tensor<1x4x8xf32>) -> tensor<1x4x8xf32>
    %aux.square = mf.mul %a, %a {name = "aux.mul"} : (tensor<1x4x16xf32>, tensor<1x4x16xf32>) -> tensor<1x4x16xf32>
    %aux = mf.reduce_sum %aux.square {axes = array<i64: 0, 1, 2>, name = "aux"} : (tensor<1x4x16xf32>) -> tensor<f32>
    %aux2.square = mf.mul %d, %d {name = "aux2.mul"} : (tensor<1x4x8xf32>, tensor<1x4x8xf32>) -> tensor<1x4x8xf32>
    %aux2 = mf.reduce_sum %aux2.square {axes = array<i64: 0, 1, 2>, name = "aux2"} : (tensor<1x4x8xf32>) -> tensor<f32>
    mf.return %y, %aux, %aux2 : tensor<1x4x8xf32>, tensor<f32>, tensor<f32>
  }
  mf.layer @layers.2 body (%x: tensor<1x4x8xf32>) -> tensor<1x4x8xf32> {
    %up = mf.get_param @up.2 : tensor<16x8xf32>
    %h = mf.matmul %x, %up {name = "up", transpose_b = true} : (tensor<1x4x8xf32>, tensor<16x8xf32>) -> tensor<1x4x16xf32>
    %a = mf.silu %h {name = "silu"} : (tensor<1x4x16xf32>) -> tensor<1x4x16xf32>
    %down = mf.get_param @down.2 : tensor<8x16xf32>
    %d = mf.matmul %a, %down {name = "down", transpose_b = true} : (tensor<1x4x16xf32>, tensor<8x16xf32>) -> tensor<1x4x8xf32>
    %y = mf.add %x, %d {name = "add"} : (tensor<1x4x8xf32>, tensor<1x4x8xf32>) -> tensor<1x4x8xf32>
    mf.return %y : tensor<1x4x8xf32>
  }
  mf.layer @layers.3 body (%x: tensor<1x4x8xf32>) -> (tensor<1x4x8xf32>, tensor<f32>) {
    %up = mf.get_param @up.3 : tensor<16x8xf32>
    %h = mf.matmul %x, %up {name = "up", transpose_b = true} : (tensor<1x4x8xf32>, tensor<16x8xf32>) -> tensor<1x4x16xf32>
    %a = mf.silu %h {name = "silu"} : (tensor<1x4x16xf32>) -> tensor<1x4x16xf32>
    %down = mf.get_param @down.3 : tensor<8x16xf32>
    %d = mf.matmul %a, %down {name = "down", transpose_b = true} : (tensor<1x4x16xf32>, tensor<8x16xf32>) -> tensor<1x4x8xf32>
    %y = mf.add %x, %d {name = "add"} : (tensor<1x4x8xf32>, tensor<1x4x8xf32>) -> tensor<1x4x8xf32>
    %aux.square = mf.mul %a, %a {name = "aux.mul"} : (tensor<1x4x16xf32>, tensor<1x4x16xf32>) -> tensor<1x4x16xf32>
    %aux = mf.reduce_sum %aux.square {axes = array<i64: 0, 1, 2>, name = "aux"} : (tensor<1x4x16xf32>) -> tensor<f32>
    mf.return %y, %aux : tensor<1x4x8xf32>, tensor<f32>
  }
  mf.layer @lm_head head (%x: tensor<1x4x8xf32>, %labels: tensor<4xi32>) -> tensor<f32> {
    %w = mf.get_param @head : tensor<256x8xf32>
    %l = mf.matmul %x, %w {name = "matmul", transpose_b = true} : (tensor<1x4x8xf32>, tensor<256x8xf32>) -> tensor<1x4x256xf32>
    %logits = mf.reshape %l {name = "reshape"} : (tensor<1x4x256xf32>) -> tensor<4x256xf32>
    %loss, %logsumexp, %count = mf.cross_entropy %logits, %labels {name = "loss"} : (tensor<4x256xf32>, tensor<4xi32>) -> (tensor<f32>, tensor<4xf32>, tensor<f32>)
    mf.return %loss : tensor<f32>
  }
}
