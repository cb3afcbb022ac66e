// Schedules of two stages that are broken on purpose are refused, with the two runs named.
// RUN: %variants %S/../Inputs/training.mlir %S/lower-to-ascend-stages.mlir %s | %roundtrip --mf-lower-to-ascend --split-input-file --verify-diagnostics

// A run is missing.
// expected-error@+1 {{'mf.model' op has schedules that cannot run: stage 0 does not run B1 of chunk 0, expected every task once}}
- mf.run_backward @chunk0.backward micro_batch 1

// A run comes twice.
// expected-error@+1 {{'mf.model' op has schedules that cannot run: task 4 of stage 0 is B1, and so is task 3, expected one}}
- mf.run_backward @chunk0.backward micro_batch 1
+ // expected-note@+1 {{task 3 of stage 0 is here}}
+ mf.run_backward @chunk0.backward micro_batch 1 frame %frame_1(%3, %1) : (!mf.frame<@chunk0.forward>, tensor<8x1xf32>, tensor<8xi32>) -> ()
+ // expected-note@+1 {{task 4 of stage 0 is here}}
+ mf.run_backward @chunk0.backward micro_batch 1 frame %frame_1(%3, %1) : (!mf.frame<@chunk0.forward>, tensor<8x1xf32>, tensor<8xi32>) -> ()

// The gradients of a chunk add up in ascending order of micro-batches.
// expected-error@+1 {{'mf.model' op has schedules that cannot run: B1 of stage 0 (task 2) runs before B0 of stage 0 (task 3), expected gradients of a chunk in ascending order of micro-batches}}
- mf.run_backward @chunk0.backward micro_batch 0
@ %3 = mf.receive from 1
+ // expected-note@+1 {{task 2 of stage 0 is here}}
@ mf.run_backward @chunk0.backward micro_batch 1
+ // expected-note@+1 {{task 3 of stage 0 is here}}
+ mf.run_backward @chunk0.backward micro_batch 0 frame %frame(%2, %0) : (!mf.frame<@chunk0.forward>, tensor<8x1xf32>, tensor<8xi32>) -> ()

// A stage waits for a message that is never sent.
- mf.send %output_0
@ mf.accumulate_loss %output :
// expected-error@+1 {{'mf.receive' op waits for a message that stage 0 does not send}}
= %3 = mf.receive from 0 channel "forward.0" micro_batch 1 : tensor<8x1xf32>

// A message that nobody reads.
@ mf.send %output_0
+ // expected-error@+1 {{'mf.send' op sends a message that no run of stage 1 reads}}
+ mf.send %output_0 to 1 channel "lost" micro_batch 1 : tensor<8x1xf32>

// Two messages for one receive.
@ %output_0, %frame_1 = mf.run_forward @chunk0.forward
+ // expected-note@+1 {{the first is here}}
@ mf.send %output_0
+ // expected-error@+1 {{'mf.send' op is the second message on its channel for micro-batch 1}}
+ mf.send %output_0 to 1 channel "forward.0" micro_batch 1 : tensor<8x1xf32>

// The message of another micro-batch.
@ %0 = mf.load
+ // expected-note@+1 {{it is made here}}
- mf.send %output_0
+ mf.send %output to 1 channel "forward.0" micro_batch 1 : tensor<8x1xf32>
@ %3 = mf.receive from 0
+ // expected-error@+1 {{'mf.run_forward' op is F1 and expected result 0 of F1, but reads result 0 of F0}}

// The frame of another micro-batch.
// expected-error@+1 {{'mf.run_backward' op is B1 and expected the frame of F1}}
= mf.run_backward @chunk0.backward micro_batch 1 frame %frame(%3, %1) : (!mf.frame<@chunk0.forward>, tensor<8x1xf32>, tensor<8xi32>) -> ()

// The tokens of another micro-batch, loaded for forward and read by backward.
= %1 = mf.load tokens micro_batch 0 : tensor<8xi32>
+ // expected-error@+1 {{'mf.run_forward' op expected to load the tokens of micro-batch 1 as argument 0}}

// expected-error@+1 {{'mf.run_backward' op expected input 0 of F1, which its function reads again}}
= mf.run_backward @chunk0.backward micro_batch 1 frame %frame_1(%3, %0) : (!mf.frame<@chunk0.forward>, tensor<8x1xf32>, tensor<8xi32>) -> ()

// A loss that does not count, and one that counts otherwise.
- mf.accumulate_loss %output_0
@ %3 = mf.receive from 0
+ // expected-error@+1 {{'mf.run_forward' op expected its output 0, a loss, to be accumulated once, but it is 0 times}}

@ mf.accumulate_loss %output :
+ // expected-note@+1 {{another one is here}}
// expected-error@+1 {{'mf.loss_gradient' op expected the same gradient for all losses of a step}}
= %4 = mf.loss_gradient 2.5 : tensor<f32>

// Each stage waits for the other.
// expected-error@+1 {{'mf.model' op has schedules that cannot run: deadlock:}}
- %1 = mf.load
- ...
- mf.send %output_0
// expected-note@+1 {{task 1 of stage 0 is here}}
= mf.run_backward @chunk0.backward micro_batch 0 frame %frame(%2, %0) : (!mf.frame<@chunk0.forward>, tensor<8x1xf32>, tensor<8xi32>) -> ()
+ %1 = mf.load tokens micro_batch 1 : tensor<8xi32>
+ // expected-note@+1 {{task 2 of stage 0 is here}}
+ %output_0, %frame_1 = mf.run_forward @chunk0.forward micro_batch 1(%1) : (tensor<8xi32>) -> (tensor<8x1xf32>, !mf.frame<@chunk0.forward>)
+ mf.send %output_0 to 1 channel "forward.0" micro_batch 1 : tensor<8x1xf32>
- %1 = mf.loss_gradient
- ...
- mf.send %2 to 0
@ %3 = mf.receive from 0
+ // expected-note@+1 {{task 1 of stage 1 is here}}
@ mf.accumulate_loss %output_0
+ %1 = mf.loss_gradient 5.000000e-01 : tensor<f32>
+ // expected-note@+1 {{task 2 of stage 1 is here}}
+ %2 = mf.run_backward @chunk1.backward micro_batch 0 frame %frame(%1, %0) : (!mf.frame<@chunk1.forward>, tensor<f32>, tensor<8x1xf32>) -> tensor<8x1xf32>
+ mf.send %2 to 0 channel "backward.1" micro_batch 0 : tensor<8x1xf32>
