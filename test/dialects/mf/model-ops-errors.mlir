// RUN: %variants %s | %roundtrip -verify-diagnostics -split-input-file

// A model without errors.
module attributes {mf.mesh = #mf.mesh<pp = 1, mp = 2>} {
mf.model @m attributes {micro_batch_size = 1 : i64, sequence_length = 8 : i64, vocab_size = 16 : i64} {
  mf.param @w : tensor<4xf32> init <ones>
  mf.layer @a body (%x: tensor<4xf32>) -> tensor<4xf32> {
    %w = mf.get_param @w : tensor<4xf32>
    mf.return %w : tensor<4xf32>
  }
}
}

// expected-error @below {{expected micro_batch_size, sequence_length and vocab_size to be positive}}
= mf.model @m attributes {micro_batch_size = 1 : i64, sequence_length = 0 : i64, vocab_size = 16 : i64} {

// expected-error @below {{requires attribute 'vocab_size'}}
= mf.model @m attributes {micro_batch_size = 1 : i64, sequence_length = 8 : i64} {

@ mf.param
+ // expected-error @below {{expected a float tensor type of static shape and at most 2^48 bytes, but got 'tensor<4xi32>'}}
+ mf.param @v : tensor<4xi32> init <ones>

@ mf.param
+ // expected-error @below {{expected a float tensor type of static shape and at most 2^48 bytes, but got 'tensor<?xf32>'}}
+ mf.param @v : tensor<?xf32> init <ones>

@ mf.param
+ // expected-error @below {{expected a parameter that is not tied itself, but got 'nowhere'}}
+ mf.param @v : tensor<4xf32> init <ones> tied to @nowhere

// Ties do not chain.
@ mf.param
+ mf.param @b : tensor<4xf32> init <ones> tied to @w
+ // expected-error @below {{expected a parameter that is not tied itself, but got 'b'}}
+ mf.param @c : tensor<4xf32> init <ones> tied to @b

@ mf.param
+ // expected-error @below {{has type 'tensor<8xf32>', but is tied to 'tensor<4xf32>'}}
+ mf.param @b : tensor<8xf32> init <ones> tied to @w

// expected-error @below {{expected a parameter, but got 'v'}}
= %w = mf.get_param @v : tensor<4xf32>

// expected-note @below {{parameter is here}}
= mf.param @w : tensor<8xf32> init <ones>
// expected-error @below {{has type 'tensor<4xf32>', but the parameter is 'tensor<8xf32>'}}
= %w = mf.get_param @w : tensor<4xf32>

// Layers run in order: each takes what the one before it returns.
@ mf.param
+ // expected-note @below {{layer before it is here}}
@ mf.return
+ }
+ // expected-error @below {{takes 'tensor<8xf32>', but the layer before it returns 'tensor<4xf32>'}}
+ mf.layer @b body (%x: tensor<8xf32>) -> tensor<8xf32> {
+ mf.return %x : tensor<8xf32>

@ mf.return
+ }
+ mf.param @v : tensor<16x4xf32> init <ones>
+ // expected-error @below {{expected an embedding that takes tokens alone to be the first layer}}
+ mf.layer @b embedding (%x: tensor<1x8xi32>) -> tensor<1x8x4xf32> {
+ %y = mf.embedding %v, %x : (tensor<16x4xf32>, tensor<1x8xi32>) -> tensor<1x8x4xf32>
+ mf.return %y : tensor<1x8x4xf32>

// One among layers takes what they give.
@ mf.param
+ // expected-note @below {{layer before it is here}}
@ mf.return
+ }
+ // expected-error @below {{takes 'tensor<8xf32>', but the layer before it returns 'tensor<4xf32>'}}
+ mf.layer @b embedding (%x: tensor<8xf32>) -> tensor<8xf32> {
+ mf.return %x : tensor<8xf32>

// expected-error @below {{joins the next layer, but no body layer follows it}}
= mf.layer @a body (%x: tensor<4xf32>) -> tensor<4xf32> attributes {joins_next} {
@ mf.return
+ }
+ mf.layer @b head (%x: tensor<4xf32>) -> tensor<4xf32> {
+ mf.return %x : tensor<4xf32>

// expected-error @below {{expected embedding, body or head}}
= mf.layer @a tail (%x: tensor<4xf32>) -> tensor<4xf32> {

// expected-error @below {{of kind body expected one or more floating-point arguments and at most one step input behind them, but takes ('tensor<4xf32>', 'tensor<8xi32>', 'tensor<8xi32>')}}
= mf.layer @a body (%x: tensor<4xf32>, %tokens: tensor<8xi32>, %labels: tensor<8xi32>) -> tensor<4xf32> {

// expected-error @below {{of kind head expected floating-point arguments and at most one step input behind them, but takes ()}}
= mf.layer @a head () -> tensor<4xf32> {

// expected-error @below {{expected one or more floating-point results, but returns ('tensor<4xf32>', 'tensor<8xi32>')}}
= mf.layer @a head (%x: tensor<4xf32>, %labels: tensor<8xi32>) -> (tensor<4xf32>, tensor<8xi32>) {
= mf.return %x, %labels : tensor<4xf32>, tensor<8xi32>

// A layer takes all results of the one before it but its losses.
mf.model @m attributes {micro_batch_size = 1 : i64, sequence_length = 8 : i64, vocab_size = 16 : i64} {
  // expected-note @below {{layer before it is here}}
  mf.layer @a body (%x: tensor<4xf32>, %loss: tensor<f32>) -> (tensor<4xf32>, tensor<8xf32>, tensor<f32>) {
    mf.return %x, %w, %loss : tensor<4xf32>, tensor<8xf32>, tensor<f32>
  }
  mf.param @w : tensor<8xf32> init <ones>
  // expected-error @below {{takes 'tensor<4xf32>', but the layer before it returns 'tensor<4xf32>', 'tensor<8xf32>'}}
  mf.layer @b body (%x: tensor<4xf32>) -> tensor<4xf32> {
    mf.return %x : tensor<4xf32>
  }
}

// expected-note @below {{function is here}}
= mf.layer @a body (%x: tensor<4xf32>) -> tensor<8xf32> {
@ %w
+ // expected-error @below {{returns ('tensor<4xf32>'), but the function's results are ('tensor<8xf32>')}}

// A layer stands in a model.
// expected-error @below {{expects parent op 'mf.model'}}
mf.layer @a body (%x: tensor<4xf32>) -> tensor<4xf32> {
  mf.return %x : tensor<4xf32>
}

// A layer has a body.
- mf.layer
- ...
- mf.return
+ // expected-error @below {{region #0 ('body') failed to verify constraint: region with 1 blocks}}
+ mf.layer @a head () -> tensor<4xf32> {

@ mf.param
+ // expected-error @below {{expected a float tensor type of static shape and at most 2^48 bytes}}
+ mf.param @v : tensor<281474976710657xf32> init <zeros>

// Functions take tensors.
// expected-error @below {{expected arguments and results to be statically shaped tensors of at most 2^48 bytes, but got 'i32'}}
= mf.layer @l head (%x: i32) -> tensor<4xf32> {

@ mf.param
+ // expected-error @below {{expected coordinates to be a frozen tensor<...xi32> of one dimension, but got 'tensor<4xi32>'}}
+ mf.param @first : tensor<4xi32> init <coordinate, value = 2.0>

@ mf.param
+ // expected-error @below {{expected dimension 0 of 'tensor<3x4xf32>' to be a multiple of 2, the ranks of ["mp"]}}
+ mf.param @v : tensor<3x4xf32> init <ones> layout <[[mp], []]>

@ mf.param
+ // expected-error @below {{expected a layout of 'tensor<4x4xf32>' that is not partial, but got #mf.layout<[[], []], partial = [mp]>}}
+ mf.param @v : tensor<4x4xf32> init <ones> layout <[[], []], partial = [mp]>

@ mf.param
+ // expected-error @below {{expected axes of #mf.mesh<pp = 1, mp = 2>, but got "dp"}}
+ mf.param @v : tensor<4x4xf32> init <ones> layout <[[dp], []]>

@ mf.param
+ // expected-note @below {{parameter is here}}
+ mf.param @v : tensor<4x4xf32> init <ones> layout <[[mp], []]>
@ %w
+ // expected-error @below {{has type 'tensor<4x4xf32>', but the parameter is 'tensor<2x4xf32>'}}
+ %v = mf.get_param @v : tensor<4x4xf32>

@ mf.param
+ // expected-error @below {{expected a weight of two or three dimensions where there are matrices, but got 'tensor<8xf32>'}}
+ mf.param @v : tensor<8xf32> init <ones> {matrices = #mf.matrices<dim = 0, sizes = [1, 1]>}

@ mf.param
+ // expected-error @below {{has 9 columns, which parts of [2, 3] and what is behind them do not fill}}
+ mf.param @v : tensor<8x9xf32> init <ones> {matrices = #mf.matrices<dim = 1, sizes = [2, 3], rest = [3]>}
