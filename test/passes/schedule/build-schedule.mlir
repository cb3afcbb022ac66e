// RUN: %variants %S/../Inputs/training.mlir %s > %t
// RUN: %roundtrip --pass-pipeline='builtin.module(mf.model(mf-partition,mf-build-backward,mf-split-chunks,mf-insert-optimizer,mf-build-schedule))' -split-input-file %t | FileCheck %s
// RUN: %roundtrip --pass-pipeline='builtin.module(mf.model(mf-partition,mf-build-backward,mf-split-chunks,mf-insert-optimizer,mf-build-schedule{print-plan=true}))' -split-input-file %t -o /dev/null 2>&1 | FileCheck %s --check-prefix=PLAN
// RUN: %roundtrip --pass-pipeline='builtin.module(mf.model(mf-partition,mf-build-backward,mf-split-chunks,mf-insert-optimizer,mf-build-schedule))' --remarks-filter-analyse=schedule -split-input-file %t -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// Two chunks on each stage, interleaved: half the bubble. Messages are named after the chunk that sends them.
// PLAN: stage 0: F0.0 F0.1 F2.0 F2.1 B2.0 B2.1 B0.0 B0.1
// PLAN-NEXT: stage 1: F1.0 F1.1 F3.0 B3.0 F3.1 B3.1 B1.0 B1.1
// REMARK: Function=two_chunks_on_each_stage | Remark="the model runs interleaved", chunks=4, ideal bubble=0.2500, micro-batches=2
// REMARK: Function=two_chunks_on_each_stage | Remark="stage 1 runs interleaved", in flight=3, in flight by chunk="2, 1", tasks=8
// CHECK-LABEL: mf.model @two_chunks_on_each_stage
// CHECK: mf.schedule stage 0 {
// CHECK: %[[X:.*]] = mf.receive from 1 channel "forward.1" micro_batch 0{{.*}} : tensor<8xf32>
// CHECK-NEXT: %[[Y:.*]], %{{.*}} = mf.run_forward @chunk2.forward micro_batch 0(%[[X]])
// CHECK-NEXT: mf.send %[[Y]] to 1 channel "forward.2" micro_batch 0{{.*}} : tensor<8xf32>
// CHECK: mf.schedule stage 1 {
// CHECK: %[[DX:.*]] = mf.run_backward @chunk3.backward micro_batch 0
// CHECK-NEXT: mf.send %[[DX]] to 0 channel "backward.3" micro_batch 0{{.*}} : tensor<8xf32>
mf.model @two_chunks_on_each_stage attributes {
    micro_batch_size = 1 : i64, sequence_length = 8 : i64, vocab_size = 16 : i64,
    training = #mf.training<parallel = <stages = 2, interleave = 2, micro_batches = 2, offset = 0>,
      optimizer = #adamw, lr_schedule = #constant, loss_scale = 1.0, max_device_memory = 0>} {
  mf.param @w : tensor<16x1xf32> init <ones>
  mf.layer @embedding embedding (%tokens: tensor<8xi32>) -> tensor<8xf32> {
    %w = mf.get_param @w : tensor<16x1xf32>
    %e = mf.embedding %w, %tokens : (tensor<16x1xf32>, tensor<8xi32>) -> tensor<8x1xf32>
    %h = mf.reshape %e : (tensor<8x1xf32>) -> tensor<8xf32>
    mf.return %h : tensor<8xf32>
  }
  mf.layer @layers.0 body (%x: tensor<8xf32>) -> tensor<8xf32> {
    %y0 = mf.silu %x : (tensor<8xf32>) -> tensor<8xf32>
    mf.return %y0 : tensor<8xf32>
  }
  mf.layer @layers.1 body (%x: tensor<8xf32>) -> tensor<8xf32> {
    %y1 = mf.silu %x : (tensor<8xf32>) -> tensor<8xf32>
    mf.return %y1 : tensor<8xf32>
  }
  mf.layer @layers.2 body (%x: tensor<8xf32>) -> tensor<8xf32> {
    %y2 = mf.silu %x : (tensor<8xf32>) -> tensor<8xf32>
    mf.return %y2 : tensor<8xf32>
  }
  mf.layer @layers.3 body (%x: tensor<8xf32>) -> tensor<8xf32> {
    %y3 = mf.silu %x : (tensor<8xf32>) -> tensor<8xf32>
    mf.return %y3 : tensor<8xf32>
  }
  mf.layer @loss head (%x: tensor<8xf32>, %labels: tensor<8xi32>) -> tensor<f32> {
    %loss = mf.reduce_sum %x {axes = array<i64: 0>} : (tensor<8xf32>) -> tensor<f32>
    mf.return %loss : tensor<f32>
  }
}

