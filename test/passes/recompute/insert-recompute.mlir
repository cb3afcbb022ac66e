// What runs again in backward, from what, and where.
// RUN: %variants %s | %roundtrip --pass-pipeline='builtin.module(mf.model(mf-build-backward,mf.chunk(mf-insert-recompute)))' -split-input-file | FileCheck %s

// The smallest case: silu's result is read by the product's gradient.
// CHECK-LABEL: mf.model @a_marked_operator_is_cloned_behind_a_barrier
// CHECK: %[[A:.*]] = mf.neg %[[X:.*]] {name = "layers.0.neg"}
// The mark has done its work.
// CHECK-NEXT: %[[B:.*]] = mf.silu %[[A]] {name = "layers.0.silu"} :
// CHECK: %[[DY:.*]] = mf.cut
// The kept input comes through a barrier that waits for backward to come this far.
// CHECK-NEXT: %[[BARRIER:.*]] = mf.barrier %[[A]], %[[DY]] {name = "layers.0.neg"}
// CHECK-NEXT: %[[CLONE:.*]] = mf.silu %[[BARRIER]] {name = "layers.0.silu"}
// One clone serves all its users.
// CHECK-NEXT: mf.mul %[[DY]], %[[CLONE]]
// CHECK-NEXT: mf.mul %[[DY]], %[[CLONE]]
// What is not marked is read as before.
// CHECK: mf.silu_grad %{{.*}}, %[[A]]
mf.model @a_marked_operator_is_cloned_behind_a_barrier attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  mf.layer @layers.0 body (%x: tensor<4xf32>) -> tensor<4xf32> attributes {placement = #mf.placement<stage = 0, chunk = 0>} {
    %a = mf.neg %x {name = "neg"} : (tensor<4xf32>) -> tensor<4xf32>
    %b = mf.silu %a {name = "silu", recompute = #mf.recompute<select>} : (tensor<4xf32>) -> tensor<4xf32>
    %y = mf.mul %b, %b {name = "mul"} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    mf.return %y : tensor<4xf32>
  }
}

