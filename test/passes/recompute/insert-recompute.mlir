// What runs again in backward, from what, and where.
// RUN: %variants %s | %roundtrip --pass-pipeline='builtin.module(mf.model(mf.chunk(mf-insert-recompute)))' -split-input-file | FileCheck %s

// The smallest case: silu's result is read by the product's gradient.
// CHECK-LABEL: mf.chunk @a_marked_operator_is_cloned_behind_a_barrier
mf.model @one attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  mf.chunk @a_marked_operator_is_cloned_behind_a_barrier (%x: tensor<4xf32>) -> tensor<4xf32>
      attributes {placement = #mf.placement<stage = 0, chunk = 0>, inputs = [], input_indices = [], gradients = []} {
    // CHECK: %[[A:.*]] = mf.neg %[[X:.*]] {name = "neg"}
    %a = mf.neg %x {name = "neg"} : (tensor<4xf32>) -> tensor<4xf32>
    // The mark has done its work.
    // CHECK-NEXT: %[[B:.*]] = mf.silu %[[A]] {name = "silu"} :
    %b = mf.silu %a {name = "silu", recompute = #mf.recompute<select>} : (tensor<4xf32>) -> tensor<4xf32>
    %y = mf.mul %b, %b {name = "mul"} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    // CHECK: %[[DY:.*]] = mf.cut
    %dy = mf.cut %y : tensor<4xf32>
    // The kept input comes through a barrier that waits for backward to come this far.
    // CHECK-NEXT: %[[BARRIER:.*]] = mf.barrier %[[A]], %[[DY]] {name = "neg"}
    // CHECK-NEXT: %[[CLONE:.*]] = mf.silu %[[BARRIER]] {name = "silu"}
    // One clone serves all its users.
    // CHECK-NEXT: mf.mul %[[DY]], %[[CLONE]]
    %left = mf.mul %dy, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    // CHECK-NEXT: mf.mul %[[DY]], %[[CLONE]]
    %right = mf.mul %dy, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %db = mf.add %left, %right : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    // What is not marked is read as before.
    // CHECK: mf.silu_grad %{{.*}}, %[[A]]
    %da = mf.silu_grad %db, %a : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %dx = mf.neg %da : (tensor<4xf32>) -> tensor<4xf32>
    mf.return %dx : tensor<4xf32>
  }
}

