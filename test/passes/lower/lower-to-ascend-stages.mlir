// Two stages: what they hand to each other goes through messages on streams of its own, ordered by events.
// RUN: cat %S/../Inputs/training.mlir %s | %roundtrip --mf-lower-to-ascend | FileCheck %s

// CHECK-LABEL: ascend.program @stage0 stage 0
// A tied parameter belongs to the stage that trains it.
// CHECK: ascend.static @w parameter of "w"
// CHECK-NOT: @head
// What the stage returns is written where the next stage's message is sent from: no copy.
// CHECK: ascend.routine @chunk0.forward(%[[TOKENS:.*]]: !ascend.buffer<8xi32, hbm>, %[[OUTPUT:.*]]: !ascend.buffer<8x1xf32, hbm>)
// CHECK: ascend.launch "aclnnEmbedding"(%{{.*}}, %[[TOKENS]]) -> (%[[OUTPUT]])
// The owner's gradient and the tied one's are summed over the two stages that have them, on the stream of collectives.
// CHECK-LABEL: ascend.routine @update
// CHECK: %[[GRADIENT:.*]] = ascend.global @gradient.w
// CHECK-NEXT: %[[READY:.*]] = ascend.record @compute
// CHECK-NEXT: %[[SUMMED:.*]] = ascend.collective all_reduce %[[GRADIENT]] to %[[GRADIENT]] over <pp stages [0, 1]> channel "tied.w" on @collective.tied.w after %[[READY]]
// Kernels that do not touch it run beside it; the norm of the sum waits.
// CHECK-NEXT: %[[NORMS:.*]] = ascend.alloc
// CHECK-NEXT: ascend.launch "aclnnInplaceZero"() -> (%[[NORMS]])
// CHECK: ascend.wait @compute for %[[SUMMED]]
// CHECK: ascend.launch "aclnnForeachNorm"(%[[GRADIENT]])
// CHECK: ascend.collective all_reduce %[[NORMS]] to %[[ALL:.*]] over <pp> channel "pp" on @collective.pp
// CHECK-LABEL: ascend.step
// CHECK: %[[FORWARD0:.*]] = ascend.message : <8x1xf32, hbm>
// CHECK: ascend.call @chunk0.forward(%{{.*}}, %[[FORWARD0]])
// CHECK-NEXT: %[[DONE0:.*]] = ascend.record @compute
// CHECK-NEXT: %[[SENT0:.*]] = ascend.send %[[FORWARD0]] to <pp = 1> channel "forward.0" on @send.forward.0 after %[[DONE0]]
// The gradient is received while the second forward runs, and compute waits for it where it is needed.
// CHECK-NEXT: %[[RECEIVED0:.*]] = ascend.receive %[[BACKWARD0:.*]] from <pp = 1> channel "backward.1" on @receive.backward.1 after %[[DONE0]]
// CHECK: ascend.call @chunk0.forward
// CHECK: ascend.call @chunk0.backward(%[[BACKWARD0]]{{.*}} after %[[SENT0]], %[[RECEIVED0]] :
// The first stage has no loss to report.
// CHECK-NOT: @d2h

// CHECK-LABEL: ascend.program @stage1 stage 1
// CHECK: ascend.static @gradient.head gradient of "head"
// A stage without tokens loads none.
// CHECK-NOT: @host.tokens
// CHECK: ascend.routine @chunk1.backward(%[[DY:.*]]: !ascend.buffer<f32, hbm>, %[[X:.*]]: !ascend.buffer<8x1xf32, hbm>, %[[DX:.*]]: !ascend.buffer<8x1xf32, hbm>)
// CHECK: ascend.launch "aclnnMul"(%[[X]], %[[DY]]) -> (%[[DX]])
// CHECK-LABEL: ascend.step
// CHECK: %[[ARRIVED0:.*]] = ascend.receive %[[X0:.*]] from <pp = 0> channel "forward.0" on @receive.forward.0 :
// CHECK: ascend.call @chunk1.forward(%[[X0]]) {{.*}} after %[[ARRIVED0]] :
// CHECK: ascend.call @chunk1.backward(%{{.*}}, %[[X0]], %[[DX0:.*]]) frame
// CHECK: ascend.send %[[DX0]] to <pp = 0> channel "backward.1" on @send.backward.1
// The last stage reports the loss.
// CHECK: ascend.call @finish()
// CHECK-NEXT: %[[FINISHED:.*]] = ascend.record @compute
// CHECK-NEXT: ascend.wait @d2h for %[[FINISHED]]
// CHECK: ascend.copy %{{.*}} to %{{.*}} on @d2h

