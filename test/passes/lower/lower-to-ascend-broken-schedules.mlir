// Schedules broken on purpose are refused, with the two runs named.

// The step as it is.
// RUN: cat %S/../Inputs/training.mlir %s | %roundtrip --mf-lower-to-ascend -o /dev/null

// A run is missing.
// RUN: cat %S/../Inputs/training.mlir %s | sed -e '/ B1.0$/d' | not %roundtrip --mf-lower-to-ascend 2>&1 | FileCheck %s --check-prefix=MISSING
// MISSING: error: 'mf.model' op has schedules that cannot run: stage 0 does not run B1 of chunk 0, expected every task once

// A run comes twice.
// RUN: cat %S/../Inputs/training.mlir %s | sed -e 's/^\(.*\) \/\/ B1.0$/\1 \n\1/' | not %roundtrip --mf-lower-to-ascend 2>&1 | FileCheck %s --check-prefix=TWICE
// TWICE: error: 'mf.model' op has schedules that cannot run: task 4 of stage 0 is B1, and so is task 3, expected one

// The gradients of a chunk add up in ascending order of micro-batches.
// RUN: cat %S/../Inputs/training.mlir %s | sed -e '/ RB0.0$/{h;d}; / B0.0$/{H;d}; /run_update @update0/{x;G}' | not %roundtrip --mf-lower-to-ascend 2>&1 | FileCheck %s --check-prefix=ASCENDING
// ASCENDING: error: 'mf.model' op has schedules that cannot run: B1 of stage 0 (task 2) runs before B0 of stage 0 (task 3), expected gradients of a chunk in ascending order of micro-batches
// ASCENDING: note: task 2 of stage 0 is here
// ASCENDING-NEXT: run_backward @chunk0.backward micro_batch 1
// ASCENDING: note: task 3 of stage 0 is here

// A stage waits for a message that is never sent.
// RUN: cat %S/../Inputs/training.mlir %s | sed -e '/ SF1.0$/d' | not %roundtrip --mf-lower-to-ascend 2>&1 | FileCheck %s --check-prefix=UNSENT
// UNSENT: error: 'mf.receive' op waits for a message that stage 0 does not send

// A message that nobody reads.
// RUN: cat %S/../Inputs/training.mlir %s | sed -e 's/^\(.*\)"forward.0" \(.*\) \/\/ SF1.0$/\1"forward.0" \2\n\1"lost" \2/' | not %roundtrip --mf-lower-to-ascend 2>&1 | FileCheck %s --check-prefix=UNREAD
// UNREAD: error: 'mf.send' op sends a message that no run of stage 1 reads

// Two messages for one receive.
// RUN: cat %S/../Inputs/training.mlir %s | sed -e 's/^\(.*\) \/\/ SF1.0$/\1\n\1/' | not %roundtrip --mf-lower-to-ascend 2>&1 | FileCheck %s --check-prefix=DOUBLE
// DOUBLE: error: 'mf.send' op is the second message on its channel for micro-batch 1

// The message of another micro-batch.
// RUN: cat %S/../Inputs/training.mlir %s | sed -e '/ SF1.0$/s/%output_0/%output/' | not %roundtrip --mf-lower-to-ascend 2>&1 | FileCheck %s --check-prefix=OTHER
// OTHER: error: 'mf.run_forward' op is F1 and expected result 0 of F1, but reads result 0 of F0

// The frame of another micro-batch.
// RUN: cat %S/../Inputs/training.mlir %s | sed -e '/ B1.0$/s/%frame_1/%frame/' | not %roundtrip --mf-lower-to-ascend 2>&1 | FileCheck %s --check-prefix=FRAME
// FRAME: error: 'mf.run_backward' op is B1 and expected the frame of F1

