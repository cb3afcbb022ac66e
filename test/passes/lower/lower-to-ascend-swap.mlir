// Copies of swapped values: where they start, and which event orders them.
// RUN: cat %S/../Inputs/training.mlir %s | %roundtrip --pass-pipeline='builtin.module(mf.model(mf-build-schedule),mf-lower-to-ascend)' | FileCheck %s

// One slot of the frame is in host memory.
// CHECK: ascend.frame_layout @chunk0.residuals [!ascend.buffer<4xf32, host>, !ascend.buffer<4xf32, host>] of ["early", "late"]

// Forward: the copy out starts behind its operator; three kernels later the compute stream waits for it.
// CHECK: ascend.routine @chunk0.forward
// CHECK: ascend.launch "aclnnSilu"(%{{.*}}) -> (%[[EARLY:.*]]) {} cell "early"
// CHECK: %[[READY:.*]] = ascend.record @compute
// CHECK-NEXT: %[[OUT:.*]] = ascend.copy %[[EARLY]] to %{{.*}} on @d2h after %[[READY]]
// CHECK: ascend.launch "aclnnNeg"
// CHECK: ascend.launch "aclnnNeg"
// CHECK-NOT: ascend.wait @compute
// CHECK: ascend.launch "aclnnNeg"
// CHECK: ascend.wait @compute for %[[OUT]]
// CHECK-NEXT: ascend.launch "aclnnSilu"(%{{.*}}) -> (%[[LATE:.*]]) {} cell "late"
// CHECK: %[[OUT2:.*]] = ascend.copy %[[LATE]] to %{{.*}} on @d2h
// Cut to the end of the task.
// CHECK: ascend.launch "aclnnReduceSum"
// CHECK: ascend.wait @compute for %[[OUT2]]
// CHECK-NEXT: }

// Backward: @late is read by kernel 0 and @early by kernel 2. With a distance of 1, @early starts before kernel 1; @late
// has to start one kernel before the task, so it is an argument, and so is the event of its copy.
// CHECK: ascend.routine @chunk0.backward(%[[DY:.*]]: !ascend.buffer<f32, hbm>, %[[TOKENS:.*]]: !ascend.buffer<4xi32, hbm>, %[[LATE:.*]]: !ascend.buffer<4xf32, hbm>, %[[DONE:.*]]: !ascend.event)
// CHECK: ascend.wait @compute for %[[DONE]]
// CHECK: ascend.launch "aclnnMul"(%[[LATE]], %[[LATE]])
// CHECK: %[[READY:.*]] = ascend.record @compute
// CHECK-NEXT: %[[IN:.*]] = ascend.copy %{{.*}} to %[[BACK:.*]] on @h2d after %[[READY]]
// CHECK: ascend.launch "aclnnNeg"
// CHECK-NEXT: ascend.wait @compute for %[[IN]]
// CHECK: ascend.launch "aclnnMul"(%{{.*}}, %[[BACK]])

// The step: micro-batch 0's copy for its backward starts before the last kernel of the task before that, the forward of
// micro-batch 1, which records an event there.
// CHECK: ascend.step {
// CHECK: %[[FRAME0:.*]] = ascend.frame @chunk0.residuals micro_batch 0
// CHECK: %[[FRAME1:.*]] = ascend.frame @chunk0.residuals micro_batch 1
// CHECK: %[[STARTED:.*]] = ascend.call @chunk0.forward(%{{.*}}) frame %[[FRAME1]] : !ascend.frame<@chunk0.residuals> micro_batch 1 records [7] after %{{.*}} : ({{.*}}) -> !ascend.event
// CHECK: %[[SLOT:.*]] = ascend.slot 1 of %[[FRAME0]] : !ascend.frame<@chunk0.residuals> as : <4xf32, host>
// CHECK-NEXT: %[[E0:.*]] = ascend.copy %[[SLOT]] to %[[M0:.*]] on @h2d after %[[STARTED]]
// CHECK: ascend.call @chunk0.backward(%{{.*}}, %{{.*}}, %[[M0]], %[[E0]]) frame %[[FRAME0]]

mf.model @m attributes {
    micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64,
    training = #mf.training<parallel = <stages = 1, interleave = 1, micro_batches = 2, offset = 0, scheduler = "gpipe">,
      optimizer = #adamw, lr_schedule = #constant, loss_scale = 1.0, max_device_memory = 65536>} {
  mf.param @w : tensor<16x1xf32> init <normal, value = 0.02>
  mf.forward @chunk0.forward (%tokens: tensor<4xi32>) -> (tensor<f32>, !mf.host<tensor<4xf32>>, !mf.host<tensor<4xf32>>)
      attributes {placement = #mf.placement<stage = 0, chunk = 0>, inputs = [#mf<input_kind tokens>], input_indices = [0]} {
    %w = mf.get_param @w : tensor<16x1xf32>
    %e = mf.embedding %w, %tokens {name = "embedding"} : (tensor<16x1xf32>, tensor<4xi32>) -> tensor<4x1xf32>
    %x = mf.reshape %e {name = "reshape"} : (tensor<4x1xf32>) -> tensor<4xf32>
    %early = mf.silu %x {name = "early"} : (tensor<4xf32>) -> tensor<4xf32>
    %h0 = mf.offload %early {distance = 1 : i64, name = "early"} : tensor<4xf32>
    %n0 = mf.neg %early {name = "n0"} : (tensor<4xf32>) -> tensor<4xf32>
    %n1 = mf.neg %n0 {name = "n1"} : (tensor<4xf32>) -> tensor<4xf32>
    %n2 = mf.neg %n1 {name = "n2"} : (tensor<4xf32>) -> tensor<4xf32>
    %late = mf.silu %n2 {name = "late"} : (tensor<4xf32>) -> tensor<4xf32>
    %h1 = mf.offload %late {distance = 1 : i64, name = "late"} : tensor<4xf32>
    %y = mf.reduce_sum %late {name = "loss.sum", axes = array<i64: 0>} : (tensor<4xf32>) -> tensor<f32>
    mf.return %y, %h0, %h1 : tensor<f32>, !mf.host<tensor<4xf32>>, !mf.host<tensor<4xf32>>
  }
  mf.backward @chunk0.backward (%dy: tensor<f32>, %tokens: tensor<4xi32>, %h0: !mf.host<tensor<4xf32>>, %h1: !mf.host<tensor<4xf32>>) -> tensor<16x1xf32>
      attributes {placement = #mf.placement<stage = 0, chunk = 0>, forward_arguments = [0], gradients = [@w]} {
    %late = mf.prefetch %h1 {distance = 1 : i64, name = "late"} : tensor<4xf32>
    %a = mf.mul %late, %late {name = "a"} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %b = mf.neg %a {name = "b"} : (tensor<4xf32>) -> tensor<4xf32>
    %early = mf.prefetch %h0 {distance = 1 : i64, name = "early"} : tensor<4xf32>
    %c = mf.mul %b, %early {name = "c"} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %dx = mf.reshape %c {name = "reshape.grad"} : (tensor<4xf32>) -> tensor<4x1xf32>
    %dw = mf.embedding_grad %dx, %tokens {name = "embedding.grad"} : (tensor<4x1xf32>, tensor<4xi32>) -> tensor<16x1xf32>
    mf.return %dw : tensor<16x1xf32>
  }
}
