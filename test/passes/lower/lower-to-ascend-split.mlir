// The routines of a chunk with several outputs and a backward in two functions.
// RUN: mf-opt --mf-lower-to-ascend %s | FileCheck %s

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
#recompute = #mf.recompute_config<recompute = false, select = false, select_comm = false, select_exclude = false, select_comm_exclude = false, parallel_optimizer_comm = false, mp_comm = true, slice_activation = false>
#swap = #mf.swap_config<swap = false, default_prefetch = 1>
#adamw = #mf.optimizer<type = "AdamW", beta1 = 0.9, beta2 = 0.95, eps = 1.0e-8, weight_decay = 0.1, bias_correction = true>
#constant = #mf.lr_schedule<type = "ConstantWarmUpLR", parameters = {learning_rate = 1.0e-3 : f64}>

mf.model @m attributes {
    micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64,
    training = #mf.training<parallel = <stages = 1, interleave = 1, micro_batches = 2, offset = 0>, recompute = #recompute, swap = #swap,
      optimizer = #adamw, lr_schedule = #constant, loss_scale = 1.0, max_device_memory = 65536>} {
  mf.param @w : tensor<8x8xf32> init <normal, value = 0.02>
  mf.forward @chunk.forward (%x: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>)
      attributes {placement = #mf.placement<stage = 0, chunk = 0>, inputs = [], input_indices = [], outputs = 2 : i64} {
    %a = mf.silu %x {name = "silu"} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %y = mf.neg %a {name = "neg"} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    mf.return %y, %x, %a : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>
  }
  mf.backward @chunk.backward (%dy: tensor<4x8xf32>, %dthrough: tensor<4x8xf32>, %x: tensor<4x8xf32>, %a: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>)
      attributes {placement = #mf.placement<stage = 0, chunk = 0>, forward_arguments = [0], gradients = [], outputs = 2 : i64, kept = 1 : i64} {
    %kept = mf.neg %dy {name = "neg.grad"} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %da = mf.silu_grad %kept, %x {name = "silu.grad"} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    %dx = mf.add %dthrough, %da {name = "silu.grad"} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    mf.return %dx, %kept : tensor<4x8xf32>, tensor<4x8xf32>
  }
  mf.backward_weights @chunk.weights (%a: tensor<4x8xf32>, %kept: tensor<4x8xf32>) -> tensor<8x8xf32>
      attributes {placement = #mf.placement<stage = 0, chunk = 0>, output_gradients = [], forward_arguments = [], gradients = [@w]} {
    %dw = mf.matmul %kept, %a {transpose_a = true, name = "w.grad"} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
    mf.return %dw : tensor<8x8xf32>
  }
  mf.schedule stage 0 {
  }
}