// A fully recomputed layer keeps its input alone: everything is cloned, in forward's order, from the chunk's argument.
// CHECK-LABEL: mf.model @a_full_layer_starts_from_its_input
// CHECK: %[[W:.*]] = mf.get_param @w
// CHECK: %[[DY:.*]] = mf.cut
// CHECK-NEXT: %[[BARRIER:.*]] = mf.barrier %[[X:.*]], %[[DY]]
// A parameter is always there: no barrier, no copy.
// CHECK-NEXT: %[[A:.*]] = mf.matmul %[[BARRIER]], %[[W]] {name = "layers.0.w1"}
// CHECK-NEXT: mf.mul %[[DY]], %[[A]]
// A clone stands right before its first user.
// CHECK-NEXT: %[[B:.*]] = mf.silu %[[A]] {name = "layers.0.silu"}
// CHECK-NEXT: mf.mul %[[DY]], %[[B]]
// CHECK-NEXT: mf.silu_grad %{{.*}}, %[[A]]
// Backward itself reads the input where forward left it.
// CHECK: mf.matmul %[[X]], %{{.*}}transpose_a = true}
= mf.model @a_full_layer_starts_from_its_input attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
+ mf.param @w : tensor<4x4xf32> init <ones>
= mf.layer @layers.0 body (%x: tensor<4x4xf32>) -> tensor<4x4xf32> attributes {placement = #mf.placement<stage = 0, chunk = 0>} {
+ %w = mf.get_param @w : tensor<4x4xf32>
= %a = mf.matmul %x, %w {name = "w1", recompute = #mf.recompute<full>} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
= %b = mf.silu %a {name = "silu", recompute = #mf.recompute<full>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
= %y = mf.mul %b, %a {name = "mul"} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
= mf.return %y : tensor<4x4xf32>

// Two recomputed Cells next to each other, and one inside the other: the inner and the outer Cell's marks are the same
// marks, and the result of the first Cell, kept, is where the second one starts.
// CHECK-LABEL: mf.model @adjacent_cells_restart_from_what_is_kept_between_them
// CHECK: %[[B:.*]] = mf.softmax %{{.*}} {name = "layers.0.first.softmax"}
// CHECK: %[[Y:.*]] = mf.softmax %{{.*}} {name = "layers.0.second.softmax"}
// CHECK-NEXT: %[[DY:.*]] = mf.cut %[[Y]]
// CHECK-NEXT: %[[DC:.*]] = mf.softmax_grad %[[DY]], %[[Y]]
// silu's own gradient reads only its input: nothing to clone.
// CHECK-NEXT: %[[DB:.*]] = mf.silu_grad %[[DC]], %[[B]]
// CHECK-NEXT: %[[DA:.*]] = mf.softmax_grad %[[DB]], %[[B]]
// CHECK-NEXT: mf.silu_grad %[[DA]]
= mf.model @adjacent_cells_restart_from_what_is_kept_between_them attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
= %a = mf.silu %x {name = "first.inner.silu", recompute = #mf.recompute<select>} : (tensor<4xf32>) -> tensor<4xf32>
= %b = mf.softmax %a {name = "first.softmax"} : (tensor<4xf32>) -> tensor<4xf32>
+ %c = mf.silu %b {name = "second.silu", recompute = #mf.recompute<select>} : (tensor<4xf32>) -> tensor<4xf32>
= %y = mf.softmax %c {name = "second.softmax"} : (tensor<4xf32>) -> tensor<4xf32>

// A chain of marked operators is cloned as a chain; what the chain starts from is kept even if backward did not read it.
// CHECK-LABEL: mf.model @a_chain_is_cloned_from_its_start
// CHECK: %[[START:.*]] = mf.neg
// CHECK: %[[DY:.*]] = mf.cut
// CHECK-NEXT: %[[BARRIER:.*]] = mf.barrier %[[START]], %[[DY]]
// CHECK-NEXT: %[[A:.*]] = mf.scale %[[BARRIER]]
// CHECK-NEXT: %[[B:.*]] = mf.neg %[[A]]
// CHECK-NEXT: mf.silu_grad %[[DY]], %[[B]]
= mf.model @a_chain_is_cloned_from_its_start attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
@ mf.layer
+ %start = mf.neg %x {name = "start"} : (tensor<4xf32>) -> tensor<4xf32>
= %a = mf.scale %start {name = "cell.scale", value = 2.0 : f64, recompute = #mf.recompute<select>} : (tensor<4xf32>) -> tensor<4xf32>
= %b = mf.neg %a {name = "cell.neg", recompute = #mf.recompute<select>} : (tensor<4xf32>) -> tensor<4xf32>
= %y = mf.silu %b {name = "cell.silu"} : (tensor<4xf32>) -> tensor<4xf32>

// A view between a clone and its user is made again too: it costs nothing.
// CHECK-LABEL: mf.model @views_follow_their_clones
// CHECK: %[[DY:.*]] = mf.cut
// CHECK-NEXT: %[[DB:.*]] = mf.reshape %[[DY]]
// CHECK-NEXT: %[[BARRIER:.*]] = mf.barrier %{{.*}}, %[[DB]]
// CHECK-NEXT: %[[A:.*]] = mf.neg %[[BARRIER]] {name = "layers.0.neg"}
// CHECK-NEXT: %[[VIEW:.*]] = mf.reshape %[[A]] {name = "layers.0.reshape"}
// CHECK-NEXT: mf.silu_grad %[[DB]], %[[VIEW]]
= mf.model @views_follow_their_clones attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
= %a = mf.neg %x {name = "neg", recompute = #mf.recompute<select>} : (tensor<4xf32>) -> tensor<4xf32>
+ %view = mf.reshape %a {name = "reshape"} : (tensor<4xf32>) -> tensor<2x2xf32>
= %b = mf.silu %view {name = "silu"} : (tensor<2x2xf32>) -> tensor<2x2xf32>
= %y = mf.reshape %b : (tensor<2x2xf32>) -> tensor<4xf32>

// Excluded operators and those that backward does not read stay as they are.
// CHECK-LABEL: mf.model @nothing_to_do
// CHECK: %[[A:.*]] = mf.softmax %{{.*}} {name = "layers.0.softmax"} :
// CHECK-NEXT: mf.neg %[[A]] {name = "layers.0.neg"} :
// CHECK-NEXT: %[[DY:.*]] = mf.cut
// CHECK-NEXT: %[[DA:.*]] = mf.neg %[[DY]]
// CHECK-NEXT: mf.softmax_grad %[[DA]], %[[A]]
= mf.model @nothing_to_do attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
= %a = mf.softmax %x {name = "softmax", recompute = #mf.recompute<excluded>} : (tensor<4xf32>) -> tensor<4xf32>
- %b
= %y = mf.neg %a {name = "neg", recompute = #mf.recompute<full>} : (tensor<4xf32>) -> tensor<4xf32>
