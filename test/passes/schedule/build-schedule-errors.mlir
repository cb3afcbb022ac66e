// RUN: %variants %s | %roundtrip --pass-pipeline='builtin.module(mf.model(mf-build-schedule))' -verify-diagnostics -split-input-file

#adamw = #mf.optimizer<type = "AdamW", beta1 = 0.9, beta2 = 0.95, eps = 1.0e-8, weight_decay = 0.1, bias_correction = true>
#constant = #mf.lr_schedule<type = "ConstantWarmUpLR", parameters = {learning_rate = 1.0e-3 : f64}>
// Two chunks at one place.
mf.model @m attributes {
    micro_batch_size = 1 : i64, sequence_length = 8 : i64, vocab_size = 16 : i64,
    training = #mf.training<parallel = <stages = 2, interleave = 1, micro_batches = 2, offset = 0>,
      optimizer = #adamw, lr_schedule = #constant, loss_scale = 1.0, max_device_memory = 0>} {
  mf.param @w : tensor<16x1xf32> init <ones>
  // expected-note @below {{the other is here}}
  mf.forward @chunk0.forward (%tokens: tensor<8xi32>) -> tensor<8xf32>
      attributes {placement = #mf.placement<stage = 0, chunk = 0>, inputs = [#mf<input_kind tokens>], input_indices = [0]} {
    %w = mf.get_param @w : tensor<16x1xf32>
    %e = mf.embedding %w, %tokens : (tensor<16x1xf32>, tensor<8xi32>) -> tensor<8x1xf32>
    %h = mf.reshape %e : (tensor<8x1xf32>) -> tensor<8xf32>
    mf.return %h : tensor<8xf32>
  }
  mf.backward @chunk0.backward (%dy: tensor<8xf32>, %tokens: tensor<8xi32>) -> tensor<16x1xf32>
      attributes {placement = #mf.placement<stage = 0, chunk = 0>, forward_arguments = [0], gradients = [@w]} {
    %dw = mf.get_param @w : tensor<16x1xf32>
    mf.return %dw : tensor<16x1xf32>
  }
  mf.update @update0 (%lr: tensor<f32>, %step: tensor<f32>) attributes {stage = 0 : i64} {
    mf.return
  }
// expected-error @below {{is at #mf.placement<stage = 0, chunk = 0> as another chunk}}
  mf.forward @chunk1.forward (%x: tensor<8xf32>) -> tensor<f32>
      attributes {placement = #mf.placement<stage = 0, chunk = 0>, inputs = [], input_indices = []} {
    %y = mf.reduce_sum %x {axes = array<i64: 0>} : (tensor<8xf32>) -> tensor<f32>
    mf.return %y : tensor<f32>
  }
  mf.update @update1 (%lr: tensor<f32>, %step: tensor<f32>) attributes {stage = 1 : i64} {
    mf.return
  }
}

// The YAML comes first.
// expected-error @below {{has no training configuration; run mf-read-config first}}
mf.model @m attributes {micro_batch_size = 1 : i64, sequence_length = 8 : i64, vocab_size = 16 : i64} {
}

// A chunk of a stage that there is not.
= training = #mf.training<parallel = <stages = 1, interleave = 1, micro_batches = 2, offset = 0>,
- // expected-note
= // expected-error @below {{is on stage 1, but there are 1}}
- attributes {placement = #mf.placement<stage = 0, chunk = 0>, inputs = [],
+ attributes {placement = #mf.placement<stage = 1, chunk = 0>, inputs = [], input_indices = []} {
@ mf.return %y
+ }
+ mf.backward @chunk1.backward (%dy: tensor<f32>, %x: tensor<8xf32>) -> tensor<8xf32>
+ attributes {placement = #mf.placement<stage = 1, chunk = 0>, forward_arguments = [0], gradients = []} {
+ mf.return %x : tensor<8xf32>

// A later stage sends a gradient back, or the stage before would wait for ever.
- // expected-note
- // expected-error
- attributes {placement = #mf.placement<stage = 0, chunk = 0>, inputs = [],
+ attributes {placement = #mf.placement<stage = 1, chunk = 0>, inputs = [], input_indices = []} {
@ mf.return %y
+ }
+ // expected-error @below {{expected gradients of the hidden inputs, ('tensor<8xf32>'), but returns ()}}
+ mf.backward @chunk1.backward (%dy: tensor<f32>, %x: tensor<8xf32>)
+ attributes {placement = #mf.placement<stage = 1, chunk = 0>, forward_arguments = [0], gradients = []} {
+ mf.return

// Backward reads arguments that forward has.
- // expected-note
- // expected-error
- attributes {placement = #mf.placement<stage = 0, chunk = 0>, inputs = [],
+ attributes {placement = #mf.placement<stage = 1, chunk = 0>, inputs = [], input_indices = []} {
@ mf.return %y
+ }
+ // expected-error @below {{reads argument 3 of its forward function, which has 1}}
+ mf.backward @chunk1.backward (%dy: tensor<f32>, %x: tensor<8xf32>) -> tensor<8xf32>
+ attributes {placement = #mf.placement<stage = 1, chunk = 0>, forward_arguments = [3], gradients = []} {
+ mf.return %x : tensor<8xf32>

// A chunk takes what the one before it gives.
^
= mf.forward @chunk1.forward (%x: tensor<4xf32>) -> tensor<f32>
+ // expected-error @above {{takes ('tensor<4xf32>') as hidden inputs, but the chunk before it gives ('tensor<8xf32>')}}
= %y = mf.reduce_sum %x {axes = array<i64: 0>} : (tensor<4xf32>) -> tensor<f32>
- // expected-error
= mf.backward @chunk1.backward (%dy: tensor<f32>, %x: tensor<4xf32>) -> tensor<4xf32>
= attributes {placement = #mf.placement<stage = 1, chunk = 0>, forward_arguments = [0], gradients = []} {
= mf.return %x : tensor<4xf32>

// Only chunks with nothing to train do without backward.
- // expected-note
+ // expected-error @below {{reads 'w', which is trained, but has no backward function at its placement}}
- mf.backward
- ...
- // expected-error
- attributes {placement = #mf.placement<stage = 0, chunk = 0>, inputs = [],
+ attributes {placement = #mf.placement<stage = 1, chunk = 0>, inputs = [], input_indices = []} {
- mf.update @update1
+ mf.backward @chunk1.backward (%dy: tensor<f32>, %x: tensor<8xf32>)
+ attributes {placement = #mf.placement<stage = 1, chunk = 0>, forward_arguments = [0], gradients = []} {
