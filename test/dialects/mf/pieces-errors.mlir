// RUN: %variants %s | %roundtrip --allow-unregistered-dialect --verify-diagnostics --split-input-file

mf.model @m attributes {micro_batch_size = 1 : i64, sequence_length = 8 : i64, vocab_size = 16 : i64} {
  // expected-error @below {{'mf.layer' op expected from 0 to 1 arguments of earlier pieces and from 0 to 1 values for later ones, but got 2 and 0}}
  mf.layer @a body (%x: tensor<4xf32>) -> tensor<4xf32> attributes {past = 2 : i64} {
    mf.return %x : tensor<4xf32>
  }
}

@ mf.model
+ mf.layer @a body (%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) attributes {future = 1 : i64, placement = #mf.placement<stage = 0, chunk = 0>} {
+ mf.return %x, %x : tensor<4xf32>, tensor<4xf32>
+ }
= // expected-error @below {{'mf.layer' op takes  of earlier pieces of the sequence, but these return 'tensor<4xf32>'}}
= mf.layer @a.piece1 body (%x: tensor<4xf32>) -> tensor<4xf32> attributes {placement = #mf.placement<stage = 0, chunk = 0, piece = 1>} {

mf.model @m attributes {micro_batch_size = 1 : i64, sequence_length = 8 : i64, vocab_size = 16 : i64} {
  // expected-note @below {{forward is here}}
  mf.forward @f (%x: tensor<4xf32>, %k: tensor<2xf32>) -> (tensor<4xf32>, tensor<2xf32>)
      attributes {placement = #mf.placement<stage = 0, chunk = 0, piece = 1>, inputs = [], input_indices = [], outputs = 2 : i64, past = 1 : i64, future = 1 : i64} {
    mf.return %x, %k : tensor<4xf32>, tensor<2xf32>
  }
  // The gradient of what comes from an earlier piece is missing.
  // expected-error @below {{'mf.backward' op takes ('tensor<4xf32>', 'tensor<2xf32>'), but the functions of its placement give it ('tensor<4xf32>', 'tensor<2xf32>', 'tensor<2xf32>')}}
  mf.backward @b (%dy: tensor<4xf32>, %dk: tensor<2xf32>) -> (tensor<4xf32>, tensor<2xf32>)
      attributes {placement = #mf.placement<stage = 0, chunk = 0, piece = 1>, forward_arguments = [], gradients = [], outputs = 2 : i64} {
    mf.return %dy, %dk : tensor<4xf32>, tensor<2xf32>
  }
}

mf.model @m attributes {micro_batch_size = 1 : i64, sequence_length = 8 : i64, vocab_size = 16 : i64} {
  mf.forward @f (%x: tensor<4xf32>) -> tensor<4xf32>
      attributes {placement = #mf.placement<stage = 0, chunk = 0>, inputs = [], input_indices = []} {
    mf.return %x : tensor<4xf32>
  }
  // expected-error @below {{'mf.backward' op reads output 3 of its forward function, which has 1}}
  mf.backward @b (%dy: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32>
      attributes {placement = #mf.placement<stage = 0, chunk = 0>, forward_arguments = [], forward_outputs = [3], gradients = []} {
    mf.return %dy : tensor<4xf32>
  }
}

%logits, %labels, %all = "test.values"() : () -> (tensor<4x8xf32>, tensor<4xi32>, tensor<6xi32>)
// expected-error @below {{'mf.cross_entropy' op expected counted labels of which 'tensor<4xi32>' is a piece, but got 'tensor<6xi32>'}}
%loss, %logsumexp, %count = mf.cross_entropy %logits, %labels of %all : (tensor<4x8xf32>, tensor<4xi32>, tensor<6xi32>) -> (tensor<f32>, tensor<4xf32>, tensor<f32>)