// A fully recomputed layer keeps its input alone: everything is cloned, in forward's order, from the chunk's argument.
// CHECK-LABEL: mf.chunk @a_full_layer_starts_from_its_input
// CHECK: %[[W:.*]] = mf.get_param @w
// CHECK: %[[DY:.*]] = mf.cut
// CHECK-NEXT: %[[BARRIER:.*]] = mf.barrier %[[X:.*]], %[[DY]]
// A parameter is always there: no barrier, no copy.
// CHECK-NEXT: %[[A:.*]] = mf.matmul %[[BARRIER]], %[[W]] {name = "w1"}
// CHECK-NEXT: mf.mul %[[DY]], %[[A]]
// A clone stands right before its first user.
// CHECK-NEXT: %[[B:.*]] = mf.silu %[[A]] {name = "silu"}
// CHECK-NEXT: mf.mul %[[DY]], %[[B]]
// CHECK-NEXT: mf.silu_grad %{{.*}}, %[[A]]
// Backward itself reads the input where forward left it.
// CHECK: mf.matmul %[[X]], %{{.*}} {transpose_a = true}
= mf.model @two attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
+ mf.param @w : tensor<4x4xf32> init <ones>
= mf.chunk @a_full_layer_starts_from_its_input (%x: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>)
= attributes {placement = #mf.placement<stage = 0, chunk = 0>, inputs = [], input_indices = [], gradients = [@w]} {
+ %w = mf.get_param @w : tensor<4x4xf32>
= %a = mf.matmul %x, %w {name = "w1", recompute = #mf.recompute<full>} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
= %b = mf.silu %a {name = "silu", recompute = #mf.recompute<full>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
= %y = mf.mul %b, %a {name = "mul"} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
= %dy = mf.cut %y : tensor<4x4xf32>
- %left
- %right
= %db = mf.mul %dy, %a : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
= %da = mf.mul %dy, %b : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
+ %da2 = mf.silu_grad %db, %a : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
+ %sum = mf.add %da, %da2 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
= %dx = mf.matmul %sum, %w {transpose_b = true} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
+ %dw = mf.matmul %x, %sum {transpose_a = true} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
= mf.return %dx, %dw : tensor<4x4xf32>, tensor<4x4xf32>

// Two recomputed Cells next to each other, and one inside the other: the inner and the outer Cell's marks are the same
// marks, and the result of the first Cell, kept, is where the second one starts.
// CHECK-LABEL: mf.chunk @adjacent_cells_restart_from_what_is_kept_between_them
// CHECK: %[[B:.*]] = mf.softmax %{{.*}} {name = "first.softmax"}
// CHECK: %[[Y:.*]] = mf.softmax %{{.*}} {name = "second.softmax"}
// CHECK-NEXT: %[[DY:.*]] = mf.cut %[[Y]]
// CHECK-NEXT: %[[DC:.*]] = mf.softmax_grad %[[DY]], %[[Y]]
// silu's own gradient reads only its input: nothing to clone.
// CHECK-NEXT: %[[DB:.*]] = mf.silu_grad %[[DC]], %[[B]]
// CHECK-NEXT: %[[DA:.*]] = mf.softmax_grad %[[DB]], %[[B]]
// CHECK-NEXT: mf.silu_grad %[[DA]]
= mf.model @three attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
= mf.chunk @adjacent_cells_restart_from_what_is_kept_between_them (%x: tensor<4xf32>) -> tensor<4xf32>
= %a = mf.silu %x {name = "first.inner.silu", recompute = #mf.recompute<select>} : (tensor<4xf32>) -> tensor<4xf32>
= %b = mf.softmax %a {name = "first.softmax"} : (tensor<4xf32>) -> tensor<4xf32>
+ %c = mf.silu %b {name = "second.silu", recompute = #mf.recompute<select>} : (tensor<4xf32>) -> tensor<4xf32>
= %y = mf.softmax %c {name = "second.softmax"} : (tensor<4xf32>) -> tensor<4xf32>
- %left
- %right
+ %dc = mf.softmax_grad %dy, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
= %db = mf.silu_grad %dc, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
= %da = mf.softmax_grad %db, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
= %dx = mf.silu_grad %da, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>

// A chain of marked operators is cloned as a chain; what the chain starts from is kept even if backward did not read it.
// CHECK-LABEL: mf.chunk @a_chain_is_cloned_from_its_start
// CHECK: %[[START:.*]] = mf.neg
// CHECK: %[[DY:.*]] = mf.cut
// CHECK-NEXT: %[[BARRIER:.*]] = mf.barrier %[[START]], %[[DY]]
// CHECK-NEXT: %[[A:.*]] = mf.scale %[[BARRIER]]
// CHECK-NEXT: %[[B:.*]] = mf.neg %[[A]]
// CHECK-NEXT: mf.silu_grad %[[DY]], %[[B]]
= mf.model @four attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
= mf.chunk @a_chain_is_cloned_from_its_start (%x: tensor<4xf32>) -> tensor<4xf32>
@ attributes
+ %start = mf.neg %x {name = "start"} : (tensor<4xf32>) -> tensor<4xf32>
= %a = mf.scale %start {name = "cell.scale", value = 2.0 : f64, recompute = #mf.recompute<select>} : (tensor<4xf32>) -> tensor<4xf32>
= %b = mf.neg %a {name = "cell.neg", recompute = #mf.recompute<select>} : (tensor<4xf32>) -> tensor<4xf32>
= %y = mf.silu %b {name = "cell.silu"} : (tensor<4xf32>) -> tensor<4xf32>
- %left
- %right
= %db = mf.silu_grad %dy, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
= %da = mf.neg %db : (tensor<4xf32>) -> tensor<4xf32>
+ %ds = mf.scale %da {value = 2.0 : f64} : (tensor<4xf32>) -> tensor<4xf32>
= %dx = mf.neg %ds : (tensor<4xf32>) -> tensor<4xf32>

// A view between a clone and its user is made again too: it costs nothing.
// CHECK-LABEL: mf.chunk @views_follow_their_clones
// CHECK: %[[DY:.*]] = mf.cut
// CHECK-NEXT: %[[DB:.*]] = mf.reshape %[[DY]]
// CHECK-NEXT: %[[BARRIER:.*]] = mf.barrier %{{.*}}, %[[DB]]
// CHECK-NEXT: %[[A:.*]] = mf.neg %[[BARRIER]] {name = "neg"}
// CHECK-NEXT: %[[VIEW:.*]] = mf.reshape %[[A]] {name = "reshape"}
// CHECK-NEXT: mf.silu_grad %[[DB]], %[[VIEW]]
= mf.model @five attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
= mf.chunk @views_follow_their_clones (%x: tensor<4xf32>) -> tensor<4xf32>
= %a = mf.neg %x {name = "neg", recompute = #mf.recompute<select>} : (tensor<4xf32>) -> tensor<4xf32>
+ %view = mf.reshape %a {name = "reshape"} : (tensor<4xf32>) -> tensor<2x2xf32>
= %b = mf.silu %view {name = "silu"} : (tensor<2x2xf32>) -> tensor<2x2xf32>
= %y = mf.reshape %b : (tensor<2x2xf32>) -> tensor<4xf32>
- %left
- %right
= %db = mf.reshape %dy : (tensor<4xf32>) -> tensor<2x2xf32>
+ %dview = mf.silu_grad %db, %view : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
= %da = mf.reshape %dview : (tensor<2x2xf32>) -> tensor<4xf32>

// Excluded operators and those that backward does not read stay as they are.
// CHECK-LABEL: mf.chunk @nothing_to_do
// CHECK: %[[A:.*]] = mf.softmax %{{.*}} {name = "softmax"} :
// CHECK-NEXT: mf.neg %[[A]] {name = "neg"} :
// CHECK-NEXT: %[[DY:.*]] = mf.cut
// CHECK-NEXT: %[[DA:.*]] = mf.neg %[[DY]]
// CHECK-NEXT: mf.softmax_grad %[[DA]], %[[A]]
= mf.model @six attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
= mf.chunk @nothing_to_do (%x: tensor<4xf32>) -> tensor<4xf32>
= %a = mf.softmax %x {name = "softmax", recompute = #mf.recompute<excluded>} : (tensor<4xf32>) -> tensor<4xf32>
- %b
= %y = mf.neg %a {name = "neg", recompute = #mf.recompute<full>} : (tensor<4xf32>) -> tensor<4xf32>
- %left
- ...
- %db
= %da = mf.neg %dy : (tensor<4xf32>) -> tensor<4xf32>
= %dx = mf.softmax_grad %da, %a : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
