// Pieces of a sequence run in order and hand their keys on; gradients come back from the last to the first.
// RUN: %roundtrip --pass-pipeline='builtin.module(mf.model(mf-split-sequence,mf-build-backward,mf.chunk(mf-insert-recompute),mf-split-chunks,mf-insert-optimizer))' %S/../sequence/Inputs/one_layer.mlir -o %t.functions.mlir
// RUN: %roundtrip --pass-pipeline='builtin.module(mf.model(mf-build-schedule{print-plan=true}))' %t.functions.mlir -o %t.mlir 2>&1 | FileCheck %s --check-prefix=PLAN
// RUN: FileCheck %s --input-file=%t.mlir
// RUN: %roundtrip --mf-lower-to-ascend %t.mlir -o /dev/null

// PLAN: stage 0: F0/0 F0/1 B0/1 B0/0

// Both read the same tokens and labels.
// CHECK: mf.schedule stage 0 {
// CHECK-NEXT: %[[TOKENS:.*]] = mf.load tokens
// CHECK-NEXT: %[[LABELS:.*]] = mf.load labels
// CHECK-NEXT: %[[FIRST:.*]]:2, %[[FRAME:.*]] = mf.run_forward @chunk0.forward micro_batch 0(%[[TOKENS]], %[[LABELS]])
// CHECK-NEXT: mf.accumulate_loss %[[FIRST]]#0
// CHECK-NEXT: %[[SECOND:.*]], %[[FRAME1:.*]] = mf.run_forward @chunk0.piece1.forward micro_batch 0(%[[TOKENS]], %[[LABELS]], %[[FIRST]]#1)
// CHECK-NEXT: mf.accumulate_loss %[[SECOND]]
// CHECK: %[[KEYS:.*]] = mf.run_backward @chunk0.piece1.backward micro_batch 0 frame %[[FRAME1]](%{{.*}}, %[[FIRST]]#1)
// CHECK: mf.run_backward @chunk0.backward micro_batch 0 frame %[[FRAME]](%{{.*}}, %[[KEYS]], %[[FIRST]]#1)

// RUN: sed -e 's/(%%4, %%3, %%outputs#1)/(%%4, %%outputs#1, %%outputs#1)/' %t.mlir | not %roundtrip --mf-lower-to-ascend 2>&1 | FileCheck %s --check-prefix=GRADIENT
// GRADIENT: error: 'mf.run_backward' op is B0/0 and expected result 0 of B0/1, but reads result 1 of F0/0

// RUN: sed -e 's/(%%4, %%3, %%outputs#1)/(%%4, %%3, %%3)/' %t.mlir | not %roundtrip --mf-lower-to-ascend 2>&1 | FileCheck %s --check-prefix=OUTPUT
// OUTPUT: error: 'mf.run_backward' op expected output 1 of F0/0, which its function reads again

// RUN: sed -e 's/sequence_pieces = 2/sequence_pieces = 3/' %t.functions.mlir | not %roundtrip --pass-pipeline='builtin.module(mf.model(mf-build-schedule))' 2>&1 | FileCheck %s --check-prefix=COUNT
// COUNT: error: 'mf.model' op has 2 chunks, expected 3, 1 for each of 3 pieces of the sequence

// RUN: sed -e 's/piece = 1/piece = 4/' %t.functions.mlir | not %roundtrip --pass-pipeline='builtin.module(mf.model(mf-build-schedule))' 2>&1 | FileCheck %s --check-prefix=PLACE
// PLACE: error: 'mf.forward' op is at #mf.placement<stage = 0, chunk = 0, piece = 4>, expected #mf.placement<stage = 0, chunk = 0, piece = 1>: all chunks for one piece of the sequence, then for the next

// RUN: sed -e 's/past = 1 : i64, //' %t.functions.mlir | not %roundtrip --pass-pipeline='builtin.module(mf.model(mf-build-schedule))' 2>&1 | FileCheck %s --check-prefix=PAST
// PAST: error: 'mf.forward' op takes

// RUN: sed -e 's/scheduler = "seq1f1b"/scheduler = "gpipe"/' %t.functions.mlir | not %roundtrip --pass-pipeline='builtin.module(mf.model(mf-build-schedule))' 2>&1 | FileCheck %s --check-prefix=WHOLE
// WHOLE: error: 'mf.model' op cannot be scheduled: schedule 'gpipe' takes whole micro-batches, but they are cut into 2 pieces of their sequence
