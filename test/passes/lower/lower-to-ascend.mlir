// One stage: two micro-batches, accumulated gradients, an update, two scalars reported.
// RUN: cat %S/../Inputs/training.mlir %s | %roundtrip --pass-pipeline='builtin.module(mf.model(mf-build-schedule),mf-lower-to-ascend)' | FileCheck %s

// What describes the step goes with the program; the model is gone.
// CHECK: ascend.program @stage0 stage 0 attributes {hbm_limit_bytes = 4096 : i64, ignore_index = -100 : i64, lr_schedule = {learning_rate = 1.000000e-03 : f64, type = "ConstantWarmUpLR"}, micro_batch_size = 1 : i64, micro_batches = 2 : i64, pad_token_id = -1 : i64, sequence_length = 8 : i64, vocab_size = 16 : i64} {
// Streams and static buffers stand together at the beginning.
// CHECK-NEXT: ascend.stream @compute compute
// CHECK-NEXT: ascend.static @w parameter of "w" : !ascend.buffer<16x4xf32, hbm> {init = #mf.init<normal, value = 2.000000e-02>}
// CHECK-NEXT: ascend.static @cos table of "cos" : !ascend.buffer<8x4xf32, hbm> {init = #mf.init<rotary_cos, value = 1.000000e+04>}
// CHECK-NEXT: ascend.static @loss constant : !ascend.buffer<f32, hbm>
// CHECK-NEXT: ascend.static @gradient.w gradient of "w" : !ascend.buffer<16x4xf32, hbm>
// CHECK: ascend.static @first_moment.w first_moment of "w" : !ascend.buffer<16x4xf32, hbm>
// CHECK-NEXT: ascend.static @second_moment.w second_moment of "w" : !ascend.buffer<16x4xf32, hbm>
// CHECK-NEXT: ascend.static @loss_gradient constant : !ascend.buffer<f32, hbm> {init = #mf.init<constant, value = 5.000000e-01>}
// CHECK: ascend.stream @h2d h2d
// CHECK-NEXT: ascend.static @host.tokens tokens : !ascend.buffer<2x8xi32, host>
// CHECK: ascend.stream @d2h d2h
// The residual: the embedding's result.
// CHECK: ascend.frame_layout @chunk0.residuals [!ascend.buffer<8x4xf32, hbm>] of ["embedding.gather"]
// A residual is written to its slot right away, and the loss added to the step's.
// CHECK: ascend.routine @chunk0.forward(%[[ARG0:.*]]: !ascend.buffer<8xi32, hbm>) attributes {layout = @chunk0.residuals} {
// CHECK-NEXT: %[[V0:.*]] = ascend.slot 0 : <8x4xf32, hbm>
// CHECK-NEXT: %[[V1:.*]] = ascend.global @w : <16x4xf32, hbm>
// CHECK-NEXT: %[[V2:.*]] = ascend.global @cos : <8x4xf32, hbm>
// CHECK-NEXT: ascend.launch "aclnnEmbedding"(%[[V1]], %[[ARG0]]) -> (%[[V0]]) {} cell "embedding.gather" : (!ascend.buffer<16x4xf32, hbm>, !ascend.buffer<8xi32, hbm>) -> !ascend.buffer<8x4xf32, hbm>
// CHECK-NEXT: %[[V3:.*]] = ascend.alloc : <8x4xf32, hbm>
// CHECK-NEXT: ascend.launch "aclnnMul"(%[[V0]], %[[V2]]) -> (%[[V3]]) {} cell "layers.0.mul" : (!ascend.buffer<8x4xf32, hbm>, !ascend.buffer<8x4xf32, hbm>) -> !ascend.buffer<8x4xf32, hbm>
// CHECK-NEXT: %[[V4:.*]] = ascend.view %[[V3]] : <8x4xf32, hbm> to <32xf32, hbm>
// CHECK-NEXT: %[[V5:.*]] = ascend.alloc : <f32, hbm>
// CHECK-NEXT: ascend.launch "aclnnReduceSum"(%[[V4]]) -> (%[[V5]]) {axes = array<i64: 0>} cell "loss.sum" : (!ascend.buffer<32xf32, hbm>) -> !ascend.buffer<f32, hbm>
// CHECK-NEXT: %[[V6:.*]] = ascend.global @loss : <f32, hbm>
// CHECK-NEXT: ascend.launch "aclnnInplaceAdd"(%[[V5]]) -> (%[[V6]]) {} : (!ascend.buffer<f32, hbm>) -> !ascend.buffer<f32, hbm>
// A barrier is no copy. The gradient is added to what earlier micro-batches left.
// CHECK: ascend.routine @chunk0.backward(%[[ARG0:.*]]: !ascend.buffer<f32, hbm>, %[[ARG1:.*]]: !ascend.buffer<8xi32, hbm>) attributes {layout = @chunk0.residuals} {
// CHECK-NEXT: %[[V0:.*]] = ascend.slot 0 : <8x4xf32, hbm>
// CHECK-NEXT: %[[V1:.*]] = ascend.global @gradient.w : <16x4xf32, hbm>
// CHECK-NEXT: %[[V2:.*]] = ascend.global @cos : <8x4xf32, hbm>
// CHECK-NEXT: %[[V3:.*]] = ascend.alloc : <8x4xf32, hbm>
// CHECK-NEXT: ascend.launch "aclnnMul"(%[[V0]], %[[V2]]) -> (%[[V3]]) {} cell "layers.0.mul.grad" : (!ascend.buffer<8x4xf32, hbm>, !ascend.buffer<8x4xf32, hbm>) -> !ascend.buffer<8x4xf32, hbm>
// CHECK-NEXT: %[[V4:.*]] = ascend.alloc : <16x4xf32, hbm>
// CHECK-NEXT: ascend.launch "aclnnEmbeddingDenseBackward"(%[[V3]], %[[ARG1]]) -> (%[[V4]]) {} cell "embedding.gather.grad" : (!ascend.buffer<8x4xf32, hbm>, !ascend.buffer<8xi32, hbm>) -> !ascend.buffer<16x4xf32, hbm>
// CHECK-NEXT: ascend.launch "aclnnInplaceAdd"(%[[V4]]) -> (%[[V1]]) {} : (!ascend.buffer<16x4xf32, hbm>) -> !ascend.buffer<16x4xf32, hbm>
// Parameters, gradients and moments are read and written in place.
// CHECK: ascend.routine @update(%[[ARG0:.*]]: !ascend.buffer<f32, hbm>, %[[ARG1:.*]]: !ascend.buffer<f32, hbm>) attributes {updates_parameters} {
// CHECK-NEXT: %[[V0:.*]] = ascend.alloc : <1xf32, hbm>
// CHECK-NEXT: ascend.launch "aclnnInplaceZero"() -> (%[[V0]]) {} : () -> !ascend.buffer<1xf32, hbm>
// CHECK-NEXT: %[[V1:.*]] = ascend.global @gradient.w : <16x4xf32, hbm>
// CHECK-NEXT: %[[V2:.*]] = ascend.view %[[V0]] : <1xf32, hbm> to <f32, hbm>
// A kernel's workspace is a buffer of the program.
// CHECK-NEXT: %[[WORKSPACE:.*]] = ascend.alloc : <1xi32, hbm>
// CHECK-NEXT: ascend.launch "aclnnForeachNorm"(%[[V1]]) -> (%[[V2]]) workspace(%[[WORKSPACE]] : !ascend.buffer<1xi32, hbm>) {} : (!ascend.buffer<16x4xf32, hbm>) -> !ascend.buffer<f32, hbm>
// CHECK-NEXT: %[[V3:.*]] = ascend.alloc : <f32, hbm>
// CHECK: %[[V4:.*]] = ascend.alloc : <f32, hbm>
// CHECK: ascend.launch "mfNonFiniteCheck"(%[[V3]]) -> (%[[V4]]) {} : (!ascend.buffer<f32, hbm>) -> !ascend.buffer<f32, hbm>
// CHECK: ascend.launch "aclnnForeachMulScalar"(%[[V3]]) -> (%[[V1]]) {} : (!ascend.buffer<f32, hbm>) -> !ascend.buffer<16x4xf32, hbm>
// CHECK-NEXT: %[[V6:.*]] = ascend.global @w : <16x4xf32, hbm>
// CHECK-NEXT: %[[V7:.*]] = ascend.global @first_moment.w : <16x4xf32, hbm>
// CHECK-NEXT: %[[V8:.*]] = ascend.global @second_moment.w : <16x4xf32, hbm>
// CHECK-NEXT: ascend.launch "aclnnApplyAdamWV2"(%[[V1]], %[[ARG1]], %[[ARG0]], %[[V4]]) -> (%[[V6]], %[[V7]], %[[V8]]) {beta1 = 9.000000e-01 : f64, beta2 = 0.94999999999999996 : f64, bias_correction = false, eps = 1.000000e-08 : f64, weight_decay = 0.000000e+00 : f64} : (!ascend.buffer<16x4xf32, hbm>, !ascend.buffer<f32, hbm>, !ascend.buffer<f32, hbm>, !ascend.buffer<f32, hbm>) -> (!ascend.buffer<16x4xf32, hbm>, !ascend.buffer<16x4xf32, hbm>, !ascend.buffer<16x4xf32, hbm>)
// Before the first micro-batch: nothing is accumulated yet.
// CHECK: ascend.routine @begin() {
// CHECK-NEXT: %[[V0:.*]] = ascend.global @loss : <f32, hbm>
// CHECK-NEXT: ascend.launch "aclnnInplaceZero"() -> (%[[V0]]) {} : () -> !ascend.buffer<f32, hbm>
// CHECK-NEXT: %[[V1:.*]] = ascend.global @gradient.w : <16x4xf32, hbm>
// CHECK-NEXT: ascend.launch "aclnnInplaceZero"() -> (%[[V1]]) {} : () -> !ascend.buffer<16x4xf32, hbm>
// Behind the last: the mean of the losses.
// CHECK: ascend.routine @finish() {
// CHECK-NEXT: %[[V0:.*]] = ascend.global @loss : <f32, hbm>
// CHECK-NEXT: %[[V1:.*]] = ascend.global @report.loss : <f32, hbm>
// CHECK-NEXT: ascend.launch "aclnnMuls"(%[[V0]]) -> (%[[V1]]) {value = 5.000000e-01 : f64} : (!ascend.buffer<f32, hbm>) -> !ascend.buffer<f32, hbm>
// The host issues; streams order themselves by events. Micro-batch 1 is copied while micro-batch 0 runs.
// CHECK: ascend.step {
// CHECK-NEXT: %[[V0:.*]] = ascend.frame @chunk0.residuals micro_batch 0 : <@chunk0.residuals>
// CHECK-NEXT: %[[V1:.*]] = ascend.message : <8xi32, hbm>
// CHECK-NEXT: %[[V2:.*]] = ascend.global @loss_gradient : <f32, hbm>
// CHECK-NEXT: %[[V3:.*]] = ascend.frame @chunk0.residuals micro_batch 1 : <@chunk0.residuals>
// CHECK-NEXT: %[[V4:.*]] = ascend.message : <8xi32, hbm>
// CHECK-NEXT: %[[V5:.*]] = ascend.global @learning_rate : <f32, hbm>
// CHECK-NEXT: %[[V6:.*]] = ascend.global @step_number : <f32, hbm>
// CHECK-NEXT: %[[V7:.*]] = ascend.global @host.tokens : <2x8xi32, host>
// CHECK-NEXT: %[[V8:.*]] = ascend.view %[[V7]] : <2x8xi32, host> to <8xi32, host>
// CHECK-NEXT: %[[V9:.*]] = ascend.copy %[[V8]] to %[[V1]] on @h2d : <8xi32, host> to <8xi32, hbm> -> !ascend.event
// CHECK-NEXT: ascend.call @begin() : () -> ()
// CHECK-NEXT: ascend.call @chunk0.forward(%[[V1]]) frame %[[V0]] : !ascend.frame<@chunk0.residuals> micro_batch 0 after %[[V9]] : (!ascend.buffer<8xi32, hbm>) -> ()
// CHECK-NEXT: %[[V10:.*]] = ascend.record @compute
// CHECK-NEXT: %[[V11:.*]] = ascend.view %[[V7]] {byte_offset = 32 : i64} : <2x8xi32, host> to <8xi32, host>
// CHECK-NEXT: %[[V12:.*]] = ascend.copy %[[V11]] to %[[V4]] on @h2d after %[[V10]] : <8xi32, host> to <8xi32, hbm> -> !ascend.event
// CHECK-NEXT: ascend.call @chunk0.backward(%[[V2]], %[[V1]]) frame %[[V0]] : !ascend.frame<@chunk0.residuals> micro_batch 0 : (!ascend.buffer<f32, hbm>, !ascend.buffer<8xi32, hbm>) -> ()
// CHECK-NEXT: ascend.call @chunk0.forward(%[[V4]]) frame %[[V3]] : !ascend.frame<@chunk0.residuals> micro_batch 1 after %[[V12]] : (!ascend.buffer<8xi32, hbm>) -> ()
// CHECK: %[[V15:.*]] = ascend.global @host.step_number : <f32, host>
// CHECK-NEXT: %[[V16:.*]] = ascend.copy %[[V15]] to %[[V6]] on @h2d : <f32, host> to <f32, hbm> -> !ascend.event
// CHECK-NEXT: ascend.call @chunk0.backward(%[[V2]], %[[V4]]) frame %[[V3]] : !ascend.frame<@chunk0.residuals> micro_batch 1 : (!ascend.buffer<f32, hbm>, !ascend.buffer<8xi32, hbm>) -> ()
// CHECK-NEXT: ascend.call @update(%[[V5]], %[[V6]]) after %[[V16]] : (!ascend.buffer<f32, hbm>, !ascend.buffer<f32, hbm>) -> ()
// CHECK-NEXT: ascend.call @finish() : () -> ()
// CHECK-NEXT: %[[V17:.*]] = ascend.record @compute
// CHECK-NEXT: ascend.wait @d2h for %[[V17]]
// CHECK: %[[V20:.*]] = ascend.global @report.loss : <f32, hbm>
// CHECK-NEXT: %[[V21:.*]] = ascend.global @host.report.loss : <f32, host>
// CHECK-NEXT: ascend.copy %[[V20]] to %[[V21]] on @d2h : <f32, hbm> to <f32, host>

