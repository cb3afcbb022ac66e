// RUN: %variants %S/../Inputs/training.mlir %s | %roundtrip --pass-pipeline='builtin.module(mf.model(mf-build-schedule))' -verify-diagnostics -split-input-file

// The chunks of two stages, which those below change.

mf.model @m attributes {
    micro_batch_size = 1 : i64, sequence_length = 8 : i64, vocab_size = 16 : i64,
    training = #two_stages} {
  mf.param @w : tensor<16x1xf32> init <ones>
  mf.forward @chunk0.forward (%tokens: tensor<8xi32>) -> tensor<8xf32>
      attributes {placement = #mf.placement<stage = 0, chunk = 0>, inputs = [#mf<input_kind tokens>], input_indices = [0]} {
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
  mf.forward @chunk1.forward (%x: tensor<8xf32>) -> tensor<f32>
      attributes {placement = #mf.placement<stage = 1, chunk = 0>, inputs = [], input_indices = []} {
    %y = mf.reduce_sum %x {axes = array<i64: 0>} : (tensor<8xf32>) -> tensor<f32>
    mf.return %y : tensor<f32>
  }
  mf.backward @chunk1.backward (%dy: tensor<f32>, %x: tensor<8xf32>) -> tensor<8xf32>
      attributes {placement = #mf.placement<stage = 1, chunk = 0>, forward_arguments = [0], gradients = []} {
    mf.return %x : tensor<8xf32>
  }
  mf.update @update1 (%lr: tensor<f32>, %step: tensor<f32>) attributes {stage = 1 : i64} {
    mf.return
  }
}

// The YAML comes first.
// expected-error @below {{has no training configuration; run mf-read-config first}}
mf.model @m attributes {micro_batch_size = 1 : i64, sequence_length = 8 : i64, vocab_size = 16 : i64} {
}

// Two chunks at one place.
@ mf.param
+ // expected-note @below {{the other is here}}
// expected-error @below {{is at #mf.placement<stage = 0, chunk = 0> as another chunk}}
= mf.forward @chunk1.forward (%x: tensor<8xf32>) -> tensor<f32>
- attributes {placement = #mf.placement<stage = 1, chunk = 0>, inputs
+ attributes {placement = #mf.placement<stage = 0, chunk = 0>, inputs = [], input_indices = []} {

// A chunk of a stage that there is not.
= training = #one_stage} {
// expected-error @below {{is on stage 1, but there are 1}}
= mf.forward @chunk1.forward (%x: tensor<8xf32>) -> tensor<f32>

// A later stage sends a gradient back, or the stage before would wait for ever.
// expected-error @below {{expected gradients of the hidden inputs, ('tensor<8xf32>'), but returns ()}}
= mf.backward @chunk1.backward (%dy: tensor<f32>, %x: tensor<8xf32>)
- mf.return %x
+ mf.return

// Backward reads arguments that forward has.
// expected-error @below {{reads argument 3 of its forward function, which has 1}}
= mf.backward @chunk1.backward (%dy: tensor<f32>, %x: tensor<8xf32>) -> tensor<8xf32>
- attributes {placement = #mf.placement<stage = 1, chunk = 0>, forward_arguments
+ attributes {placement = #mf.placement<stage = 1, chunk = 0>, forward_arguments = [3], gradients = []} {

// A chunk takes what the one before it gives.
// expected-error @below {{takes ('tensor<4xf32>') as hidden inputs, but the chunk before it gives ('tensor<8xf32>')}}
= mf.forward @chunk1.forward (%x: tensor<4xf32>) -> tensor<f32>
= %y = mf.reduce_sum %x {axes = array<i64: 0>} : (tensor<4xf32>) -> tensor<f32>
= mf.backward @chunk1.backward (%dy: tensor<f32>, %x: tensor<4xf32>) -> tensor<4xf32>
= mf.return %x : tensor<4xf32>

// Only chunks with nothing to train do without backward.
@ mf.param
+ // expected-error @below {{reads 'w', which is trained, but has no backward function at its placement}}
- mf.return %h
- ...
- mf.return %dw
+ mf.return %h : tensor<8xf32>

// Zero bubble needs backward in two halves.
// expected-error @below {{has backward functions that are not split, but schedule 'zero-bubble-h1' runs gradients of inputs and of parameters apart; run mf-split-chunks for it}}
= mf.model @m attributes {
= training = #mf.training<parallel = <stages = 2, interleave = 1, micro_batches = 2, offset = 0, scheduler = "zero-bubble-h1">,
+ optimizer = #adamw, lr_schedule = #constant, loss_scale = 1.0, max_device_memory = 0>} {

// Every stage needs a chunk.
// expected-error @below {{has 0 chunks with layers on stage 2 of 3, expected 1 (pp_interleave_num); give every one a layer by offset, or ask for fewer}}
= mf.model @m attributes {
= training = #mf.training<parallel = <stages = 3, interleave = 1, micro_batches = 2, offset = 0>,
+ optimizer = #adamw, lr_schedule = #constant, loss_scale = 1.0, max_device_memory = 0>} {

// 1F1B places chunks by their number.
// expected-error @below {{cannot be scheduled: schedule '1f1b' takes one chunk per stage, but chunk 0 is on stage 1 of 2, expected one chunk on each of the stages in order}}
- attributes {placement = #mf.placement<stage = 0, chunk = 0>, inputs
+ attributes {placement = #mf.placement<stage = 1, chunk = 0>, inputs = [#mf<input_kind tokens>], input_indices = [0]} {
- attributes {placement = #mf.placement<stage = 0, chunk = 0>, forward_arguments
+ attributes {placement = #mf.placement<stage = 1, chunk = 0>, forward_arguments = [0], gradients = [@w]} {
- attributes {placement = #mf.placement<stage = 1, chunk = 0>, inputs
+ attributes {placement = #mf.placement<stage = 0, chunk = 0>, inputs = [], input_indices = []} {
- attributes {placement = #mf.placement<stage = 1, chunk = 0>, forward_arguments
+ attributes {placement = #mf.placement<stage = 0, chunk = 0>, forward_arguments = [0], gradients = []} {

// Schedules have names.
// expected-error @below {{cannot be scheduled: no schedule is called 'fastest', expected one of gpipe, 1f1b, interleaved, interleaved-low-memory, 1f1b-paired, 1f1b-paired-split, recompute-in-advance, recompute-in-bubble, zero-bubble-h1, zero-bubble-h2, zero-bubble-v, v-half, v-min, dualpipe-v, dualpipe-v-paired, seq1f1b, seq1f1b-interleaved, seq1f1b-interleaved-low-memory (pipeline_scheduler)}}
= mf.model @m attributes {
= training = #mf.training<parallel = <stages = 2, interleave = 1, micro_batches = 2, offset = 0, scheduler = "fastest">,
+ optimizer = #adamw, lr_schedule = #constant, loss_scale = 1.0, max_device_memory = 0>} {

// Interleaving needs as many chunks on each stage as are asked for.
// expected-error @below {{has 1 chunks with layers on stage 0 of 2, expected 2 (pp_interleave_num)}}
= mf.model @m attributes {
= training = #mf.training<parallel = <stages = 2, interleave = 2, micro_batches = 2, offset = 0>,
+ optimizer = #adamw, lr_schedule = #constant, loss_scale = 1.0, max_device_memory = 0>} {
