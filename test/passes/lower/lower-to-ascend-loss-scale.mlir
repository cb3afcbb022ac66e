// The loss scale is copied at the beginning of a step; backward begins with its product, and the update takes it out.
// RUN: cat %S/../Inputs/training.mlir %s | %roundtrip --pass-pipeline='builtin.module(mf.model(mf-build-backward,mf-split-chunks,mf-insert-optimizer,mf-build-schedule),mf-lower-to-ascend)' | FileCheck %s
// RUN: cat %S/../Inputs/training.mlir %s | sed -e 's/, loss_scale_update = <[^>]*>//' | %roundtrip --pass-pipeline='builtin.module(mf.model(mf-build-backward,mf-split-chunks,mf-insert-optimizer,mf-build-schedule),mf-lower-to-ascend)' | FileCheck %s --check-prefix=FIXED

// FIXED: ascend.program @stage0 {{.*}} loss_scale = {value = 1.024000e+03 : f64}, lr_schedule
// CHECK: ascend.program @stage0 {{.*}} loss_scale = {factor = 2 : i64, value = 1.024000e+03 : f64, window = 10 : i64}, lr_schedule
// CHECK-DAG: ascend.static @loss_gradient constant : !ascend.buffer<f32, hbm>{{$}}
// CHECK-DAG: ascend.static @loss_scale loss_scale : !ascend.buffer<f32, hbm>
// CHECK-DAG: ascend.static @host.loss_scale loss_scale : !ascend.buffer<f32, host>
// CHECK: ascend.routine @update(%{{.*}}, %{{.*}}, %[[SCALE:.*]]: !ascend.buffer<f32, hbm>) attributes {updates_parameters} {
// CHECK: ascend.launch "aclnnReciprocal"(%[[SCALE]])
// CHECK: ascend.launch "aclnnForeachMulScalar"
// CHECK: ascend.routine @begin() {
// CHECK-DAG: %[[FROM:.*]] = ascend.global @loss_scale
// CHECK-DAG: %[[TO:.*]] = ascend.global @loss_gradient
// CHECK: ascend.launch "aclnnMuls"(%[[FROM]]) -> (%[[TO]]) {value = 5.000000e-01 : f64}
// CHECK: ascend.step {
// CHECK-DAG: %[[GRADIENT:.*]] = ascend.global @loss_gradient
// CHECK-DAG: %[[DEVICE:.*]] = ascend.global @loss_scale
// CHECK: %[[HOST:.*]] = ascend.global @host.loss_scale
// CHECK-NEXT: %[[ARRIVED:.*]] = ascend.copy %[[HOST]] to %[[DEVICE]] on @h2d :
// CHECK: ascend.call @begin() after %[[ARRIVED]] :
// CHECK-COUNT-2: ascend.call @chunk0.backward(%[[GRADIENT]]
// CHECK: ascend.call @update(%{{.*}}, %{{.*}}, %[[DEVICE]])

mf.model @scaled attributes {
    micro_batch_size = 1 : i64, sequence_length = 8 : i64, vocab_size = 16 : i64,
    training = #mf.training<parallel = <stages = 1, interleave = 1, micro_batches = 2, offset = 0>,
      optimizer = #adamw, lr_schedule = #constant, loss_scale = 1024.0, loss_scale_update = <factor = 2, window = 10>, max_device_memory = 0>} {
  mf.param @w : tensor<16x1xf32> init <ones>
  mf.layer @embedding embedding (%tokens: tensor<8xi32>) -> tensor<8x1xf32> attributes {placement = #mf.placement<stage = 0, chunk = 0>} {
    %w = mf.get_param @w : tensor<16x1xf32>
    %x = mf.embedding %w, %tokens {name = "gather"} : (tensor<16x1xf32>, tensor<8xi32>) -> tensor<8x1xf32>
    mf.return %x : tensor<8x1xf32>
  }
  mf.layer @loss head (%x: tensor<8x1xf32>) -> tensor<f32> attributes {placement = #mf.placement<stage = 0, chunk = 0>} {
    %y = mf.reduce_sum %x {name = "sum", axes = array<i64: 0, 1>} : (tensor<8x1xf32>) -> tensor<f32>
    mf.return %y : tensor<f32>
  }
}
