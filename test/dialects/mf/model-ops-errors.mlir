// RUN: mf-opt -verify-diagnostics -split-input-file %s

// expected-error @below {{expected micro_batch_size, sequence_length and vocab_size to be positive}}
mf.model @m attributes {micro_batch_size = 1 : i64, sequence_length = 0 : i64, vocab_size = 16 : i64} {
}

// -----

// expected-error @below {{requires attribute 'vocab_size'}}
mf.model @m attributes {micro_batch_size = 1 : i64, sequence_length = 8 : i64} {
}

// -----

mf.model @m attributes {micro_batch_size = 1 : i64, sequence_length = 8 : i64, vocab_size = 16 : i64} {
  // expected-error @below {{expected a float tensor type of static shape and at most 2^48 bytes, but got 'tensor<4xi32>'}}
  mf.param @w : tensor<4xi32> init <ones>
}

// -----

mf.model @m attributes {micro_batch_size = 1 : i64, sequence_length = 8 : i64, vocab_size = 16 : i64} {
  // expected-error @below {{expected a float tensor type of static shape and at most 2^48 bytes, but got 'tensor<?xf32>'}}
  mf.param @w : tensor<?xf32> init <ones>
}

// -----

mf.model @m attributes {micro_batch_size = 1 : i64, sequence_length = 8 : i64, vocab_size = 16 : i64} {
  // expected-error @below {{expected a parameter that is not tied itself, but got 'nowhere'}}
  mf.param @w : tensor<4xf32> init <ones> tied to @nowhere
}

// -----

// Ties do not chain.
mf.model @m attributes {micro_batch_size = 1 : i64, sequence_length = 8 : i64, vocab_size = 16 : i64} {
  mf.param @a : tensor<4xf32> init <ones>
  mf.param @b : tensor<4xf32> init <ones> tied to @a
  // expected-error @below {{expected a parameter that is not tied itself, but got 'b'}}
  mf.param @c : tensor<4xf32> init <ones> tied to @b
}

// -----

mf.model @m attributes {micro_batch_size = 1 : i64, sequence_length = 8 : i64, vocab_size = 16 : i64} {
  mf.param @a : tensor<4xf32> init <ones>
  // expected-error @below {{has type 'tensor<8xf32>', but is tied to 'tensor<4xf32>'}}
  mf.param @b : tensor<8xf32> init <ones> tied to @a
}

// -----

mf.model @m attributes {micro_batch_size = 1 : i64, sequence_length = 8 : i64, vocab_size = 16 : i64} {
  mf.layer @l body (%x: tensor<4xf32>) -> tensor<4xf32> {
    // expected-error @below {{expected a parameter, but got 'w'}}
    %w = mf.get_param @w : tensor<4xf32>
    mf.return %w : tensor<4xf32>
  }
}

// -----

mf.model @m attributes {micro_batch_size = 1 : i64, sequence_length = 8 : i64, vocab_size = 16 : i64} {
  // expected-note @below {{parameter is here}}
  mf.param @w : tensor<8xf32> init <ones>
  mf.layer @l body (%x: tensor<4xf32>) -> tensor<4xf32> {
    // expected-error @below {{has type 'tensor<4xf32>', but the parameter is 'tensor<8xf32>'}}
    %w = mf.get_param @w : tensor<4xf32>
    mf.return %w : tensor<4xf32>
  }
}

// -----

// Layers run in order: each takes what the one before it returns.
mf.model @m attributes {micro_batch_size = 1 : i64, sequence_length = 8 : i64, vocab_size = 16 : i64} {
  // expected-note @below {{layer before it is here}}
  mf.layer @a body (%x: tensor<4xf32>) -> tensor<4xf32> {
    mf.return %x : tensor<4xf32>
  }
  // expected-error @below {{takes 'tensor<8xf32>', but the layer before it returns 'tensor<4xf32>'}}
  mf.layer @b body (%x: tensor<8xf32>) -> tensor<8xf32> {
    mf.return %x : tensor<8xf32>
  }
}

// -----

