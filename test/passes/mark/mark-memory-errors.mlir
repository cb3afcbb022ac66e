// RUN: %roundtrip --pass-pipeline='builtin.module(mf.model(mf-mark-memory))' -verify-diagnostics -split-input-file %s

// The YAML comes first.
// expected-error @below {{has no training configuration; run mf-read-config first}}
mf.model @m attributes {micro_batch_size = 1 : i64, sequence_length = 8 : i64, vocab_size = 16 : i64} {
}

// -----

#swap = #mf.swap_config<swap = false, default_prefetch = 1>
#adamw = #mf.optimizer<type = "AdamW", beta1 = 0.9, beta2 = 0.95, eps = 1.0e-8, weight_decay = 0.1, bias_correction = true>
#constant = #mf.lr_schedule<type = "ConstantWarmUpLR", parameters = {learning_rate = 1.0e-3 : f64}>
// A pattern that matches nothing is a warning with the nearest names.
// expected-warning @below {{select_recompute 'feed_forward\.mull' matches nothing in the layers it is for; nearest: 'feed_forward\.mul', 'feed_forward'}}
mf.model @m attributes {
    micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64,
    training = #mf.training<
      parallel = <stages = 1, interleave = 1, micro_batches = 1, offset = 0>,
      recompute = <recompute = false, select = [#mf.pattern<"feed_forward\\.mull", true>], select_comm = false, select_exclude = false, select_comm_exclude = false,
                   parallel_optimizer_comm = false, mp_comm = true, slice_activation = false>,
      swap = #swap, optimizer = #adamw, lr_schedule = #constant, loss_scale = 1.0, max_device_memory = 0>} {
  mf.layer @layers.0 body (%x: tensor<4x4xf32>) -> tensor<4x4xf32>
      attributes {placement = #mf.placement<stage = 0, chunk = 0>} {
    %y = mf.neg %x {name = "feed_forward.mul"} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    mf.return %y : tensor<4x4xf32>
  }
}

// -----

#swap = #mf.swap_config<swap = false, default_prefetch = 1>
#adamw = #mf.optimizer<type = "AdamW", beta1 = 0.9, beta2 = 0.95, eps = 1.0e-8, weight_decay = 0.1, bias_correction = true>
#constant = #mf.lr_schedule<type = "ConstantWarmUpLR", parameters = {learning_rate = 1.0e-3 : f64}>
// A pattern that is not a regular expression.
// expected-error @below {{invalid select_recompute 'feed_forward\.(mul': '(mul' is not a regular expression: mismatched '(' and ')' in regular expression}}
mf.model @m attributes {
    micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64,
    training = #mf.training<
      parallel = <stages = 1, interleave = 1, micro_batches = 1, offset = 0>,
      recompute = <recompute = false, select = [#mf.pattern<"feed_forward\\.(mul", true>], select_comm = false, select_exclude = false, select_comm_exclude = false,
                   parallel_optimizer_comm = false, mp_comm = true, slice_activation = false>,
      swap = #swap, optimizer = #adamw, lr_schedule = #constant, loss_scale = 1.0, max_device_memory = 0>} {
  mf.layer @layers.0 body (%x: tensor<4x4xf32>) -> tensor<4x4xf32>
      attributes {placement = #mf.placement<stage = 0, chunk = 0>} {
    %y = mf.neg %x {name = "feed_forward.mul"} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    mf.return %y : tensor<4x4xf32>
  }
}

// -----

#swap = #mf.swap_config<swap = false, default_prefetch = 1>
#adamw = #mf.optimizer<type = "AdamW", beta1 = 0.9, beta2 = 0.95, eps = 1.0e-8, weight_decay = 0.1, bias_correction = true>
#constant = #mf.lr_schedule<type = "ConstantWarmUpLR", parameters = {learning_rate = 1.0e-3 : f64}>
// One count for each stage.
// expected-error @below {{expected at most one value per pipeline stage (1) for recompute, but got 2, [1, 1]}}
mf.model @m attributes {
    micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64,
    training = #mf.training<
      parallel = <stages = 1, interleave = 1, micro_batches = 1, offset = 0>,
      recompute = <recompute = [1, 1], select = false, select_comm = false, select_exclude = false, select_comm_exclude = false,
                   parallel_optimizer_comm = false, mp_comm = true, slice_activation = false>,
      swap = #swap, optimizer = #adamw, lr_schedule = #constant, loss_scale = 1.0, max_device_memory = 0>} {
  mf.layer @layers.0 body (%x: tensor<4x4xf32>) -> tensor<4x4xf32>
      attributes {placement = #mf.placement<stage = 0, chunk = 0>} {
    %y = mf.neg %x {name = "feed_forward.mul"} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    mf.return %y : tensor<4x4xf32>
  }
}

// -----

#swap = #mf.swap_config<swap = false, default_prefetch = 1>
#adamw = #mf.optimizer<type = "AdamW", beta1 = 0.9, beta2 = 0.95, eps = 1.0e-8, weight_decay = 0.1, bias_correction = true>
#constant = #mf.lr_schedule<type = "ConstantWarmUpLR", parameters = {learning_rate = 1.0e-3 : f64}>
// A negative number of layers.
// expected-error @below {{expected a number of layers for stage 0 of recompute, but got -1}}
mf.model @m attributes {
    micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64,
    training = #mf.training<
      parallel = <stages = 1, interleave = 1, micro_batches = 1, offset = 0>,
      recompute = <recompute = [-1], select = false, select_comm = false, select_exclude = false, select_comm_exclude = false,
                   parallel_optimizer_comm = false, mp_comm = true, slice_activation = false>,
      swap = #swap, optimizer = #adamw, lr_schedule = #constant, loss_scale = 1.0, max_device_memory = 0>} {
  mf.layer @layers.0 body (%x: tensor<4x4xf32>) -> tensor<4x4xf32>
      attributes {placement = #mf.placement<stage = 0, chunk = 0>} {
    %y = mf.neg %x {name = "feed_forward.mul"} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    mf.return %y : tensor<4x4xf32>
  }
}

// -----

#recompute = #mf.recompute_config<recompute = true, select = false, select_comm = false, select_exclude = false, select_comm_exclude = false, parallel_optimizer_comm = false, mp_comm = true, slice_activation = false>
#swap = #mf.swap_config<swap = false, default_prefetch = 1>
#adamw = #mf.optimizer<type = "AdamW", beta1 = 0.9, beta2 = 0.95, eps = 1.0e-8, weight_decay = 0.1, bias_correction = true>
#constant = #mf.lr_schedule<type = "ConstantWarmUpLR", parameters = {learning_rate = 1.0e-3 : f64}>
// Placements come from mf-partition; marks only read them.
mf.model @m attributes {
    micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64,
    training = #mf.training<parallel = <stages = 2, interleave = 1, micro_batches = 4, offset = 0>, recompute = #recompute,
      swap = #swap, optimizer = #adamw, lr_schedule = #constant, loss_scale = 1.0, max_device_memory = 0>} {
  mf.layer @layers.0 body (%x: tensor<4x4xf32>) -> tensor<4x4xf32> attributes {placement = #mf.placement<stage = 0, chunk = 0>} { mf.return %x : tensor<4x4xf32> }
  // expected-error @below {{has no placement; run mf-partition first}}
  mf.layer @layers.1 body (%x: tensor<4x4xf32>) -> tensor<4x4xf32> { mf.return %x : tensor<4x4xf32> }
}

// -----

#recompute = #mf.recompute_config<recompute = true, select = false, select_comm = false, select_exclude = false, select_comm_exclude = false, parallel_optimizer_comm = false, mp_comm = true, slice_activation = false>
#swap = #mf.swap_config<swap = false, default_prefetch = 1>
#adamw = #mf.optimizer<type = "AdamW", beta1 = 0.9, beta2 = 0.95, eps = 1.0e-8, weight_decay = 0.1, bias_correction = true>
#constant = #mf.lr_schedule<type = "ConstantWarmUpLR", parameters = {learning_rate = 1.0e-3 : f64}>
// A stage that the training configuration does not have.
mf.model @m attributes {
    micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64,
    training = #mf.training<parallel = <stages = 2, interleave = 1, micro_batches = 4, offset = 0>, recompute = #recompute,
      swap = #swap, optimizer = #adamw, lr_schedule = #constant, loss_scale = 1.0, max_device_memory = 0>} {
  mf.layer @layers.0 body (%x: tensor<4x4xf32>) -> tensor<4x4xf32> attributes {placement = #mf.placement<stage = 0, chunk = 0>} { mf.return %x : tensor<4x4xf32> }
  // expected-error @below {{is chunk 0 of stage 2, but the training attribute has 2 stages (stages) with 1 chunks each (interleave); run mf-partition}}
  mf.layer @layers.1 body (%x: tensor<4x4xf32>) -> tensor<4x4xf32> attributes {placement = #mf.placement<stage = 2, chunk = 0>} { mf.return %x : tensor<4x4xf32> }
}

// -----

#recompute = #mf.recompute_config<recompute = true, select = false, select_comm = false, select_exclude = false, select_comm_exclude = false, parallel_optimizer_comm = false, mp_comm = true, slice_activation = false>
#swap = #mf.swap_config<swap = false, default_prefetch = 1>
#adamw = #mf.optimizer<type = "AdamW", beta1 = 0.9, beta2 = 0.95, eps = 1.0e-8, weight_decay = 0.1, bias_correction = true>
#constant = #mf.lr_schedule<type = "ConstantWarmUpLR", parameters = {learning_rate = 1.0e-3 : f64}>
// Nor the chunk; also of a layer that settings are not about.
mf.model @m attributes {
    micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64,
    training = #mf.training<parallel = <stages = 2, interleave = 1, micro_batches = 4, offset = 0>, recompute = #recompute,
      swap = #swap, optimizer = #adamw, lr_schedule = #constant, loss_scale = 1.0, max_device_memory = 0>} {
  mf.layer @layers.0 body (%x: tensor<4x4xf32>) -> tensor<4x4xf32> attributes {placement = #mf.placement<stage = 0, chunk = 0>} { mf.return %x : tensor<4x4xf32> }
  // expected-error @below {{is chunk 1 of stage 1, but the training attribute has 2 stages}}
  mf.layer @norm head (%x: tensor<4x4xf32>) -> tensor<4x4xf32> attributes {placement = #mf.placement<stage = 1, chunk = 1>} { mf.return %x : tensor<4x4xf32> }
}

// -----

#recompute = #mf.recompute_config<recompute = true, select = false, select_comm = false, select_exclude = false, select_comm_exclude = false, parallel_optimizer_comm = false, mp_comm = true, slice_activation = false>
#swap = #mf.swap_config<swap = false, default_prefetch = 1>
#adamw = #mf.optimizer<type = "AdamW", beta1 = 0.9, beta2 = 0.95, eps = 1.0e-8, weight_decay = 0.1, bias_correction = true>
#constant = #mf.lr_schedule<type = "ConstantWarmUpLR", parameters = {learning_rate = 1.0e-3 : f64}>
// A mesh of other stages.
module attributes {mf.mesh = #mf.mesh<pp = 3, mp = 2>} {
  // expected-error @below {{is to have 2 stages (pipeline_stage), but the mesh is #mf.mesh<pp = 3, mp = 2>}}
  mf.model @m attributes {
      micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64,
      training = #mf.training<parallel = <stages = 2, interleave = 1, micro_batches = 4, offset = 0>, recompute = #recompute,
        swap = #swap, optimizer = #adamw, lr_schedule = #constant, loss_scale = 1.0, max_device_memory = 0>} {
    mf.layer @layers.0 body (%x: tensor<4x4xf32>) -> tensor<4x4xf32> attributes {placement = #mf.placement<stage = 0, chunk = 0>} { mf.return %x : tensor<4x4xf32> }
    mf.layer @layers.1 body (%x: tensor<4x4xf32>) -> tensor<4x4xf32> attributes {placement = #mf.placement<stage = 1, chunk = 0>} { mf.return %x : tensor<4x4xf32> }
  }
}

// -----

#recompute = #mf.recompute_config<recompute = [1, 0], select = false, select_comm = false, select_exclude = false, select_comm_exclude = false, parallel_optimizer_comm = false, mp_comm = true, slice_activation = false>
#swap = #mf.swap_config<swap = false, default_prefetch = 1>
#adamw = #mf.optimizer<type = "AdamW", beta1 = 0.9, beta2 = 0.95, eps = 1.0e-8, weight_decay = 0.1, bias_correction = true>
#constant = #mf.lr_schedule<type = "ConstantWarmUpLR", parameters = {learning_rate = 1.0e-3 : f64}>
// The second chunk comes back from the last stage, so that a count per stage cannot be dealt to chunks.
// expected-error @below {{expected a list per interleave for recompute of a pipeline whose interleaves visit the stages in different orders (zero_bubble_v), but got [1, 0]}}
mf.model @m attributes {
    micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64,
    training = #mf.training<parallel = <stages = 2, interleave = 2, micro_batches = 4, offset = 0>, recompute = #recompute,
      swap = #swap, optimizer = #adamw, lr_schedule = #constant, loss_scale = 1.0, max_device_memory = 0>} {
  mf.layer @layers.0 body (%x: tensor<4x4xf32>) -> tensor<4x4xf32> attributes {placement = #mf.placement<stage = 0, chunk = 0>} { mf.return %x : tensor<4x4xf32> }
  mf.layer @layers.1 body (%x: tensor<4x4xf32>) -> tensor<4x4xf32> attributes {placement = #mf.placement<stage = 1, chunk = 0>} { mf.return %x : tensor<4x4xf32> }
  mf.layer @layers.2 body (%x: tensor<4x4xf32>) -> tensor<4x4xf32> attributes {placement = #mf.placement<stage = 1, chunk = 1>} { mf.return %x : tensor<4x4xf32> }
  mf.layer @layers.3 body (%x: tensor<4x4xf32>) -> tensor<4x4xf32> attributes {placement = #mf.placement<stage = 0, chunk = 1>} { mf.return %x : tensor<4x4xf32> }
}
