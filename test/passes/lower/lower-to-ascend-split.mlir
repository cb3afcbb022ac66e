// The routines of a chunk with several outputs and a backward in two functions, between two others.
// RUN: cat %S/../Inputs/training.mlir %s | %roundtrip --mf-lower-to-ascend | FileCheck %s

// What backward keeps lies behind the residuals.
// CHECK: ascend.frame_layout @chunk.residuals [!ascend.buffer<4x8xf32, hbm>, !ascend.buffer<4x8xf32, hbm>] of ["silu", "neg.grad"]

// Arguments, then outputs. What is an argument itself is copied.
// CHECK: ascend.routine @chunk.forward(%[[X:.*]]: !ascend.buffer<4x8xf32, hbm>, %[[Y:.*]]: !ascend.buffer<4x8xf32, hbm>, %[[THROUGH:.*]]: !ascend.buffer<4x8xf32, hbm>) attributes {layout = @chunk.residuals}
// CHECK: %[[SLOT:.*]] = ascend.slot 0
// CHECK: ascend.launch "aclnnSilu"(%[[X]]) -> (%[[SLOT]])
// CHECK: ascend.launch "aclnnNeg"(%[[SLOT]]) -> (%[[Y]])
// CHECK: ascend.launch "aclnnInplaceCopy"(%[[X]]) -> (%[[THROUGH]])

// Gradients of outputs, forward's arguments, gradients of hidden inputs. Backward does not touch the residual that only
// the weight half reads.
// CHECK: ascend.routine @chunk.backward(%[[DY:.*]]: !ascend.buffer<4x8xf32, hbm>, %[[DTHROUGH:.*]]: !ascend.buffer<4x8xf32, hbm>, %[[X:.*]]: !ascend.buffer<4x8xf32, hbm>, %[[DX:.*]]: !ascend.buffer<4x8xf32, hbm>) attributes {layout = @chunk.residuals}
// CHECK-NOT: ascend.slot 0
// CHECK: %[[KEPT:.*]] = ascend.slot 1
// CHECK: ascend.launch "aclnnNeg"(%[[DY]]) -> (%[[KEPT]])
// CHECK: ascend.launch "aclnnSiluBackward"(%[[KEPT]], %[[X]]) -> (%[[DA:.*]]) {}
// CHECK: ascend.launch "aclnnAdd"(%[[DTHROUGH]], %[[DA]]) -> (%[[DX]])

// The weight half reads both and adds to the parameter's gradient.
// CHECK: ascend.routine @chunk.weights() attributes {layout = @chunk.residuals}
// CHECK-DAG: %[[A:.*]] = ascend.slot 0
// CHECK-DAG: %[[KEPT:.*]] = ascend.slot 1
// CHECK: ascend.launch "aclnnMatmul"(%[[KEPT]], %[[A]]) -> (%[[DW:.*]]) {
// CHECK: ascend.launch "aclnnInplaceAdd"(%[[DW]]) -> (%{{.*}})

