// RUN: %variants %s | %roundtrip -verify-diagnostics -split-input-file

// A step of one stage without errors.
mf.model @m attributes {micro_batch_size = 1 : i64, sequence_length = 8 : i64, vocab_size = 16 : i64} {
  mf.forward @f (%x: tensor<4xf32>) -> tensor<4xf32>
      attributes {placement = #mf.placement<stage = 0, chunk = 0>, inputs = [], input_indices = []} {
    mf.return %x : tensor<4xf32>
  }
  mf.backward @b (%dy: tensor<4xf32>) -> tensor<4xf32>
      attributes {placement = #mf.placement<stage = 0, chunk = 0>, forward_arguments = [], gradients = []} {
    mf.return %dy : tensor<4xf32>
  }
  mf.schedule stage 0 {
    %x = mf.receive from 1 channel "forward.1" micro_batch 0 : tensor<4xf32>
    %y, %frame = mf.run_forward @f micro_batch 0 (%x) : (tensor<4xf32>) -> (tensor<4xf32>, !mf.frame<@f>)
    %dx = mf.run_backward @b micro_batch 0 frame %frame (%y) : (!mf.frame<@f>, tensor<4xf32>) -> tensor<4xf32>
  }
}

@ %x = mf.receive
+ // expected-error @below {{expected an mf.forward, but got 'nothing'}}
+ %z, %other = mf.run_forward @nothing micro_batch 0 (%x) : (tensor<4xf32>) -> (tensor<4xf32>, !mf.frame<@nothing>)

= %x = mf.receive from 1 channel "forward.1" micro_batch 0 : tensor<8xf32>
+ // expected-error @below {{passes ('tensor<8xf32>'), but 'f' takes ('tensor<4xf32>')}}
= %y, %frame = mf.run_forward @f micro_batch 0 (%x) : (tensor<8xf32>) -> (tensor<4xf32>, !mf.frame<@f>)

// expected-error @below {{has outputs ('tensor<8xf32>'), but 'f' returns ('tensor<4xf32>')}}
= %y, %frame = mf.run_forward @f micro_batch 0 (%x) : (tensor<4xf32>) -> (tensor<8xf32>, !mf.frame<@f>)
- %dx

// A frame is that of the function that made it.
// expected-error @below {{has a frame of 'g', but runs 'f'}}
= %y, %frame = mf.run_forward @f micro_batch 0 (%x) : (tensor<4xf32>) -> (tensor<4xf32>, !mf.frame<@g>)
- %dx

= mf.backward @b (%dy: tensor<4xf32>, %x: tensor<4xf32>) -> tensor<4xf32>
= attributes {placement = #mf.placement<stage = 0, chunk = 0>, forward_arguments = [0], gradients = []} {
@ %y, %frame
+ // expected-error @below {{passes ('tensor<4xf32>'), but 'b' takes ('tensor<4xf32>', 'tensor<4xf32>') before its residuals}}

- %dx
+ // expected-error @below {{has input gradients (), but 'b' returns ('tensor<4xf32>')}}
+ mf.run_backward @b micro_batch 0 frame %frame (%y) : (!mf.frame<@f>, tensor<4xf32>) -> ()

// The gradient of the input is of the type that backward returns.
// expected-error @below {{has input gradients ('tensor<8xf32>'), but 'b' returns ('tensor<4xf32>')}}
= %dx = mf.run_backward @b micro_batch 0 frame %frame (%y) : (!mf.frame<@f>, tensor<4xf32>) -> tensor<8xf32>

@ %dx
+ // expected-error @below {{expected an mf.update, but got 'update0'}}
+ mf.run_update @update0

// Tasks stand in schedules.
// expected-error @below {{expects parent op 'mf.schedule'}}
%x = mf.load tokens micro_batch 0 : tensor<8xi32>

@ %dx
+ // expected-error @below {{expected tokens, labels or a draw, but got learning_rate}}
+ %rate = mf.load learning_rate micro_batch 0 : tensor<8xi32>

@ %dx
+ // expected-error @below {{expected a scalar in fp32, but got 'tensor<4xf32>'}}
+ mf.accumulate_loss %x : tensor<4xf32>

// The loss scale is an fp32 scalar.
@ %dx
+ // expected-error @below {{expected 'tensor<f32>' for a scaled gradient, but got 'tensor<bf16>'}}
+ %d = mf.loss_gradient 0.5 scaled : tensor<bf16>

// A backward reads a frame of its own chunk.
= mf.forward @f (%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
= mf.return %x, %x : tensor<4xf32>, tensor<4xf32>
= mf.backward @b (%dy: tensor<4xf32>, %r: tensor<4xf32>) -> tensor<4xf32>
- attributes {placement = #mf.placement<stage = 0, chunk = 0>, forward_arguments
+ attributes {placement = #mf.placement<stage = 0, chunk = 1>, forward_arguments = [], gradients = []} {
@ %y, %frame
+ // expected-error @below {{reads a frame of 'f', which is at #mf.placement<stage = 0, chunk = 0> and not at #mf.placement<stage = 0, chunk = 1>}}

// The weights' half takes what its function lists.
= mf.forward @f (%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
= mf.return %x, %x : tensor<4xf32>, tensor<4xf32>
= mf.backward @b (%dy: tensor<4xf32>, %r: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
- ...
- mf.return %dy
+ attributes {placement = #mf.placement<stage = 0, chunk = 0>, forward_arguments = [], gradients = [], kept = 1 : i64} {
+ mf.return %dy, %r : tensor<4xf32>, tensor<4xf32>
+ }
+ mf.backward_weights @w (%x: tensor<4xf32>, %r: tensor<4xf32>, %k: tensor<4xf32>)
+ attributes {placement = #mf.placement<stage = 0, chunk = 0>, output_gradients = [], forward_arguments = [0], gradients = []} {
+ mf.return
@ %dx
+ // expected-error @below {{passes (), but 'w' takes ('tensor<4xf32>') before its residuals}}
+ mf.run_backward_weights @w micro_batch 0 frame %frame () : (!mf.frame<@f>) -> ()

@ %dx
+ // expected-error @below {{expected 'ahead' to be at least 1, but got 0}}
+ %z = mf.receive from 1 channel "forward.1" micro_batch 0 ahead 0 : tensor<4xf32>

@ %dx
+ // expected-error @below {{expected 'ahead' to be at least 1, but got -1}}
+ %z = mf.load tokens micro_batch 0 ahead -1 : tensor<4xi32>

@ %dx
+ // expected-error @below {{expected 'behind' to be at least 1, but got 0}}
+ mf.send %x to 1 channel "forward.0" micro_batch 0 behind 0 : tensor<4xf32>

@ mf.return %dy
+ }
+ mf.recompute @r (%x: tensor<4xf32>) -> tensor<4xf32>
+ attributes {placement = #mf.placement<stage = 0, chunk = 0>, forward_arguments = [0]} {
+ mf.return %x : tensor<4xf32>
@ %y, %frame
+ // expected-error @below {{passes (), but 'r' takes ('tensor<4xf32>') before its residuals}}
+ mf.run_recompute @r micro_batch 0 frame %frame () : (!mf.frame<@f>) -> ()
