// RUN: %variants %S/../Inputs/training.mlir %s | %roundtrip --pass-pipeline='builtin.module(mf.model(mf-mark-memory))' -verify-diagnostics -split-input-file

// The YAML comes first.
// expected-error @below {{has no training configuration; run mf-read-config first}}
mf.model @m attributes {micro_batch_size = 1 : i64, sequence_length = 8 : i64, vocab_size = 16 : i64} {
}

// A pattern that matches nothing is a warning with the nearest names.
// expected-warning @below {{select_recompute 'feed_forward\.mull' matches nothing in the layers it is for; nearest: 'feed_forward\.mul', 'feed_forward'}}
mf.model @m attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64, training = #one_stage} {
  mf.layer @layers.0 body (%x: tensor<4x4xf32>) -> tensor<4x4xf32>
      attributes {settings = #mf.layer_settings<selects, requests = [select_recompute "feed_forward\\.mull"]>, placement = #mf.placement<stage = 0, chunk = 0>} {
    %y = mf.neg %x {name = "feed_forward.mul"} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    mf.return %y : tensor<4x4xf32>
  }
}

// mf-read-config refuses a pattern that is not a regular expression, which matches nothing.
^
= // expected-warning @below {{select_recompute 'feed_forward\.(mul' matches nothing in the layers it is for}}
= attributes {settings = #mf.layer_settings<selects, requests = [select_recompute "feed_forward\\.(mul"]>, placement = #mf.placement<stage = 0, chunk = 0>} {

// Placements come from mf-partition; marks only read them.
mf.model @m attributes {
    micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64,
    training = #mf.training<parallel = <stages = 2, interleave = 1, micro_batches = 4, offset = 0>,
      optimizer = #adamw, lr_schedule = #constant, loss_scale = 1.0, max_device_memory = 0>} {
  mf.layer @layers.0 body (%x: tensor<4x4xf32>) -> tensor<4x4xf32> attributes {settings = #mf.layer_settings<requests = [recompute]>, placement = #mf.placement<stage = 0, chunk = 0>} { mf.return %x : tensor<4x4xf32> }
  // expected-error @below {{has no placement; run mf-partition first}}
  mf.layer @layers.1 body (%x: tensor<4x4xf32>) -> tensor<4x4xf32> attributes {settings = #mf.layer_settings<number = 1, requests = [recompute]>} { mf.return %x : tensor<4x4xf32> }
}