mf.model @two_stages attributes {micro_batch_size = 1 : i64, sequence_length = 8 : i64, vocab_size = 16 : i64, training = #two_stages} {
  mf.param @w : tensor<16x1xf32> init <ones>
  mf.param @head : tensor<16x1xf32> init <ones> tied to @w
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
    mf.reduce_tied @w, [@head] stages [0, 1]
    %norms = mf.gradient_norms [@w] at [0] : tensor<1xf32>
    %all = mf.all_reduce %norms over ["pp"] : tensor<1xf32> -> tensor<1xf32>
    mf.return
  }
  mf.update @update1 (%lr: tensor<f32>, %step: tensor<f32>) attributes {stage = 1 : i64} {
    mf.reduce_tied @w, [@head] stages [0, 1]
    mf.return
  }
  mf.schedule stage 0 {
    %0 = mf.load tokens micro_batch 0 : tensor<8xi32>
    %output, %frame = mf.run_forward @chunk0.forward micro_batch 0(%0) : (tensor<8xi32>) -> (tensor<8x1xf32>, !mf.frame<@chunk0.forward>)
    mf.send %output to 1 channel "forward.0" micro_batch 0 : tensor<8x1xf32>
    %1 = mf.load tokens micro_batch 1 : tensor<8xi32>
    %output_0, %frame_1 = mf.run_forward @chunk0.forward micro_batch 1(%1) : (tensor<8xi32>) -> (tensor<8x1xf32>, !mf.frame<@chunk0.forward>)
    mf.send %output_0 to 1 channel "forward.0" micro_batch 1 : tensor<8x1xf32>
    %2 = mf.receive from 1 channel "backward.1" micro_batch 0 : tensor<8x1xf32>
    mf.run_backward @chunk0.backward micro_batch 0 frame %frame(%2, %0) : (!mf.frame<@chunk0.forward>, tensor<8x1xf32>, tensor<8xi32>) -> ()
    %3 = mf.receive from 1 channel "backward.1" micro_batch 1 : tensor<8x1xf32>
    mf.run_backward @chunk0.backward micro_batch 1 frame %frame_1(%3, %1) : (!mf.frame<@chunk0.forward>, tensor<8x1xf32>, tensor<8xi32>) -> ()
    mf.run_update @update0
  }
  mf.schedule stage 1 {
    %0 = mf.receive from 0 channel "forward.0" micro_batch 0 : tensor<8x1xf32>
    %output, %frame = mf.run_forward @chunk1.forward micro_batch 0(%0) : (tensor<8x1xf32>) -> (tensor<f32>, !mf.frame<@chunk1.forward>)
    mf.accumulate_loss %output : tensor<f32>
    %1 = mf.loss_gradient 5.000000e-01 : tensor<f32>
    %2 = mf.run_backward @chunk1.backward micro_batch 0 frame %frame(%1, %0) : (!mf.frame<@chunk1.forward>, tensor<f32>, tensor<8x1xf32>) -> tensor<8x1xf32>
    mf.send %2 to 0 channel "backward.1" micro_batch 0 : tensor<8x1xf32>
    %3 = mf.receive from 0 channel "forward.0" micro_batch 1 : tensor<8x1xf32>
    %output_0, %frame_1 = mf.run_forward @chunk1.forward micro_batch 1(%3) : (tensor<8x1xf32>) -> (tensor<f32>, !mf.frame<@chunk1.forward>)
    mf.accumulate_loss %output_0 : tensor<f32>
    %4 = mf.loss_gradient 5.000000e-01 : tensor<f32>
    %5 = mf.run_backward @chunk1.backward micro_batch 1 frame %frame_1(%4, %3) : (!mf.frame<@chunk1.forward>, tensor<f32>, tensor<8x1xf32>) -> tensor<8x1xf32>
    mf.send %5 to 0 channel "backward.1" micro_batch 1 : tensor<8x1xf32>
    mf.run_update @update1
  }
}
