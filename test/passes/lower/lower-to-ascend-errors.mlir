// RUN: %variants %S/../Inputs/training.mlir %s | %roundtrip --mf-lower-to-ascend -allow-unregistered-dialect -verify-diagnostics -split-input-file

// An operator that is no tensor operator has no kernel.
mf.model @m attributes {
    micro_batch_size = 1 : i64, sequence_length = 8 : i64, vocab_size = 16 : i64,
    training = #mf.training<parallel = <stages = 1, interleave = 1, micro_batches = 1, offset = 0>,
      optimizer = #adamw, lr_schedule = #constant, loss_scale = 1.0, max_device_memory = 0>} {
  mf.param @w : tensor<f32> init <ones>
  mf.forward @f (%x: tensor<8xi32>) -> tensor<f32>
      attributes {placement = #mf.placement<stage = 0, chunk = 0>, inputs = [#mf<input_kind tokens>], input_indices = [0]} {
    // expected-error @below {{cannot be lowered: it is neither a tensor operator nor one on parameters}}
    %v = "test.unknown"() : () -> tensor<f32>
    mf.return %w : tensor<f32>
  }
  mf.backward @b (%dy: tensor<f32>) attributes {placement = #mf.placement<stage = 0, chunk = 0>, forward_arguments = [], gradients = []} {
    mf.return
  }
  mf.schedule stage 0 {
    %t = mf.load tokens micro_batch 0 : tensor<8xi32>
    %y, %f = mf.run_forward @f micro_batch 0 (%t) : (tensor<8xi32>) -> (tensor<f32>, !mf.frame<@f>)
    mf.accumulate_loss %y : tensor<f32>
    %dy = mf.loss_gradient 1.0 : tensor<f32>
    mf.run_backward @b micro_batch 0 frame %f (%dy) : (!mf.frame<@f>, tensor<f32>) -> ()
  }
}

// The YAML comes first.
// expected-error @below {{has no training configuration; run mf-read-config first}}
mf.model @m attributes {micro_batch_size = 1 : i64, sequence_length = 8 : i64, vocab_size = 16 : i64} {
}

// Every stage has a schedule.
// expected-error @below {{expected one schedule per stage, but has 1 for 2 stages}}
mf.model @m attributes {
    micro_batch_size = 1 : i64, sequence_length = 8 : i64, vocab_size = 16 : i64,
    training = #mf.training<parallel = <stages = 2, interleave = 1, micro_batches = 1, offset = 0>,
      optimizer = #adamw, lr_schedule = #constant, loss_scale = 1.0, max_device_memory = 0>} {
  mf.schedule stage 0 {
  }
}

// A backward function needs its forward function's layout of residuals.
^
- // expected-error
= training = #mf.training<parallel = <stages = 1, interleave = 1, micro_batches = 1, offset = 0>,
@ optimizer
+ // expected-error @below {{has no forward function at its placement}}
+ mf.backward @b (%dy: tensor<f32>) attributes {placement = #mf.placement<stage = 0, chunk = 0>, forward_arguments = [], gradients = []} {
+ mf.return
+ }

// The gradient of a loss is not the loss.
- // expected-error
- %v =
- %dy =
+ // expected-error @below {{expected the gradient of a loss for output 0}}
= mf.run_backward @b micro_batch 0 frame %f (%y) : (!mf.frame<@f>, tensor<f32>) -> ()

// What is sent is read.
- // expected-error
- %v =
@ mf.run_backward
+ // expected-error @below {{sends a message that no run of stage 1 reads}}
+ mf.send %dy to 1 channel "forward.0" micro_batch 0 : tensor<f32>

// Nothing else stands in a schedule.
- // expected-error
- %v =
- %t =
- ...
- mf.run_backward
+ // expected-error @below {{is not a task of a schedule}}
+ "test.task"() : () -> ()
