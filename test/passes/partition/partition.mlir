// RUN: %variants %S/../Inputs/training.mlir %s > %t.mlir
// RUN: %roundtrip --pass-pipeline='builtin.module(mf.model(mf-partition))' -split-input-file %t.mlir | FileCheck %s

// The embedding is on the first stage, the head on the last, and body layers are dealt evenly.
// CHECK-LABEL: mf.model @two_stages_share_layers_evenly
mf.model @two_stages_share_layers_evenly attributes {
    micro_batch_size = 1 : i64, sequence_length = 8 : i64, vocab_size = 16 : i64,
    training = #mf.training<parallel = <stages = 2, interleave = 1, micro_batches = 2, offset = 0>,
      optimizer = #adamw, lr_schedule = #constant, loss_scale = 1.0, max_device_memory = 0>} {
  // CHECK: mf.layer @embedding embedding {{.*}}placement = #mf.placement<stage = 0, chunk = 0>
  mf.layer @embedding embedding (%x: tensor<4xf32>) -> tensor<4xf32> { mf.return %x : tensor<4xf32> }
  // CHECK: mf.layer @layers.0 body {{.*}}placement = #mf.placement<stage = 0, chunk = 0>
  mf.layer @layers.0 body (%x: tensor<4xf32>) -> tensor<4xf32> { mf.return %x : tensor<4xf32> }
  // CHECK: mf.layer @layers.1 body {{.*}}placement = #mf.placement<stage = 1, chunk = 0>
  mf.layer @layers.1 body (%x: tensor<4xf32>) -> tensor<4xf32> { mf.return %x : tensor<4xf32> }
  // CHECK: mf.layer @norm head {{.*}}placement = #mf.placement<stage = 1, chunk = 0>
  mf.layer @norm head (%x: tensor<4xf32>) -> tensor<4xf32> { mf.return %x : tensor<4xf32> }
  // CHECK: mf.layer @loss head {{.*}}placement = #mf.placement<stage = 1, chunk = 0>
  mf.layer @loss head (%x: tensor<4xf32>) -> tensor<4xf32> { mf.return %x : tensor<4xf32> }
}

