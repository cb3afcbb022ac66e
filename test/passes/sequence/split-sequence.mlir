// RUN: %roundtrip --pass-pipeline='builtin.module(mf.model(mf-split-sequence))' %S/Inputs/one_layer.mlir --remark-format=emitRemark --remarks-filter=sequence 2>&1 | FileCheck %s
// RUN: %roundtrip --pass-pipeline='builtin.module(mf.model(mf-split-sequence{print-plan=true}))' %S/Inputs/one_layer.mlir -o %t 2>&1 | FileCheck %s --check-prefix=PLAN
// RUN: %roundtrip --pass-pipeline='builtin.module(mf.model(mf-split-sequence,mf-build-backward,mf.chunk(mf-insert-recompute),mf-split-chunks))' %S/Inputs/one_layer.mlir | FileCheck %s --check-prefix=FUNCTIONS

// PLAN: embedding
// PLAN-NEXT: positions: operand 1, its part
// PLAN-NEXT: layers.0
// PLAN-NEXT: attention.flash_attention: operand 1, of all pieces so far
// PLAN-NEXT: attention.flash_attention: operand 2, of all pieces so far
// PLAN-NEXT: head

// CHECK: remark: [Passed] SplitSequence | Category:sequence | Function=layers.0 | {{.*}}"runs in pieces of the sequence", bytes of all pieces=128, pieces=2, values kept for later pieces=1

// The first piece gives its keys behind its result.
// CHECK-LABEL: mf.layer @embedding embedding (%arg0: tensor<1x4xi32>) -> tensor<1x2x8xf32> attributes {placement = #mf.placement<stage = 0, chunk = 0>}
// CHECK: mf.slice %arg0 {name = "sequence_piece", sizes = array<i64: 1, 2>, starts = array<i64: 0, 0>} : (tensor<1x4xi32>) -> tensor<1x2xi32>
// CHECK: mf.slice %{{.*}} {name = "positions", sizes = array<i64: 2, 8>, starts = array<i64: 0, 0>}
// CHECK-LABEL: mf.layer @layers.0 body (%arg0: tensor<1x2x8xf32>) -> (tensor<1x2x8xf32>, tensor<1x2x2x4xf32>)
// CHECK-SAME: future = 1 : i64
// CHECK: %[[KEYS:.*]] = mf.silu
// CHECK: mf.flash_attention %{{.*}}, %[[KEYS]], %[[KEYS]]
// CHECK: mf.return %{{.*}}, %[[KEYS]]
// The loss divides by the number of all labels.
// CHECK-LABEL: mf.layer @head head (%arg0: tensor<1x2x8xf32>, %arg1: tensor<1x4xi32>) -> tensor<f32>
// CHECK: %[[ALL:.*]] = mf.reshape %arg1 {{.*}} -> tensor<4xi32>
// CHECK: mf.cross_entropy %{{.*}}, %{{.*}} of %[[ALL]]

// The last one takes them, and gives none.
// CHECK-LABEL: mf.layer @embedding.piece1
// CHECK: starts = array<i64: 0, 2>
// CHECK: starts = array<i64: 2, 0>
// CHECK-LABEL: mf.layer @layers.0.piece1 body (%arg0: tensor<1x2x8xf32>, %arg1: tensor<1x2x2x4xf32>) -> tensor<1x2x8xf32>
// CHECK-SAME: past = 1 : i64, placement = #mf.placement<stage = 0, chunk = 0, piece = 1>
// CHECK: %[[OWN:.*]] = mf.silu
// CHECK: %[[SO_FAR:.*]] = mf.concat %arg1, %[[OWN]] {axis = 2 : i64, name = "attention.flash_attention", recompute = #mf.recompute<preset>}
// CHECK: mf.flash_attention %{{.*}}, %[[SO_FAR]], %[[SO_FAR]] {{.*}} -> (tensor<1x2x2xf32>, tensor<1x2x2xf32>, tensor<1x2x2x4xf32>)
// CHECK-LABEL: mf.layer @head.piece1

// Backward of a piece gets the gradients of its keys from the piece behind it, and reads the keys that that one reads.
// FUNCTIONS-LABEL: mf.forward @chunk0.forward
// FUNCTIONS-SAME: future = 1 : i64
// FUNCTIONS-LABEL: mf.backward @chunk0.backward
// FUNCTIONS-SAME: forward_outputs = [1]
// FUNCTIONS-SAME: outputs = 2 : i64
// FUNCTIONS-LABEL: mf.forward @chunk0.piece1.forward
// FUNCTIONS-SAME: past = 1 : i64
// The keys of all pieces are put together again.
// FUNCTIONS-LABEL: mf.backward @chunk0.piece1.backward
// FUNCTIONS: mf.concat
// FUNCTIONS: mf.flash_attention_grad
