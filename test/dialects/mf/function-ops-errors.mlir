// RUN: %variants %s | %roundtrip -verify-diagnostics -split-input-file

// A chunk and the functions of another, without errors.
mf.model @m attributes {micro_batch_size = 1 : i64, sequence_length = 8 : i64, vocab_size = 16 : i64} {
  mf.param @w : tensor<4xf32> init <ones>
  mf.chunk @c (%a: tensor<4xf32>) -> tensor<4xf32>
      attributes {placement = #mf.placement<stage = 0, chunk = 1>, inputs = [], input_indices = [], gradients = []} {
    %da = mf.cut %a : tensor<4xf32>
    mf.return %da : tensor<4xf32>
  }
  mf.forward @f (%x: tensor<4xf32>) -> tensor<4xf32>
      attributes {placement = #mf.placement<stage = 0, chunk = 0>, inputs = [], input_indices = []} {
    mf.return %x : tensor<4xf32>
  }
  mf.backward @b (%dy: tensor<4xf32>) -> tensor<4xf32>
      attributes {placement = #mf.placement<stage = 0, chunk = 0>, forward_arguments = [], gradients = []} {
    mf.return %dy : tensor<4xf32>
  }
}

@ mf.param
+ // expected-error @below {{expected one mf.cut, but has 0}}
- %da = mf.cut
- mf.return %da
+ mf.return %a : tensor<4xf32>

@ mf.param
+ // expected-error @below {{expected one mf.cut, but has 2}}
@ %da = mf.cut
+ %b = mf.cut %a : tensor<4xf32>

