// What functions and messages for pieces of the sequence look like.
// RUN: %variants %s | %prints-itself %roundtrip

mf.model @layers attributes {micro_batch_size = 1 : i64, sequence_length = 8 : i64, vocab_size = 16 : i64} {
  mf.layer @a body (%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<2xf32>) attributes {future = 1 : i64, placement = #mf.placement<stage = 0, chunk = 0>} {
    %k = mf.slice %x {sizes = array<i64: 2>, starts = array<i64: 0>} : (tensor<4xf32>) -> tensor<2xf32>
    mf.return %x, %k : tensor<4xf32>, tensor<2xf32>
  }
  mf.layer @a.piece1 body (%x: tensor<4xf32>, %k: tensor<2xf32>) -> tensor<4xf32> attributes {past = 1 : i64, placement = #mf.placement<stage = 0, chunk = 0, piece = 1>} {
    mf.return %x : tensor<4xf32>
  }
}

// Three pieces: backward of the second gets gradients of what the first one gave too, and the input that it gave.
mf.model @functions attributes {micro_batch_size = 1 : i64, sequence_length = 8 : i64, vocab_size = 16 : i64} {
  mf.chunk @chunk0.piece1 (%x: tensor<4xf32>, %k: tensor<2xf32>) -> (tensor<4xf32>, tensor<2xf32>) attributes {future = 1 : i64, gradients = [], input_indices = [], inputs = [], past = 1 : i64, placement = #mf.placement<stage = 0, chunk = 1, piece = 1>} {
    %own = mf.slice %x {sizes = array<i64: 2>, starts = array<i64: 0>} : (tensor<4xf32>) -> tensor<2xf32>
    %dy, %dk, %down = mf.cut %x, %k, %own : tensor<4xf32>, tensor<2xf32>, tensor<2xf32>
    mf.return %dy, %dk : tensor<4xf32>, tensor<2xf32>
  }
  mf.forward @chunk1.piece1.forward (%x: tensor<4xf32>, %k: tensor<2xf32>) -> (tensor<4xf32>, tensor<2xf32>) attributes {future = 1 : i64, input_indices = [], inputs = [], outputs = 2 : i64, past = 1 : i64, placement = #mf.placement<stage = 0, chunk = 0, piece = 1>} {
    %own = mf.slice %x {sizes = array<i64: 2>, starts = array<i64: 0>} : (tensor<4xf32>) -> tensor<2xf32>
    mf.return %x, %own : tensor<4xf32>, tensor<2xf32>
  }
  mf.backward @chunk1.piece1.backward (%dy: tensor<4xf32>, %dk: tensor<2xf32>, %down: tensor<2xf32>, %k: tensor<2xf32>, %own: tensor<2xf32>) -> (tensor<4xf32>, tensor<2xf32>) attributes {forward_arguments = [1], forward_outputs = [1], gradients = [], outputs = 3 : i64, placement = #mf.placement<stage = 0, chunk = 0, piece = 1>} {
    mf.return %dy, %dk : tensor<4xf32>, tensor<2xf32>
  }
  mf.schedule stage 1 {
    %x = mf.receive from 0 channel "forward.0" micro_batch 0 piece 1 ahead 2 : tensor<4xf32>
    mf.send %x to 2 channel "forward.1" micro_batch 0 piece 1 behind 3 : tensor<4xf32>
  }
}

%logits, %labels, %all = "test.values"() : () -> (tensor<3x8xf32>, tensor<3xi32>, tensor<6xi32>)
%loss, %logsumexp, %count = mf.cross_entropy %logits, %labels of %all {name = "loss"} : (tensor<3x8xf32>, tensor<3xi32>, tensor<6xi32>) -> (tensor<f32>, tensor<3xf32>, tensor<f32>)
