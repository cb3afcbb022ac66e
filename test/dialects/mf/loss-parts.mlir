// Names of the losses of layers and functions.
// RUN: %variants %s | %roundtrip --split-input-file --verify-diagnostics | FileCheck %s

mf.model @m attributes {micro_batch_size = 1 : i64, sequence_length = 8 : i64, vocab_size = 16 : i64} {
  // CHECK: mf.layer @a body {{.*}} attributes {mf.losses = {{\[\[}}"lm_loss", 1.000000e+00], ["", 1.000000e+00]]}
  mf.layer @a body (%x: tensor<4xf32>, %l: tensor<f32>) -> (tensor<4xf32>, tensor<f32>, tensor<f32>)
      attributes {mf.losses = [["lm_loss", 1.0], ["", 1.0]]} {
    mf.return %x, %l, %l : tensor<4xf32>, tensor<f32>, tensor<f32>
  }
}

= mf.layer @a body (%x: tensor<4xf32>, %l: tensor<f32>) -> (tensor<4xf32>, tensor<f32>)
+ // expected-error @above {{expected one of mf.losses for each of its 1 losses, but got 2}}
= attributes {mf.losses = [["lm_loss", 1.0], ["aux_loss", 1.0]]} {
= mf.return %x, %l : tensor<4xf32>, tensor<f32>

mf.model @m attributes {micro_batch_size = 1 : i64, sequence_length = 8 : i64, vocab_size = 16 : i64} {
  // expected-error @below {{expected a list of names and units above 0 such as ["lm_loss", 1.0] as mf.losses, but got [["lm_loss", 0.000000e+00]]}}
  mf.layer @a body (%x: tensor<4xf32>, %l: tensor<f32>) -> (tensor<4xf32>, tensor<f32>) attributes {mf.losses = [["lm_loss", 0.0]]} {
    mf.return %x, %l : tensor<4xf32>, tensor<f32>
  }
}

// expected-error @below {{has mf.losses; expected it on a layer, a chunk or a forward function}}
module attributes {mf.losses = []} {}