mf.model @m attributes {micro_batch_size = 1 : i64, sequence_length = 8 : i64, vocab_size = 16 : i64} {
  mf.param @w : tensor<16x4xf32> init <ones>
  mf.layer @a body (%x: tensor<1x8x4xf32>) -> tensor<1x8x4xf32> {
    mf.return %x : tensor<1x8x4xf32>
  }
  // expected-error @below {{expected an embedding that takes tokens alone to be the first layer}}
  mf.layer @b embedding (%x: tensor<1x8xi32>) -> tensor<1x8x4xf32> {
    %w = mf.get_param @w : tensor<16x4xf32>
    %y = mf.embedding %w, %x : (tensor<16x4xf32>, tensor<1x8xi32>) -> tensor<1x8x4xf32>
    mf.return %y : tensor<1x8x4xf32>
  }
}

// -----

// One among layers takes what they give.
mf.model @m attributes {micro_batch_size = 1 : i64, sequence_length = 8 : i64, vocab_size = 16 : i64} {
  // expected-note @below {{layer before it is here}}
  mf.layer @a body (%x: tensor<4xf32>) -> tensor<4xf32> {
    mf.return %x : tensor<4xf32>
  }
  // expected-error @below {{takes 'tensor<8xf32>', but the layer before it returns 'tensor<4xf32>'}}
  mf.layer @b embedding (%x: tensor<8xf32>) -> tensor<8xf32> {
    mf.return %x : tensor<8xf32>
  }
}

// -----

mf.model @m attributes {micro_batch_size = 1 : i64, sequence_length = 8 : i64, vocab_size = 16 : i64} {
  // expected-error @below {{joins the next layer, but no body layer follows it}}
  mf.layer @a body (%x: tensor<4xf32>) -> tensor<4xf32> attributes {joins_next} {
    mf.return %x : tensor<4xf32>
  }
  mf.layer @b head (%x: tensor<4xf32>) -> tensor<4xf32> {
    mf.return %x : tensor<4xf32>
  }
}

// -----

mf.model @m attributes {micro_batch_size = 1 : i64, sequence_length = 8 : i64, vocab_size = 16 : i64} {
  // expected-error @below {{expected embedding, body or head}}
  mf.layer @a tail (%x: tensor<4xf32>) -> tensor<4xf32> {
    mf.return %x : tensor<4xf32>
  }
}

// -----

mf.model @m attributes {micro_batch_size = 1 : i64, sequence_length = 8 : i64, vocab_size = 16 : i64} {
  // expected-error @below {{of kind body expected one or more floating-point arguments and at most one step input behind them, but takes ('tensor<4xf32>', 'tensor<8xi32>', 'tensor<8xi32>')}}
  mf.layer @a body (%x: tensor<4xf32>, %tokens: tensor<8xi32>, %labels: tensor<8xi32>) -> tensor<4xf32> {
    mf.return %x : tensor<4xf32>
  }
}

// -----

mf.model @m attributes {micro_batch_size = 1 : i64, sequence_length = 8 : i64, vocab_size = 16 : i64} {
  // expected-error @below {{of kind head expected floating-point arguments and at most one step input behind them, but takes ()}}
  mf.layer @a head () -> tensor<4xf32> {
    %w = mf.get_param @w : tensor<4xf32>
    mf.return %w : tensor<4xf32>
  }
}

// -----

mf.model @m attributes {micro_batch_size = 1 : i64, sequence_length = 8 : i64, vocab_size = 16 : i64} {
  // expected-error @below {{expected one or more floating-point results, but returns ('tensor<4xf32>', 'tensor<8xi32>')}}
  mf.layer @a head (%x: tensor<4xf32>, %labels: tensor<8xi32>) -> (tensor<4xf32>, tensor<8xi32>) {
    mf.return %x, %labels : tensor<4xf32>, tensor<8xi32>
  }
}

// -----

// A layer takes all results of the one before it but its losses.
mf.model @m attributes {micro_batch_size = 1 : i64, sequence_length = 8 : i64, vocab_size = 16 : i64} {
  // expected-note @below {{layer before it is here}}
  mf.layer @a body (%x: tensor<4xf32>, %loss: tensor<f32>) -> (tensor<4xf32>, tensor<8xf32>, tensor<f32>) {
    %w = mf.get_param @w : tensor<8xf32>
    mf.return %x, %w, %loss : tensor<4xf32>, tensor<8xf32>, tensor<f32>
  }
  mf.param @w : tensor<8xf32> init <ones>
  // expected-error @below {{takes 'tensor<4xf32>', but the layer before it returns 'tensor<4xf32>', 'tensor<8xf32>'}}
  mf.layer @b body (%x: tensor<4xf32>) -> tensor<4xf32> {
    mf.return %x : tensor<4xf32>
  }
}