// Gradient accumulation: forward and backward of each micro-batch in turn, so that one is in flight.
// The loss's gradient is the loss scale over the number of micro-batches; the scale comes with the step.
// PLAN-NEXT: stage 0: F0 B0 F1 B1
// REMARK: Function=one_stage_accumulates | Remark="the model runs 1f1b", chunks=1, ideal bubble=0.0000, micro-batches=2
// REMARK: Function=one_stage_accumulates | Remark="stage 0 runs 1f1b", in flight=1, in flight by chunk=1, tasks=4
// CHECK-LABEL: mf.model @one_stage_accumulates
// CHECK: mf.schedule stage 0 {
// CHECK-NEXT: %[[TOKENS0:.*]] = mf.load tokens micro_batch 0 : tensor<8xi32>
// CHECK-NEXT: %[[LABELS0:.*]] = mf.load labels micro_batch 0
// CHECK-NEXT: %[[LOSS0:.*]], %[[FRAME0:.*]] = mf.run_forward @chunk0.forward micro_batch 0(%[[TOKENS0]], %[[LABELS0]])
// CHECK-NEXT: mf.accumulate_loss %[[LOSS0]]
// CHECK-NEXT: %[[DLOSS0:.*]] = mf.loss_gradient 5.000000e-01 scaled
// CHECK-NEXT: mf.run_backward @chunk0.backward micro_batch 0 frame %[[FRAME0]](%[[DLOSS0]], %[[TOKENS0]]) : {{.*}} -> ()
// CHECK: mf.run_update @update0
= mf.model @one_stage_accumulates attributes {
= training = #mf.training<parallel = <stages = 1, interleave = 1, micro_batches = 2, offset = 0>,
= optimizer = #adamw, lr_schedule = #constant, loss_scale = 1024.0, max_device_memory = 0>} {

// The first of two stages runs one forward ahead.
// PLAN-NEXT: stage 0: F0 F1 B0 F2 B1 B2
// PLAN-NEXT: stage 1: F0 B0 F1 B1 F2 B2
// REMARK: Function=two_stages_alternate | Remark="stage 0 runs 1f1b", in flight=2
// REMARK: Function=two_stages_alternate | Remark="stage 1 runs 1f1b", in flight=1
// CHECK-LABEL: mf.model @two_stages_alternate
// CHECK: mf.schedule stage 0 {
// CHECK-NEXT: %[[TOKENS0:.*]] = mf.load tokens micro_batch 0
// CHECK-NEXT: %[[Y0:.*]], %[[FRAME0:.*]] = mf.run_forward @chunk0.forward micro_batch 0(%[[TOKENS0]])
// CHECK-NEXT: mf.send %[[Y0]] to 1 channel "forward.0" micro_batch 0
// CHECK: %[[DY0:.*]] = mf.receive from 1 channel "backward.1" micro_batch 0
// CHECK-NEXT: mf.run_backward @chunk0.backward micro_batch 0 frame %[[FRAME0]](%[[DY0]], %[[TOKENS0]])
// CHECK: mf.run_update @update0
// CHECK: mf.schedule stage 1 {
// CHECK-NEXT: %[[X0:.*]] = mf.receive from 0 channel "forward.0" micro_batch 0
// CHECK-NEXT: %[[LABELS0:.*]] = mf.load labels micro_batch 0
// CHECK-NEXT: %[[LOSS0:.*]], %[[FRAME0:.*]] = mf.run_forward @chunk1.forward micro_batch 0(%[[X0]], %[[LABELS0]])
// CHECK-NEXT: mf.accumulate_loss %[[LOSS0]]
// CHECK-NEXT: %[[DLOSS0:.*]] = mf.loss_gradient 0.33333333333333331
// CHECK-NEXT: %[[DX0:.*]] = mf.run_backward @chunk1.backward micro_batch 0 frame %[[FRAME0]](%[[DLOSS0]], %[[X0]])
// CHECK-NEXT: mf.send %[[DX0]] to 0 channel "backward.1" micro_batch 0
= mf.model @two_stages_alternate attributes {
= training = #mf.training<parallel = <stages = 2, interleave = 1, micro_batches = 3, offset = 0>,

// Stage p of 4 keeps at most 4 - p micro-batches in flight; the one in the middle passes on both ways.
// PLAN-NEXT: stage 0: F0 F1 F2 F3 B0 F4 B1 B2 B3 B4
// PLAN-NEXT: stage 1: F0 F1 F2 B0 F3 B1 F4 B2 B3 B4
// PLAN-NEXT: stage 2: F0 F1 B0 F2 B1 F3 B2 F4 B3 B4
// PLAN-NEXT: stage 3: F0 B0 F1 B1 F2 B2 F3 B3 F4 B4
// REMARK: Function=four_stages_warm_up | Remark="stage 0 runs 1f1b", in flight=4
// REMARK: Function=four_stages_warm_up | Remark="stage 1 runs 1f1b", in flight=3
// CHECK-LABEL: mf.model @four_stages_warm_up
// CHECK: mf.schedule stage 2 {
// CHECK-NEXT: %[[X0:.*]] = mf.receive from 1 channel "forward.1" micro_batch 0
// CHECK-NEXT: %[[Y0:.*]], %[[FRAME0:.*]] = mf.run_forward @chunk2.forward micro_batch 0(%[[X0]])
// CHECK-NEXT: mf.send %[[Y0]] to 3 channel "forward.2" micro_batch 0
// CHECK: %[[DY0:.*]] = mf.receive from 3 channel "backward.3" micro_batch 0
// CHECK-NEXT: %[[DX0:.*]] = mf.run_backward @chunk2.backward micro_batch 0 frame %[[FRAME0]](%[[DY0]], %[[X0]])
// CHECK-NEXT: mf.send %[[DX0]] to 1 channel "backward.2" micro_batch 0
= mf.model @four_stages_warm_up attributes {
= training = #mf.training<parallel = <stages = 4, interleave = 1, micro_batches = 5, offset = 0>,

// With fewer micro-batches than stages there are only warm-up and drain.
// PLAN-NEXT: stage 0: F0 B0
// PLAN-NEXT: stage 1: F0 B0
// PLAN-NEXT: stage 2: F0 B0
// CHECK-LABEL: mf.model @one_micro_batch_on_three_stages
= mf.model @one_micro_batch_on_three_stages attributes {
= training = #mf.training<parallel = <stages = 3, interleave = 1, micro_batches = 1, offset = [0, 1, 0]>,

// Chunks of one stage hand over without a message.
// PLAN-NEXT: stage 0: F0.0 F0.1 F1.0 F1.1 B1.0 B1.1 B0.0 B0.1
// CHECK-LABEL: mf.model @handed_over_on_one_stage
// CHECK: mf.schedule stage 0 {
// CHECK: %[[Y0:.*]], %[[FRAME0:.*]] = mf.run_forward @chunk0.forward micro_batch 0
// CHECK-NOT: mf.send
// CHECK-NOT: mf.receive
// CHECK: %[[LOSS0:.*]], %[[FRAME1:.*]] = mf.run_forward @chunk1.forward micro_batch 0(%[[Y0]], %{{.*}})
// CHECK: %[[DY0:.*]] = mf.run_backward @chunk1.backward micro_batch 0 frame %[[FRAME1]](%{{.*}}, %[[Y0]])
// CHECK: mf.run_backward @chunk0.backward micro_batch 0 frame %[[FRAME0]](%[[DY0]], %{{.*}})
// CHECK: mf.run_update
= mf.model @handed_over_on_one_stage attributes {
= training = #mf.training<parallel = <stages = 1, interleave = 2, micro_batches = 2, offset = 0, scheduler = "gpipe">,