mf.model @one_stage attributes {
    micro_batch_size = 1 : i64, sequence_length = 8 : i64, vocab_size = 16 : i64,
    training = #mf.training<parallel = <stages = 1, interleave = 1, micro_batches = 2, offset = 0>,
      optimizer = #adamw, lr_schedule = #constant, loss_scale = 1.0, max_device_memory = 4096>} {
  mf.param @w : tensor<16x4xf32> init <normal, value = 0.02>
  mf.param @cos : tensor<8x4xf32> init <rotary_cos, value = 10000.0> {frozen}
  mf.forward @chunk0.forward (%tokens: tensor<8xi32>) -> (tensor<f32>, tensor<8x4xf32>)
      attributes {placement = #mf.placement<stage = 0, chunk = 0>, inputs = [#mf<input_kind tokens>], input_indices = [0]} {
    %w = mf.get_param @w : tensor<16x4xf32>
    %cos = mf.get_param @cos : tensor<8x4xf32>
    %e = mf.embedding %w, %tokens {name = "embedding.gather"} : (tensor<16x4xf32>, tensor<8xi32>) -> tensor<8x4xf32>
    %m = mf.mul %e, %cos {name = "layers.0.mul"} : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
    %r = mf.reshape %m {name = "layers.0.reshape"} : (tensor<8x4xf32>) -> tensor<32xf32>
    %y = mf.reduce_sum %r {name = "loss.sum", axes = array<i64: 0>} : (tensor<32xf32>) -> tensor<f32>
    mf.return %y, %e : tensor<f32>, tensor<8x4xf32>
  }
  mf.backward @chunk0.backward (%dy: tensor<f32>, %tokens: tensor<8xi32>, %e: tensor<8x4xf32>) -> tensor<16x4xf32>
      attributes {placement = #mf.placement<stage = 0, chunk = 0>, forward_arguments = [0], gradients = [@w]} {
    %cos = mf.get_param @cos : tensor<8x4xf32>
    %b = mf.barrier %e, %dy : (tensor<8x4xf32>, tensor<f32>) -> tensor<8x4xf32>
    %de = mf.mul %b, %cos {name = "layers.0.mul.grad"} : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
    %dw = mf.embedding_grad %de, %tokens {name = "embedding.gather.grad"} : (tensor<8x4xf32>, tensor<8xi32>) -> tensor<16x4xf32>
    mf.return %dw : tensor<16x4xf32>
  }
  mf.update @update0 (%lr: tensor<f32>, %step: tensor<f32>) attributes {stage = 0 : i64} {
    %norms = mf.gradient_norms [@w] at [0] : tensor<1xf32>
    %sum = mf.reduce_sum %norms {axes = array<i64: 0>} : (tensor<1xf32>) -> tensor<f32>
    %overflow = mf.non_finite %sum : tensor<f32> -> tensor<f32>
    mf.report "global_norm", %sum : tensor<f32>
    mf.scale_gradients [@w] by %sum : tensor<f32>
    mf.adamw @w, %lr, %step, %overflow {beta1 = 0.9 : f64, beta2 = 0.95 : f64, eps = 1.0e-8 : f64, weight_decay = 0.0 : f64, bias_correction = false} : tensor<f32>, tensor<f32>, tensor<f32>
    mf.return
  }
}

// A remark says what the program consists of.
// RUN: cat %S/../Inputs/training.mlir %s | %roundtrip --pass-pipeline='builtin.module(mf.model(mf-build-schedule),mf-lower-to-ascend)' --remarks-filter-passed=lower -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// REMARK: [Passed] Program | Category:lower | Function=stage0 | Remark="stage 0 has a program", launches={{[1-9][0-9]*}}, routines={{[1-9]}}, static bytes={{[1-9][0-9]*}}, streams=3