mf.model @m attributes {
    micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64,
    training = #mf.training<parallel = <stages = 1, interleave = 3, micro_batches = 2, offset = 0>,
      optimizer = #adamw, lr_schedule = #constant, loss_scale = 1.0, max_device_memory = 65536>} {
  mf.param @table : tensor<16x8xf32> init <normal, value = 0.02>
  mf.param @w : tensor<8x8xf32> init <normal, value = 0.02>
  mf.forward @first.forward (%tokens: tensor<4xi32>) -> tensor<4x8xf32>
      attributes {placement = #mf.placement<stage = 0, chunk = 0>, inputs = [#mf<input_kind tokens>], input_indices = [0]} {
    %table = mf.get_param @table : tensor<16x8xf32>
    %x = mf.embedding %table, %tokens {name = "gather"} : (tensor<16x8xf32>, tensor<4xi32>) -> tensor<4x8xf32>
    mf.return %x : tensor<4x8xf32>
  }
  mf.backward @first.backward (%dx: tensor<4x8xf32>) attributes {placement = #mf.placement<stage = 0, chunk = 0>, forward_arguments = [], gradients = []} {
    mf.return
  }
  mf.backward_weights @first.weights (%dx: tensor<4x8xf32>, %tokens: tensor<4xi32>) -> tensor<16x8xf32>
      attributes {placement = #mf.placement<stage = 0, chunk = 0>, output_gradients = [0], forward_arguments = [0], gradients = [@table]} {
    %dtable = mf.embedding_grad %dx, %tokens {name = "gather.grad"} : (tensor<4x8xf32>, tensor<4xi32>) -> tensor<16x8xf32>
    mf.return %dtable : tensor<16x8xf32>
  }

  mf.forward @chunk.forward (%x: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>)
      attributes {placement = #mf.placement<stage = 0, chunk = 1>, inputs = [], input_indices = [], outputs = 2 : i64} {
    %a = mf.silu %x {name = "silu"} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %y = mf.neg %a {name = "neg"} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    mf.return %y, %x, %a : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>
  }
  mf.backward @chunk.backward (%dy: tensor<4x8xf32>, %dthrough: tensor<4x8xf32>, %x: tensor<4x8xf32>, %a: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>)
      attributes {placement = #mf.placement<stage = 0, chunk = 1>, forward_arguments = [0], gradients = [], outputs = 2 : i64, kept = 1 : i64} {
    %kept = mf.neg %dy {name = "neg.grad"} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %da = mf.silu_grad %kept, %x {name = "silu.grad"} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    %dx = mf.add %dthrough, %da {name = "silu.grad"} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    mf.return %dx, %kept : tensor<4x8xf32>, tensor<4x8xf32>
  }
  mf.backward_weights @chunk.weights (%a: tensor<4x8xf32>, %kept: tensor<4x8xf32>) -> tensor<8x8xf32>
      attributes {placement = #mf.placement<stage = 0, chunk = 1>, output_gradients = [], forward_arguments = [], gradients = [@w]} {
    %dw = mf.matmul %kept, %a {transpose_a = true, name = "w.grad"} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
    mf.return %dw : tensor<8x8xf32>
  }

  mf.forward @last.forward (%y: tensor<4x8xf32>, %through: tensor<4x8xf32>) -> tensor<f32>
      attributes {placement = #mf.placement<stage = 0, chunk = 2>, inputs = [], input_indices = []} {
    %product = mf.mul %y, %through {name = "mul"} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    %loss = mf.reduce_sum %product {axes = array<i64: 0, 1>, name = "loss"} : (tensor<4x8xf32>) -> tensor<f32>
    mf.return %loss : tensor<f32>
  }
  mf.backward @last.backward (%dloss: tensor<f32>, %y: tensor<4x8xf32>, %through: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>)
      attributes {placement = #mf.placement<stage = 0, chunk = 2>, forward_arguments = [0, 1], gradients = []} {
    %dy = mf.mul %through, %dloss {name = "mul.grad"} : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
    %dthrough = mf.mul %y, %dloss {name = "mul.grad"} : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
    mf.return %dy, %dthrough : tensor<4x8xf32>, tensor<4x8xf32>
  }
  mf.backward_weights @last.weights () attributes {placement = #mf.placement<stage = 0, chunk = 2>, output_gradients = [], forward_arguments = [], gradients = []} {
    mf.return
  }

  mf.schedule stage 0 {
    %tokens = mf.load tokens micro_batch 0 : tensor<4xi32>
    %x, %f0 = mf.run_forward @first.forward micro_batch 0 (%tokens) : (tensor<4xi32>) -> (tensor<4x8xf32>, !mf.frame<@first.forward>)
    %y:2, %f1 = mf.run_forward @chunk.forward micro_batch 0 (%x) : (tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>, !mf.frame<@chunk.forward>)
    %loss, %f2 = mf.run_forward @last.forward micro_batch 0 (%y#0, %y#1) : (tensor<4x8xf32>, tensor<4x8xf32>) -> (tensor<f32>, !mf.frame<@last.forward>)
    mf.accumulate_loss %loss : tensor<f32>
    %dloss = mf.loss_gradient 0.5 : tensor<f32>
    %dy:2 = mf.run_backward @last.backward micro_batch 0 frame %f2 (%dloss, %y#0, %y#1) : (!mf.frame<@last.forward>, tensor<f32>, tensor<4x8xf32>, tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>)
    %dx = mf.run_backward @chunk.backward micro_batch 0 frame %f1 (%dy#0, %dy#1, %x) : (!mf.frame<@chunk.forward>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    mf.run_backward @first.backward micro_batch 0 frame %f0 (%dx) : (!mf.frame<@first.forward>, tensor<4x8xf32>) -> ()
    mf.run_backward_weights @last.weights micro_batch 0 frame %f2 () : (!mf.frame<@last.forward>) -> ()
    mf.run_backward_weights @chunk.weights micro_batch 0 frame %f1 () : (!mf.frame<@chunk.forward>) -> ()
    mf.run_backward_weights @first.weights micro_batch 0 frame %f0 (%dx, %tokens) : (!mf.frame<@first.forward>, tensor<4x8xf32>, tensor<4xi32>) -> ()
    %tokens_1 = mf.load tokens micro_batch 1 : tensor<4xi32>
    %x_1, %f0_1 = mf.run_forward @first.forward micro_batch 1 (%tokens_1) : (tensor<4xi32>) -> (tensor<4x8xf32>, !mf.frame<@first.forward>)
    %y_1:2, %f1_1 = mf.run_forward @chunk.forward micro_batch 1 (%x_1) : (tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>, !mf.frame<@chunk.forward>)
    %loss_1, %f2_1 = mf.run_forward @last.forward micro_batch 1 (%y_1#0, %y_1#1) : (tensor<4x8xf32>, tensor<4x8xf32>) -> (tensor<f32>, !mf.frame<@last.forward>)
    mf.accumulate_loss %loss_1 : tensor<f32>
    %dloss_1 = mf.loss_gradient 0.5 : tensor<f32>
    %dy_1:2 = mf.run_backward @last.backward micro_batch 1 frame %f2_1 (%dloss_1, %y_1#0, %y_1#1) : (!mf.frame<@last.forward>, tensor<f32>, tensor<4x8xf32>, tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>)
    %dx_1 = mf.run_backward @chunk.backward micro_batch 1 frame %f1_1 (%dy_1#0, %dy_1#1, %x_1) : (!mf.frame<@chunk.forward>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    mf.run_backward @first.backward micro_batch 1 frame %f0_1 (%dx_1) : (!mf.frame<@first.forward>, tensor<4x8xf32>) -> ()
    mf.run_backward_weights @last.weights micro_batch 1 frame %f2_1 () : (!mf.frame<@last.forward>) -> ()
    mf.run_backward_weights @chunk.weights micro_batch 1 frame %f1_1 () : (!mf.frame<@chunk.forward>) -> ()
    mf.run_backward_weights @first.weights micro_batch 1 frame %f0_1 (%dx_1, %tokens_1) : (!mf.frame<@first.forward>, tensor<4x8xf32>, tensor<4xi32>) -> ()
  }
}