// -----

mf.model @m attributes {micro_batch_size = 1 : i64, sequence_length = 8 : i64, vocab_size = 16 : i64} {
  // expected-note @below {{function is here}}
  mf.layer @a body (%x: tensor<4xf32>) -> tensor<8xf32> {
    // expected-error @below {{returns ('tensor<4xf32>'), but the function's results are ('tensor<8xf32>')}}
    mf.return %x : tensor<4xf32>
  }
}

// -----

// A layer stands in a model.
// expected-error @below {{expects parent op 'mf.model'}}
mf.layer @a body (%x: tensor<4xf32>) -> tensor<4xf32> {
  mf.return %x : tensor<4xf32>
}

// -----

// A layer has a body.
mf.model @m attributes {micro_batch_size = 1 : i64, sequence_length = 8 : i64, vocab_size = 16 : i64} {
  // expected-error @below {{region #0 ('body') failed to verify constraint: region with 1 blocks}}
  mf.layer @a head () -> tensor<4xf32> {
  }
}

// -----

mf.model @m attributes {micro_batch_size = 1 : i64, sequence_length = 8 : i64, vocab_size = 16 : i64} {
  // expected-error @below {{expected one mf.cut, but has 0}}
  mf.chunk @c (%x: tensor<4xf32>) -> tensor<4xf32>
      attributes {placement = #mf.placement<stage = 0, chunk = 0>, inputs = [], input_indices = [], gradients = []} {
    mf.return %x : tensor<4xf32>
  }
}

// -----

mf.model @m attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  // expected-error @below {{expected one mf.cut, but has 2}}
  mf.chunk @with_two_cuts (%x: tensor<4xf32>) -> tensor<4xf32>
      attributes {placement = #mf.placement<stage = 0, chunk = 0>, inputs = [], input_indices = [], gradients = []} {
    %a = mf.cut %x : tensor<4xf32>
    %b = mf.cut %a : tensor<4xf32>
    mf.return %b : tensor<4xf32>
  }
}

// -----

mf.model @m attributes {micro_batch_size = 1 : i64, sequence_length = 8 : i64, vocab_size = 16 : i64} {
  // expected-error @below {{expected one index for each of its 1 step inputs, but has 0}}
  mf.chunk @c (%x: tensor<4xf32>) -> tensor<4xf32>
      attributes {placement = #mf.placement<stage = 0, chunk = 0>, inputs = [#mf<input_kind tokens>], input_indices = [], gradients = []} {
    %dx = mf.cut %x : tensor<4xf32>
    mf.return %dx : tensor<4xf32>
  }
}

// -----

// A step input is one of the arguments.
mf.model @m attributes {micro_batch_size = 1 : i64, sequence_length = 8 : i64, vocab_size = 16 : i64} {
  // expected-error @below {{expected step inputs to be different arguments below 2, but got index 2}}
  mf.chunk @c (%x: tensor<4xf32>, %labels: tensor<8xi32>) -> tensor<4xf32>
      attributes {placement = #mf.placement<stage = 0, chunk = 0>, inputs = [#mf<input_kind labels>], input_indices = [2], gradients = []} {
    %dx = mf.cut %x : tensor<4xf32>
    mf.return %dx : tensor<4xf32>
  }
}

// -----

