// Copies of activations between the device and the host print as they parse.
// RUN: %variants %s | %prints-itself %roundtrip

mf.model @m attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  mf.forward @f (%x: tensor<4xf32>) -> (tensor<4xf32>, !mf.host<tensor<4xf32>>) attributes {input_indices = [], inputs = [], placement = #mf.placement<stage = 0, chunk = 0>} {
    %y = mf.silu %x {name = "silu", swap = #mf.swap<distance = 3>} : (tensor<4xf32>) -> tensor<4xf32>
    %h = mf.offload %y {distance = 3 : i64, name = "silu"} : tensor<4xf32>
    mf.return %y, %h : tensor<4xf32>, !mf.host<tensor<4xf32>>
  }
  mf.backward @b (%dy: tensor<4xf32>, %h: !mf.host<tensor<4xf32>>) -> tensor<4xf32> attributes {forward_arguments = [], gradients = [], placement = #mf.placement<stage = 0, chunk = 0>} {
    %y = mf.prefetch %h {distance = 3 : i64} : tensor<4xf32>
    %dx = mf.mul %dy, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    mf.return %dx : tensor<4xf32>
  }
}