@ mf.param
+ // expected-error @below {{expected one index for each of its 1 step inputs, but has 0}}
= attributes {placement = #mf.placement<stage = 0, chunk = 1>, inputs = [#mf<input_kind tokens>], input_indices = [], gradients = []} {

// A step input is one of the arguments.
// expected-error @below {{expected step inputs to be different arguments below 2, but got index 2}}
= mf.chunk @c (%a: tensor<4xf32>, %labels: tensor<8xi32>) -> tensor<4xf32>
= attributes {placement = #mf.placement<stage = 0, chunk = 1>, inputs = [#mf<input_kind labels>], input_indices = [2], gradients = []} {

// The gradients of all hidden inputs are returned.
// expected-error @below {{expected 2 results, the gradients of its hidden inputs and those of its parameters, but has 1}}
= mf.chunk @c (%a: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32>

// expected-error @below {{expected 1 results, the gradients of its hidden inputs and those of its parameters, but has 2}}
= mf.chunk @c (%a: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
= mf.return %da, %da : tensor<4xf32>, tensor<4xf32>

// Forward returns at least the chunk's output.
// expected-error @below {{expected its outputs as its first results, but has 0 results for 1 outputs}}
= mf.forward @f (%x: tensor<4xf32>)
- mf.return %x
+ mf.return

// expected-error @below {{expected 2 parameter gradients and 0 kept values behind the gradients of hidden inputs, but has 1 results}}
= mf.backward @b (%dy: tensor<4xf32>) -> tensor<4xf32>
= attributes {placement = #mf.placement<stage = 0, chunk = 0>, forward_arguments = [], gradients = [@v, @w]} {

// expected-error @below {{expected the gradients of 1 outputs and 2 arguments of forward, but has only 2 arguments}}
= mf.backward @b (%dy: tensor<4xf32>, %x: tensor<4xf32>) -> tensor<4xf32>
= attributes {placement = #mf.placement<stage = 0, chunk = 0>, forward_arguments = [0, 1], gradients = [@w]} {

// A cut stands in a chunk.
mf.model @m attributes {micro_batch_size = 1 : i64, sequence_length = 8 : i64, vocab_size = 16 : i64} {
  mf.layer @l body (%x: tensor<4xf32>) -> tensor<4xf32> {
    // expected-error @below {{expects parent op 'mf.chunk'}}
    %dx = mf.cut %x : tensor<4xf32>
    mf.return %dx : tensor<4xf32>
  }
}

// expected-error @below {{expected arguments and results to be statically shaped tensors of at most 2^48 bytes, but got 'tensor<*xf32>'}}
= mf.forward @f (%x: tensor<*xf32>) -> tensor<*xf32>
= mf.return %x : tensor<*xf32>

// Gradients are those of parameters, and of their type.
// expected-error @below {{expected a parameter, but got 'v'}}
= mf.backward @b (%dy: tensor<4xf32>) -> tensor<4xf32>
= attributes {placement = #mf.placement<stage = 0, chunk = 0>, forward_arguments = [], gradients = [@v]} {

- mf.chunk
+ mf.param @v : tensor<8xf32> init <ones>
+ // expected-error @below {{returns 'tensor<4xf32>' as gradient of 'v', which is 'tensor<8xf32>'}}
+ mf.chunk @c (%a: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
= attributes {placement = #mf.placement<stage = 0, chunk = 1>, inputs = [], input_indices = [], gradients = [@v]} {
= mf.return %da, %da : tensor<4xf32>, tensor<4xf32>

// expected-error @below {{expected arguments of forward by number, but got -1}}
= mf.backward @b (%dy: tensor<4xf32>, %x: tensor<4xf32>) -> tensor<4xf32>
= attributes {placement = #mf.placement<stage = 0, chunk = 0>, forward_arguments = [-1], gradients = []} {

// expected-error @below {{expected one or more outputs and no negative number of kept values, but got 1 and -1}}
= mf.backward @b (%dy: tensor<4xf32>) -> tensor<4xf32>
= attributes {placement = #mf.placement<stage = 0, chunk = 0>, forward_arguments = [], gradients = [], kept = -1 : i64} {

// Backward takes what forward gives.
// expected-note @below {{forward is here}}
= mf.forward @f (%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
= mf.return %x, %x : tensor<4xf32>, tensor<4xf32>
// expected-error @below {{takes ('tensor<4xf32>', 'tensor<8xf32>'), but the functions of its placement give it ('tensor<4xf32>', 'tensor<4xf32>')}}
= mf.backward @b (%dy: tensor<4xf32>, %kept: tensor<8xf32>) -> tensor<4xf32>

// expected-error @below {{reads argument 1 of its forward function, which has 1}}
= mf.backward @b (%dy: tensor<4xf32>, %x: tensor<4xf32>) -> tensor<4xf32>
= attributes {placement = #mf.placement<stage = 0, chunk = 0>, forward_arguments = [1], gradients = []} {

// The weight half takes all residuals and all kept values.
// expected-note @below {{forward is here}}
= mf.forward @f (%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<8xf32>)
- mf.return %x
+ mf.return %x, %r : tensor<4xf32>, tensor<8xf32>
- mf.backward
- ...
- mf.return %dy
+ mf.param @r : tensor<8xf32> init <ones> {frozen}
+ mf.backward @b (%dy: tensor<4xf32>, %kept: tensor<8xf32>) -> (tensor<4xf32>, tensor<4xf32>)
+     attributes {placement = #mf.placement<stage = 0, chunk = 0>, forward_arguments = [], gradients = [], kept = 1 : i64} {
+   mf.return %dy, %dy : tensor<4xf32>, tensor<4xf32>
+ }
+ // expected-error @below {{takes ('tensor<4xf32>'), but the functions of its placement give it ('tensor<8xf32>', 'tensor<4xf32>')}}
+ mf.backward_weights @d (%kept: tensor<4xf32>) -> tensor<4xf32>
+     attributes {placement = #mf.placement<stage = 0, chunk = 0>, output_gradients = [], forward_arguments = [], gradients = [@w]} {
+   mf.return %kept : tensor<4xf32>

// One half makes a gradient.
= mf.backward @b (%dy: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
= attributes {placement = #mf.placement<stage = 0, chunk = 0>, forward_arguments = [], gradients = [@w]} {
+ mf.return %dy, %dy : tensor<4xf32>, tensor<4xf32>
+ }
+ // expected-error @below {{makes the gradient of @w, as does 'b'}}
+ mf.backward_weights @d (%dy: tensor<4xf32>) -> tensor<4xf32>
+ attributes {placement = #mf.placement<stage = 0, chunk = 0>, output_gradients = [0], forward_arguments = [], gradients = [@w]} {

@ mf.return %dy
+ }
+ // expected-error @below {{expected 1 parameter gradients, but has 2 results}}
+ mf.backward_weights @d (%dy: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
+     attributes {placement = #mf.placement<stage = 0, chunk = 0>, output_gradients = [0], forward_arguments = [], gradients = [@w]} {
+   mf.return %dy, %dy : tensor<4xf32>, tensor<4xf32>

@ mf.return %dy
+ }
+ // expected-error @below {{expected the gradients of 1 outputs and 1 arguments of forward, but has only 1 arguments}}
+ mf.backward_weights @d (%dy: tensor<4xf32>)
+     attributes {placement = #mf.placement<stage = 0, chunk = 0>, output_gradients = [0], forward_arguments = [0], gradients = []} {
+   mf.return

@ mf.return %dy
+ }
+ // expected-error @below {{expected outputs of forward by number, but got -1}}
+ mf.backward_weights @d (%dy: tensor<4xf32>)
+     attributes {placement = #mf.placement<stage = 0, chunk = 0>, output_gradients = [-1], forward_arguments = [], gradients = []} {
+   mf.return

// Recompute reads what forward has kept, and backward what it makes.
// expected-note @below {{forward is here}}
= mf.forward @f (%x: tensor<4xf32>) -> tensor<4xf32>
- mf.backward
+ mf.recompute @r (%x: tensor<4xf32>) -> tensor<4xf32>
+     attributes {placement = #mf.placement<stage = 0, chunk = 0>, forward_arguments = [0]} {
+   mf.return %x : tensor<4xf32>
+ }
+ // expected-error @below {{takes ('tensor<4xf32>'), but the functions of its placement give it ('tensor<4xf32>', 'tensor<4xf32>')}}
+ mf.backward @b (%dy: tensor<4xf32>) -> tensor<4xf32>

@ mf.return %x
+ }
+ // expected-error @below {{reads argument 1 of its forward function, which has 1}}
+ mf.recompute @r (%x: tensor<4xf32>) -> tensor<4xf32>
+     attributes {placement = #mf.placement<stage = 0, chunk = 0>, forward_arguments = [1]} {
+   mf.return %x : tensor<4xf32>

@ mf.return %x
+ }
+ // expected-error @below {{expected 1 arguments and outputs of forward, but has only 0 arguments}}
+ mf.recompute @r ()
+     attributes {placement = #mf.placement<stage = 0, chunk = 0>, forward_arguments = [0]} {
+   mf.return