// The tokens of another micro-batch.
// RUN: cat %S/../Inputs/training.mlir %s | sed -e '/ L1.0$/s/micro_batch 1/micro_batch 0/' | not %roundtrip --mf-lower-to-ascend 2>&1 | FileCheck %s --check-prefix=TOKENS
// TOKENS: error: 'mf.run_forward' op expected to load the tokens of micro-batch 1 as argument 0
// RUN: cat %S/../Inputs/training.mlir %s | sed -e '/ B1.0$/s/%1)/%0)/' | not %roundtrip --mf-lower-to-ascend 2>&1 | FileCheck %s --check-prefix=AGAIN
// AGAIN: error: 'mf.run_backward' op expected input 0 of F1, which its function reads again

// A loss that does not count, and one that counts otherwise.
// RUN: cat %S/../Inputs/training.mlir %s | sed -e '/ A1.1$/d' | not %roundtrip --mf-lower-to-ascend 2>&1 | FileCheck %s --check-prefix=LOSS
// LOSS: error: 'mf.run_forward' op expected its output 0, a loss, to be accumulated once, but it is 0 times
// RUN: cat %S/../Inputs/training.mlir %s | sed -e '/ G1.1$/s/5.0/2.5/' | not %roundtrip --mf-lower-to-ascend 2>&1 | FileCheck %s --check-prefix=WEIGHT
// WEIGHT: error: 'mf.loss_gradient' op expected the same gradient for all losses of a step

// Each stage waits for the other.
// RUN: cat %S/../Inputs/training.mlir %s | sed -e '/ L1.0$/{h;d}; / F1.0$/{H;d}; / SF1.0$/{H;d}; / B0.0$/{G}; / G0.1$/{h;d}; / B0.1$/{H;d}; / SB0.1$/{H;d}; / A1.1$/{G}' | not %roundtrip --mf-lower-to-ascend 2>&1 | FileCheck %s --check-prefix=DEADLOCK
// DEADLOCK: error: 'mf.model' op has schedules that cannot run: deadlock:
// DEADLOCK: note: task 1 of stage 0 is here