// The gradients of all hidden inputs are returned.
mf.model @m attributes {micro_batch_size = 1 : i64, sequence_length = 8 : i64, vocab_size = 16 : i64} {
  // expected-error @below {{expected 2 results, the gradients of its hidden inputs and those of its parameters, but has 1}}
  mf.chunk @c (%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32>
      attributes {placement = #mf.placement<stage = 0, chunk = 0>, inputs = [], input_indices = [], gradients = []} {
    %dx = mf.cut %x : tensor<4xf32>
    mf.return %dx : tensor<4xf32>
  }
}

// -----

mf.model @m attributes {micro_batch_size = 1 : i64, sequence_length = 8 : i64, vocab_size = 16 : i64} {
  // expected-error @below {{expected 1 results, the gradients of its hidden inputs and those of its parameters, but has 2}}
  mf.chunk @c (%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
      attributes {placement = #mf.placement<stage = 0, chunk = 0>, inputs = [], input_indices = [], gradients = []} {
    %dx = mf.cut %x : tensor<4xf32>
    mf.return %dx, %dx : tensor<4xf32>, tensor<4xf32>
  }
}

// -----

// Forward returns at least the chunk's output.
mf.model @m attributes {micro_batch_size = 1 : i64, sequence_length = 8 : i64, vocab_size = 16 : i64} {
  // expected-error @below {{expected its outputs as its first results, but has 0 results for 1 outputs}}
  mf.forward @f (%x: tensor<4xf32>)
      attributes {placement = #mf.placement<stage = 0, chunk = 0>, inputs = [], input_indices = []} {
    mf.return
  }
}

// -----

mf.model @m attributes {micro_batch_size = 1 : i64, sequence_length = 8 : i64, vocab_size = 16 : i64} {
  // expected-error @below {{expected 2 parameter gradients and 0 kept values behind the gradients of hidden inputs, but has 1 results}}
  mf.backward @b (%dy: tensor<4xf32>) -> tensor<4xf32>
      attributes {placement = #mf.placement<stage = 0, chunk = 0>, forward_arguments = [], gradients = [@v, @w]} {
    mf.return %dy : tensor<4xf32>
  }
}

// -----

mf.model @m attributes {micro_batch_size = 1 : i64, sequence_length = 8 : i64, vocab_size = 16 : i64} {
  // expected-error @below {{expected the gradients of 1 outputs and 2 arguments of forward, but has only 2 arguments}}
  mf.backward @b (%dy: tensor<4xf32>, %x: tensor<4xf32>) -> tensor<4xf32>
      attributes {placement = #mf.placement<stage = 0, chunk = 0>, forward_arguments = [0, 1], gradients = [@w]} {
    mf.return %dy : tensor<4xf32>
  }
}

// -----

// A cut stands in a chunk.
mf.model @m attributes {micro_batch_size = 1 : i64, sequence_length = 8 : i64, vocab_size = 16 : i64} {
  mf.layer @l body (%x: tensor<4xf32>) -> tensor<4xf32> {
    // expected-error @below {{expects parent op 'mf.chunk'}}
    %dx = mf.cut %x : tensor<4xf32>
    mf.return %dx : tensor<4xf32>
  }
}

// -----

mf.model @m attributes {micro_batch_size = 1 : i64, sequence_length = 8 : i64, vocab_size = 16 : i64} {
  // expected-error @below {{expected a float tensor type of static shape and at most 2^48 bytes}}
  mf.param @w : tensor<281474976710657xf32> init <zeros>
}

// -----

// Functions take tensors.
mf.model @m attributes {micro_batch_size = 1 : i64, sequence_length = 8 : i64, vocab_size = 16 : i64} {
  // expected-error @below {{expected arguments and results to be statically shaped tensors of at most 2^48 bytes, but got 'i32'}}
  mf.layer @l head (%x: i32) -> tensor<4xf32> {
    %w = mf.get_param @w : tensor<4xf32>
    mf.return %w : tensor<4xf32>
  }
}

// -----

mf.model @m attributes {micro_batch_size = 1 : i64, sequence_length = 8 : i64, vocab_size = 16 : i64} {
  // expected-error @below {{expected arguments and results to be statically shaped tensors of at most 2^48 bytes, but got 'tensor<*xf32>'}}
  mf.forward @f (%x: tensor<*xf32>) -> tensor<*xf32>
      attributes {placement = #mf.placement<stage = 0, chunk = 0>, inputs = [], input_indices = []} {
    mf.return %x : tensor<*xf32>
  }
}

// -----

// Gradients are those of parameters, and of their type.
mf.model @m attributes {micro_batch_size = 1 : i64, sequence_length = 8 : i64, vocab_size = 16 : i64} {
  // expected-error @below {{expected a parameter, but got 'w'}}
  mf.backward @b (%dy: tensor<4xf32>) -> tensor<4xf32>
      attributes {placement = #mf.placement<stage = 0, chunk = 0>, forward_arguments = [], gradients = [@w]} {
    mf.return %dy : tensor<4xf32>
  }
}

// -----

mf.model @m attributes {micro_batch_size = 1 : i64, sequence_length = 8 : i64, vocab_size = 16 : i64} {
  mf.param @w : tensor<8xf32> init <ones>
  // expected-error @below {{returns 'tensor<4xf32>' as gradient of 'w', which is 'tensor<8xf32>'}}
  mf.chunk @c (%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
      attributes {placement = #mf.placement<stage = 0, chunk = 0>, inputs = [], input_indices = [], gradients = [@w]} {
    %dx = mf.cut %x : tensor<4xf32>
    mf.return %dx, %dx : tensor<4xf32>, tensor<4xf32>
  }
}

// -----

mf.model @m attributes {micro_batch_size = 1 : i64, sequence_length = 8 : i64, vocab_size = 16 : i64} {
  // expected-error @below {{expected arguments of forward by number, but got -1}}
  mf.backward @b (%dy: tensor<4xf32>, %x: tensor<4xf32>)
      attributes {placement = #mf.placement<stage = 0, chunk = 0>, forward_arguments = [-1], gradients = []} {
    mf.return
  }
}

// -----

mf.model @m attributes {micro_batch_size = 1 : i64, sequence_length = 8 : i64, vocab_size = 16 : i64} {
  // expected-error @below {{expected coordinates to be a frozen tensor<...xi32> of one dimension, but got 'tensor<4xi32>'}}
  mf.param @first : tensor<4xi32> init <coordinate, value = 2.0>
}

// -----

module attributes {mf.mesh = #mf.mesh<pp = 1, mp = 2>} {
mf.model @m attributes {micro_batch_size = 1 : i64, sequence_length = 8 : i64, vocab_size = 16 : i64} {
  // expected-error @below {{expected dimension 0 of 'tensor<3x4xf32>' to be a multiple of 2, the ranks of ["mp"]}}
  mf.param @w : tensor<3x4xf32> init <ones> layout <[[mp], []]>
}
}

// -----

module attributes {mf.mesh = #mf.mesh<pp = 1, mp = 2>} {
mf.model @m attributes {micro_batch_size = 1 : i64, sequence_length = 8 : i64, vocab_size = 16 : i64} {
  // expected-error @below {{expected a layout of 'tensor<4x4xf32>' that is not partial, but got #mf.layout<[[], []], partial = [mp]>}}
  mf.param @w : tensor<4x4xf32> init <ones> layout <[[], []], partial = [mp]>
}
}

// -----

module attributes {mf.mesh = #mf.mesh<pp = 1, mp = 2>} {
mf.model @m attributes {micro_batch_size = 1 : i64, sequence_length = 8 : i64, vocab_size = 16 : i64} {
  // expected-error @below {{expected axes of #mf.mesh<pp = 1, mp = 2>, but got "dp"}}
  mf.param @w : tensor<4x4xf32> init <ones> layout <[[dp], []]>
}
}

// -----

module attributes {mf.mesh = #mf.mesh<pp = 1, mp = 2>} {
mf.model @m attributes {micro_batch_size = 1 : i64, sequence_length = 8 : i64, vocab_size = 16 : i64} {
  // expected-note @below {{parameter is here}}
  mf.param @v : tensor<4x4xf32> init <ones> layout <[[mp], []]>
  mf.layer @layers.0 body (%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
    // expected-error @below {{has type 'tensor<4x4xf32>', but the parameter is 'tensor<2x4xf32>'}}
    %w = mf.get_param @v : tensor<4x4xf32>
    mf.return %w : tensor<4x4xf32>
  }
}
}

// -----

mf.model @m attributes {micro_batch_size = 1 : i64, sequence_length = 8 : i64, vocab_size = 16 : i64} {
  // expected-error @below {{expected one or more outputs and no negative number of kept values, but got 1 and -1}}
  mf.backward @b (%dy: tensor<4xf32>)
      attributes {placement = #mf.placement<stage = 0, chunk = 0>, forward_arguments = [], gradients = [], kept = -1 : i64} {
    mf.return
  }
}

// -----

// Backward takes what forward gives.
mf.model @m attributes {micro_batch_size = 1 : i64, sequence_length = 8 : i64, vocab_size = 16 : i64} {
  // expected-note @below {{forward is here}}
  mf.forward @f (%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
      attributes {placement = #mf.placement<stage = 0, chunk = 0>, inputs = [], input_indices = []} {
    mf.return %x, %x : tensor<4xf32>, tensor<4xf32>
  }
  // expected-error @below {{takes ('tensor<4xf32>', 'tensor<8xf32>'), but the functions of its placement give it ('tensor<4xf32>', 'tensor<4xf32>')}}
  mf.backward @b (%dy: tensor<4xf32>, %kept: tensor<8xf32>) -> tensor<4xf32>
      attributes {placement = #mf.placement<stage = 0, chunk = 0>, forward_arguments = [], gradients = []} {
    mf.return %dy : tensor<4xf32>
  }
}

// -----

mf.model @m attributes {micro_batch_size = 1 : i64, sequence_length = 8 : i64, vocab_size = 16 : i64} {
  mf.forward @f (%x: tensor<4xf32>) -> tensor<4xf32>
      attributes {placement = #mf.placement<stage = 0, chunk = 0>, inputs = [], input_indices = []} {
    mf.return %x : tensor<4xf32>
  }
  // expected-error @below {{reads argument 1 of its forward function, which has 1}}
  mf.backward @b (%dy: tensor<4xf32>, %x: tensor<4xf32>) -> tensor<4xf32>
      attributes {placement = #mf.placement<stage = 0, chunk = 0>, forward_arguments = [1], gradients = []} {
    mf.return %dy : tensor<4xf32>
  }
}

// -----

// The weight half takes all residuals and all kept values.
mf.model @m attributes {micro_batch_size = 1 : i64, sequence_length = 8 : i64, vocab_size = 16 : i64} {
  mf.param @w : tensor<4xf32> init <ones>
  // expected-note @below {{forward is here}}
  mf.forward @f (%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<8xf32>)
      attributes {placement = #mf.placement<stage = 0, chunk = 0>, inputs = [], input_indices = []} {
    %w = mf.get_param @r : tensor<8xf32>
    mf.return %x, %w : tensor<4xf32>, tensor<8xf32>
  }
  mf.param @r : tensor<8xf32> init <ones> {frozen}
  mf.backward @b (%dy: tensor<4xf32>, %kept: tensor<8xf32>) -> (tensor<4xf32>, tensor<4xf32>)
      attributes {placement = #mf.placement<stage = 0, chunk = 0>, forward_arguments = [], gradients = [], kept = 1 : i64} {
    mf.return %dy, %dy : tensor<4xf32>, tensor<4xf32>
  }
  // expected-error @below {{takes ('tensor<4xf32>'), but the functions of its placement give it ('tensor<8xf32>', 'tensor<4xf32>')}}
  mf.backward_weights @c (%kept: tensor<4xf32>) -> tensor<4xf32>
      attributes {placement = #mf.placement<stage = 0, chunk = 0>, output_gradients = [], forward_arguments = [], gradients = [@w]} {
    mf.return %kept : tensor<4xf32>
  }
}

// -----

// One half makes a gradient.
mf.model @m attributes {micro_batch_size = 1 : i64, sequence_length = 8 : i64, vocab_size = 16 : i64} {
  mf.param @w : tensor<4xf32> init <ones>
  mf.forward @f (%x: tensor<4xf32>) -> tensor<4xf32>
      attributes {placement = #mf.placement<stage = 0, chunk = 0>, inputs = [], input_indices = []} {
    mf.return %x : tensor<4xf32>
  }
  mf.backward @b (%dy: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
      attributes {placement = #mf.placement<stage = 0, chunk = 0>, forward_arguments = [], gradients = [@w]} {
    mf.return %dy, %dy : tensor<4xf32>, tensor<4xf32>
  }
  // expected-error @below {{makes the gradient of @w, as does 'b'}}
  mf.backward_weights @c (%dy: tensor<4xf32>) -> tensor<4xf32>
      attributes {placement = #mf.placement<stage = 0, chunk = 0>, output_gradients = [0], forward_arguments = [], gradients = [@w]} {
    mf.return %dy : tensor<4xf32>
  }
}

// -----

mf.model @m attributes {micro_batch_size = 1 : i64, sequence_length = 8 : i64, vocab_size = 16 : i64} {
  // expected-error @below {{expected 1 parameter gradients, but has 2 results}}
  mf.backward_weights @c (%dy: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
      attributes {placement = #mf.placement<stage = 0, chunk = 0>, output_gradients = [0], forward_arguments = [], gradients = [@w]} {
    mf.return %dy, %dy : tensor<4xf32>, tensor<4xf32>
  }
}

// -----

mf.model @m attributes {micro_batch_size = 1 : i64, sequence_length = 8 : i64, vocab_size = 16 : i64} {
  // expected-error @below {{expected the gradients of 1 outputs and 1 arguments of forward, but has only 1 arguments}}
  mf.backward_weights @c (%dy: tensor<4xf32>)
      attributes {placement = #mf.placement<stage = 0, chunk = 0>, output_gradients = [0], forward_arguments = [0], gradients = []} {
    mf.return
  }
}

// -----

mf.model @m attributes {micro_batch_size = 1 : i64, sequence_length = 8 : i64, vocab_size = 16 : i64} {
  // expected-error @below {{expected outputs of forward by number, but got -1}}
  mf.backward_weights @c (%dy: tensor<4xf32>)
      attributes {placement = #mf.placement<stage = 0, chunk = 0>, output_gradients = [-1], forward_arguments = [], gradients = []} {
    mf.return
  }
}

// -----

// Recompute reads what forward has kept, and backward what it makes.
mf.model @m attributes {micro_batch_size = 1 : i64, sequence_length = 8 : i64, vocab_size = 16 : i64} {
  // expected-note @below {{forward is here}}
  mf.forward @f (%x: tensor<4xf32>) -> tensor<4xf32>
      attributes {placement = #mf.placement<stage = 0, chunk = 0>, inputs = [], input_indices = []} {
    mf.return %x : tensor<4xf32>
  }
  mf.recompute @r (%x: tensor<4xf32>) -> tensor<4xf32>
      attributes {placement = #mf.placement<stage = 0, chunk = 0>, forward_arguments = [0]} {
    mf.return %x : tensor<4xf32>
  }
  // expected-error @below {{takes ('tensor<4xf32>'), but the functions of its placement give it ('tensor<4xf32>', 'tensor<4xf32>')}}
  mf.backward @b (%dy: tensor<4xf32>) -> tensor<4xf32>
      attributes {placement = #mf.placement<stage = 0, chunk = 0>, forward_arguments = [], gradients = []} {
    mf.return %dy : tensor<4xf32>
  }
}

// -----

mf.model @m attributes {micro_batch_size = 1 : i64, sequence_length = 8 : i64, vocab_size = 16 : i64} {
  mf.forward @f (%x: tensor<4xf32>) -> tensor<4xf32>
      attributes {placement = #mf.placement<stage = 0, chunk = 0>, inputs = [], input_indices = []} {
    mf.return %x : tensor<4xf32>
  }
  // expected-error @below {{reads argument 1 of its forward function, which has 1}}
  mf.recompute @r (%x: tensor<4xf32>) -> tensor<4xf32>
      attributes {placement = #mf.placement<stage = 0, chunk = 0>, forward_arguments = [1]} {
    mf.return %x : tensor<4xf32>
  }
}

// -----

mf.model @m attributes {micro_batch_size = 1 : i64, sequence_length = 8 : i64, vocab_size = 16 : i64} {
  // expected-error @below {{expected 1 arguments and outputs of forward, but has only 0 arguments}}
  mf.recompute @r ()
      attributes {placement = #mf.placement<stage = 0, chunk = 0>, forward_arguments = [0]} {
    mf.return
  }
}

// -----

mf.model @m attributes {micro_batch_size = 1 : i64, sequence_length = 8 : i64, vocab_size = 16 : i64} {
  // expected-error @below {{expected a weight of two or three dimensions where there are matrices, but got 'tensor<8xf32>'}}
  mf.param @w : tensor<8xf32> init <ones> {matrices = #mf.matrices<dim = 0, sizes = [1, 1]>}
}

// -----

mf.model @m attributes {micro_batch_size = 1 : i64, sequence_length = 8 : i64, vocab_size = 16 : i64} {
  // expected-error @below {{has 9 columns, which parts of [2, 3] and what is behind them do not fill}}
  mf.param @w : tensor<8x9xf32> init <ones> {matrices = #mf.matrices<dim = 1, sizes = [2, 3], rest = [3]>}
}
