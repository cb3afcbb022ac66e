// RUN: cat %S/../Inputs/training.mlir %s | %roundtrip --mf-lower-to-ascend | FileCheck %s

// Tied gradients: a stage adds its own, one all-reduce sums over the stages in the order of the model, and a stage without
// the owner, whose copies have memory of their own, gives each of them the sum.

mf.model @three_stages attributes {
    micro_batch_size = 1 : i64, sequence_length = 8 : i64, vocab_size = 16 : i64,
    training = #mf.training<parallel = <stages = 3, interleave = 1, micro_batches = 1, offset = 0>,
      optimizer = #adamw, lr_schedule = #constant, loss_scale = 1.0, max_device_memory = 0>} {
  mf.param @w : tensor<16x4xf32> init <ones>
  mf.param @copy : tensor<16x4xf32> init <ones> tied to @w
  mf.param @first : tensor<16x4xf32> init <ones> tied to @w
  mf.param @second : tensor<16x4xf32> init <ones> tied to @w
  mf.param @head : tensor<16x4xf32> init <ones> tied to @w
  mf.update @update0 (%lr: tensor<f32>, %step: tensor<f32>) attributes {stage = 0 : i64} {
    mf.reduce_tied @w, [@copy, @first, @second, @head] stages [0, 0, 2, 2, 1]
    mf.return
  }
  mf.update @update1 (%lr: tensor<f32>, %step: tensor<f32>) attributes {stage = 1 : i64} {
    mf.reduce_tied @w, [@copy, @first, @second, @head] stages [0, 0, 2, 2, 1]
    mf.return
  }
  mf.update @update2 (%lr: tensor<f32>, %step: tensor<f32>) attributes {stage = 2 : i64} {
    mf.reduce_tied @w, [@copy, @first, @second, @head] stages [0, 0, 2, 2, 1]
    mf.return
  }
  mf.schedule stage 0 {
    mf.run_update @update0
  }
  mf.schedule stage 1 {
    mf.run_update @update1
  }
  mf.schedule stage 2 {
    mf.run_update @update2
  }
}

// CHECK-LABEL: ascend.program @stage0
// CHECK: ascend.routine @update
// CHECK-NEXT: %[[W:.*]] = ascend.global @gradient.w :
// CHECK-NEXT: %[[COPY:.*]] = ascend.global @gradient.copy :
// CHECK-NEXT: ascend.launch "aclnnInplaceAdd"(%[[COPY]]) -> (%[[W]])
// CHECK: ascend.collective all_reduce %[[W]] to %[[W]] over <pp stages [0, 2, 1]> channel "tied.w" on @collective.tied.w
// CHECK-NOT: aclnnInplaceCopy
// CHECK-LABEL: ascend.program @stage1
// CHECK: %[[HEAD:.*]] = ascend.global @gradient.head :
// CHECK-NOT: ascend.launch
// CHECK: ascend.collective all_reduce %[[HEAD]] to %[[HEAD]] over <pp stages [0, 2, 1]> channel "tied.w" on @collective.tied.w
// CHECK-NOT: ascend.launch
// CHECK-LABEL: ascend.program @stage2
// CHECK: %[[FIRST:.*]] = ascend.global @gradient.first :
// CHECK-NEXT: %[[SECOND:.*]] = ascend.global @gradient.second :
// CHECK-NEXT: ascend.launch "aclnnInplaceAdd"(%[[SECOND]]) -> (%[[FIRST]])
// CHECK: ascend.collective all_reduce %[[FIRST]] to %[[FIRST]] over <pp stages [0, 2, 1]> channel "tied.w" on @collective.tied.w
// CHECK: ascend.launch "aclnnInplaceCopy"(%[[FIRST]]) -> (%[[SECOND]])