mf.model @two_stages attributes {micro_batch_size = 1 : i64, sequence_length = 8 : i64, vocab_size = 16 : i64, training = #two_stages} {
  mf.param @w : tensor<16x1xf32> init <ones>
  mf.param @head : tensor<16x1xf32> init <ones>
  mf.forward @chunk0.forward (%tokens: tensor<8xi32>) -> tensor<8x1xf32>
      attributes {placement = #mf.placement<stage = 0, chunk = 0>, inputs = [#mf<input_kind tokens>], input_indices = [0]} {
    %w = mf.get_param @w : tensor<16x1xf32>
    %y = mf.embedding %w, %tokens {name = "gather"} : (tensor<16x1xf32>, tensor<8xi32>) -> tensor<8x1xf32>
    mf.return %y : tensor<8x1xf32>
  }
  mf.backward @chunk0.backward (%dy: tensor<8x1xf32>, %tokens: tensor<8xi32>) -> tensor<16x1xf32>
      attributes {placement = #mf.placement<stage = 0, chunk = 0>, forward_arguments = [0], gradients = [@w]} {
    %dw = mf.embedding_grad %dy, %tokens {name = "gather.grad"} : (tensor<8x1xf32>, tensor<8xi32>) -> tensor<16x1xf32>
    mf.return %dw : tensor<16x1xf32>
  }
  mf.forward @chunk1.forward (%x: tensor<8x1xf32>) -> tensor<f32>
      attributes {placement = #mf.placement<stage = 1, chunk = 0>, inputs = [], input_indices = []} {
    %y = mf.reduce_sum %x {name = "sum", axes = array<i64: 0, 1>} : (tensor<8x1xf32>) -> tensor<f32>
    mf.return %y : tensor<f32>
  }
  mf.backward @chunk1.backward (%dy: tensor<f32>, %x: tensor<8x1xf32>) -> (tensor<8x1xf32>, tensor<16x1xf32>)
      attributes {placement = #mf.placement<stage = 1, chunk = 0>, forward_arguments = [0], gradients = [@head]} {
    %dx = mf.mul %x, %dy {name = "mul"} : (tensor<8x1xf32>, tensor<f32>) -> tensor<8x1xf32>
    %dw = mf.concat %dx, %dx {name = "concat", axis = 0 : i64} : (tensor<8x1xf32>, tensor<8x1xf32>) -> tensor<16x1xf32>
    mf.return %dx, %dw : tensor<8x1xf32>, tensor<16x1xf32>
  }
  mf.update @update0 (%lr: tensor<f32>, %step: tensor<f32>) attributes {stage = 0 : i64} {
    mf.return
  }
  mf.update @update1 (%lr: tensor<f32>, %step: tensor<f32>) attributes {stage = 1 : i64} {
    mf.return
  }
  mf.schedule stage 0 {
    %0 = mf.load tokens micro_batch 0 : tensor<8xi32> // L0.0
    %output, %frame = mf.run_forward @chunk0.forward micro_batch 0(%0) : (tensor<8xi32>) -> (tensor<8x1xf32>, !mf.frame<@chunk0.forward>) // F0.0
    mf.send %output to 1 channel "forward.0" micro_batch 0 : tensor<8x1xf32> // SF0.0
    %1 = mf.load tokens micro_batch 1 : tensor<8xi32> // L1.0
    %output_0, %frame_1 = mf.run_forward @chunk0.forward micro_batch 1(%1) : (tensor<8xi32>) -> (tensor<8x1xf32>, !mf.frame<@chunk0.forward>) // F1.0
    mf.send %output_0 to 1 channel "forward.0" micro_batch 1 : tensor<8x1xf32> // SF1.0
    %2 = mf.receive from 1 channel "backward.1" micro_batch 0 : tensor<8x1xf32> // RB0.0
    mf.run_backward @chunk0.backward micro_batch 0 frame %frame(%2, %0) : (!mf.frame<@chunk0.forward>, tensor<8x1xf32>, tensor<8xi32>) -> () // B0.0
    %3 = mf.receive from 1 channel "backward.1" micro_batch 1 : tensor<8x1xf32> // RB1.0
    mf.run_backward @chunk0.backward micro_batch 1 frame %frame_1(%3, %1) : (!mf.frame<@chunk0.forward>, tensor<8x1xf32>, tensor<8xi32>) -> () // B1.0
    mf.run_update @update0
  }
  mf.schedule stage 1 {
    %0 = mf.receive from 0 channel "forward.0" micro_batch 0 : tensor<8x1xf32> // RF0.1
    %output, %frame = mf.run_forward @chunk1.forward micro_batch 0(%0) : (tensor<8x1xf32>) -> (tensor<f32>, !mf.frame<@chunk1.forward>) // F0.1
    mf.accumulate_loss %output : tensor<f32> // A0.1
    %1 = mf.loss_gradient 5.000000e-01 : tensor<f32> // G0.1
    %2 = mf.run_backward @chunk1.backward micro_batch 0 frame %frame(%1, %0) : (!mf.frame<@chunk1.forward>, tensor<f32>, tensor<8x1xf32>) -> tensor<8x1xf32> // B0.1
    mf.send %2 to 0 channel "backward.1" micro_batch 0 : tensor<8x1xf32> // SB0.1
    %3 = mf.receive from 0 channel "forward.0" micro_batch 1 : tensor<8x1xf32> // RF1.1
    %output_0, %frame_1 = mf.run_forward @chunk1.forward micro_batch 1(%3) : (tensor<8x1xf32>) -> (tensor<f32>, !mf.frame<@chunk1.forward>) // F1.1
    mf.accumulate_loss %output_0 : tensor<f32> // A1.1
    %4 = mf.loss_gradient 5.000000e-01 : tensor<f32> // G1.1
    %5 = mf.run_backward @chunk1.backward micro_batch 1 frame %frame_1(%4, %3) : (!mf.frame<@chunk1.forward>, tensor<f32>, tensor<8x1xf32>) -> tensor<8x1xf32> // B1.1
    mf.send %5 to 0 channel "backward.1" micro_batch 1 : tensor<8x1xf32> // SB1.1
    mf.run_update @update1
  }
}