// CHECK-LABEL: mf.model @one_stage_takes_everything
// CHECK: mf.layer @layers.0 body {{.*}}placement = #mf.placement<stage = 0, chunk = 0>
// CHECK: mf.layer @layers.1 body {{.*}}placement = #mf.placement<stage = 0, chunk = 0>
= mf.model @one_stage_takes_everything attributes {
= training = #mf.training<parallel = <stages = 1, interleave = 1, micro_batches = 1, offset = 0>,
- mf.layer @embedding
- mf.layer @norm
- mf.layer @loss

// An offset moves a layer from the last stage to the first.
// CHECK-LABEL: mf.model @offset_moves_layers
// CHECK: mf.layer @layers.0 body {{.*}}<stage = 0, chunk = 0>
// CHECK: mf.layer @layers.1 body {{.*}}<stage = 0, chunk = 0>
// CHECK: mf.layer @layers.2 body {{.*}}<stage = 0, chunk = 0>
// CHECK: mf.layer @layers.3 body {{.*}}<stage = 1, chunk = 0>
^
= mf.model @offset_moves_layers attributes {
= training = #mf.training<parallel = <stages = 2, interleave = 1, micro_batches = 2, offset = [1, -1]>,
@ mf.layer @layers.1
+ mf.layer @layers.2 body (%x: tensor<4xf32>) -> tensor<4xf32> { mf.return %x : tensor<4xf32> }
+ mf.layer @layers.3 body (%x: tensor<4xf32>) -> tensor<4xf32> { mf.return %x : tensor<4xf32> }

// With interleaving a stage has several chunks, and layers come back to the first stage.
// CHECK-LABEL: mf.model @interleaving_deals_chunks_round_the_stages
// CHECK: mf.layer @layers.0 body {{.*}}<stage = 0, chunk = 0>
// CHECK: mf.layer @layers.1 body {{.*}}<stage = 1, chunk = 0>
// CHECK: mf.layer @layers.2 body {{.*}}<stage = 1, chunk = 0>
// CHECK: mf.layer @layers.3 body {{.*}}<stage = 0, chunk = 1>
// The last chunk of the last stage has no body layer here, but the head is there.
// CHECK: mf.layer @loss head {{.*}}<stage = 1, chunk = 1>
^
= mf.model @interleaving_deals_chunks_round_the_stages attributes {
= training = #mf.training<parallel = <stages = 2, interleave = 2, micro_batches = 2, offset = [[0, 1], [0, -1]]>,
@ mf.layer @layers.3
+ mf.layer @loss head (%x: tensor<4xf32>) -> tensor<4xf32> { mf.return %x : tensor<4xf32> }

// With zero_bubble_v the second chunk comes back from the last stage to the first, where the head is then.
// CHECK-LABEL: mf.model @a_v_comes_back
// CHECK: mf.layer @embedding embedding {{.*}}<stage = 0, chunk = 0>
// CHECK: mf.layer @layers.0 body {{.*}}<stage = 0, chunk = 0>
// CHECK: mf.layer @layers.1 body {{.*}}<stage = 1, chunk = 0>
// CHECK: mf.layer @layers.2 body {{.*}}<stage = 2, chunk = 0>
// CHECK: mf.layer @layers.3 body {{.*}}<stage = 3, chunk = 0>
// CHECK: mf.layer @layers.4 body {{.*}}<stage = 3, chunk = 1>
// CHECK: mf.layer @layers.5 body {{.*}}<stage = 2, chunk = 1>
// CHECK: mf.layer @layers.6 body {{.*}}<stage = 1, chunk = 1>
// CHECK: mf.layer @layers.7 body {{.*}}<stage = 0, chunk = 1>
// CHECK: mf.layer @norm head {{.*}}<stage = 0, chunk = 1>
// CHECK: mf.layer @loss head {{.*}}<stage = 0, chunk = 1>
= mf.model @a_v_comes_back attributes {
= training = #mf.training<parallel = <stages = 4, interleave = 2, micro_batches = 8, offset = 0, scheduler = "zero-bubble-v">,
@ mf.layer @layers.1
+ mf.layer @layers.2 body (%x: tensor<4xf32>) -> tensor<4xf32> { mf.return %x : tensor<4xf32> }
+ mf.layer @layers.3 body (%x: tensor<4xf32>) -> tensor<4xf32> { mf.return %x : tensor<4xf32> }
+ mf.layer @layers.4 body (%x: tensor<4xf32>) -> tensor<4xf32> { mf.return %x : tensor<4xf32> }
+ mf.layer @layers.5 body (%x: tensor<4xf32>) -> tensor<4xf32> { mf.return %x : tensor<4xf32> }
+ mf.layer @layers.6 body (%x: tensor<4xf32>) -> tensor<4xf32> { mf.return %x : tensor<4xf32> }
+ mf.layer @layers.7 body (%x: tensor<4xf32>) -> tensor<4xf32> { mf.return %x : tensor<4xf32> }

// A row of the offset is of the stages in their order.
// CHECK-LABEL: mf.model @offsets_are_of_physical_stages
// CHECK: mf.layer @embedding embedding {{.*}}<stage = 0, chunk = 0>
// CHECK: mf.layer @layers.0 body {{.*}}<stage = 0, chunk = 0>
// CHECK: mf.layer @layers.1 body {{.*}}<stage = 0, chunk = 0>
// CHECK: mf.layer @layers.2 body {{.*}}<stage = 1, chunk = 0>
// CHECK: mf.layer @layers.3 body {{.*}}<stage = 1, chunk = 1>
// CHECK: mf.layer @layers.4 body {{.*}}<stage = 1, chunk = 1>
// CHECK: mf.layer @layers.5 body {{.*}}<stage = 0, chunk = 1>
// CHECK: mf.layer @norm head {{.*}}<stage = 0, chunk = 1>
// CHECK: mf.layer @loss head {{.*}}<stage = 0, chunk = 1>
^
= mf.model @offsets_are_of_physical_stages attributes {
= training = #mf.training<parallel = <stages = 2, interleave = 2, micro_batches = 8, offset = [[1, 0], [0, 1]], scheduler = "zero-bubble-v">,
- mf.layer @layers.6
- mf.layer @layers.7

// Remarks say how many layers each stage got.
// RUN: %roundtrip --pass-pipeline='builtin.module(mf.model(mf-partition))' --remarks-filter-analyse=partition -split-input-file %t.mlir -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// REMARK: {{.*}}offset_moves_layers{{.*}}stage 0 chunk 0{{.*}}layers=3
// REMARK: {{.*}}offset_moves_layers{{.*}}stage 1 chunk 0{{.*}}layers=1
// REMARK: {{.*}}offsets_are_of_physical_stages{{.*}}stage 1 chunk 1{{.*}}layers=2
// REMARK: {{.*}}offsets_are_of_physical_stages{{.*}}stage 0 chunk 1{{.*}}layers=1

// What joins a layer that predicts a later token is on its stage, and does not
// count.
// CHECK-LABEL: mf.model @joins_next
// CHECK: mf.layer @layers.0 body {{.*}}placement = #mf.placement<stage = 0, chunk = 0>
// CHECK: mf.layer @next_token embedding {{.*}}joins_next, placement = #mf.placement<stage = 1, chunk = 0>
// CHECK: mf.layer @fuser body {{.*}}joins_next, placement = #mf.placement<stage = 1, chunk = 0>
// CHECK: mf.layer @layers.1 body {{.*}}placement = #mf.placement<stage = 1, chunk = 0>
= mf.model @joins_next attributes {
- mf.layer @embedding
@ mf.layer @layers.0
+ mf.layer @next_token embedding (%x: tensor<4xf32>) -> tensor<4xf32> attributes {joins_next} { mf.return %x : tensor<4xf32> }
+ mf.layer @fuser body (%x: tensor<4xf32>) -> tensor<4xf32> attributes {joins_next} { mf.return %x : tensor<4xf32> }
- mf.layer @norm
- mf.layer @loss
