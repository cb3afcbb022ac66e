// RUN: %variants %S/../Inputs/training.mlir %s | %roundtrip --pass-pipeline='builtin.module(mf.model(mf-mark-memory))' --split-input-file | FileCheck %s --implicit-check-not='recompute ='

// No setting, no mark.
// CHECK-LABEL: mf.model @nothing_is_marked_without_recompute
mf.model @nothing_is_marked_without_recompute attributes {
    micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64,
    training = #one_stage} {
  mf.layer @layers.0 body (%x: tensor<4x4xf32>) -> tensor<4x4xf32>
      attributes {placement = #mf.placement<stage = 0, chunk = 0>} {
    %norm = mf.softmax %x {name = "attention_norm.norm"} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %q = mf.matmul %norm, %norm {name = "attention.wq.matmul"} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %h = mf.add %q, %x {name = "add"} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %gate = mf.neg %h {name = "feed_forward.w1.matmul"} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %act = mf.silu %gate {name = "feed_forward.w1.activation.silu"} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %mul = mf.mul %act, %gate {name = "feed_forward.mul"} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %down = mf.neg %mul {name = "feed_forward.w2.matmul"} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %y = mf.add %down, %h {name = "add"} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    mf.return %y : tensor<4x4xf32>
  }
}

// The layer's own result is what the next layer keeps.
// CHECK-LABEL: mf.model @full_marks_all_but_what_makes_the_result
// CHECK: mf.layer @layers.0 body
// CHECK-NEXT: mf.softmax {{.*}} {name = "attention_norm.norm", recompute = #mf.recompute<full>} :
// CHECK-NEXT: mf.matmul {{.*}} {name = "attention.wq.matmul", recompute = #mf.recompute<full>} :
// CHECK-NEXT: mf.add {{.*}} {name = "add", recompute = #mf.recompute<full>} :
// CHECK-NEXT: mf.neg {{.*}} {name = "feed_forward.w1.matmul", recompute = #mf.recompute<full>} :
// CHECK-NEXT: mf.silu {{.*}} {name = "feed_forward.w1.activation.silu", recompute = #mf.recompute<full>} :
// CHECK-NEXT: mf.mul {{.*}} {name = "feed_forward.mul", recompute = #mf.recompute<full>} :
// CHECK-NEXT: mf.neg {{.*}} {name = "feed_forward.w2.matmul", recompute = #mf.recompute<full>} :
// The residual addition is the layer's output: it is kept.
// CHECK-NEXT: mf.add {{.*}} {name = "add", recompute = #mf.recompute<output>} :
= mf.model @full_marks_all_but_what_makes_the_result attributes {
= attributes {settings = #mf.layer_settings<requests = [recompute]>, placement = #mf.placement<stage = 0, chunk = 0>} {

// An excluded operator is kept, and the mark says that somebody asked for it.
// CHECK-LABEL: mf.model @exclude_beats_full
// CHECK: mf.layer @layers.0 body
// CHECK-NEXT: mf.softmax {{.*}} {name = "attention_norm.norm", recompute = #mf.recompute<full>} :
// CHECK-NEXT: mf.matmul {{.*}} {name = "attention.wq.matmul", recompute = #mf.recompute<excluded>} :
// CHECK-NEXT: mf.add {{.*}} {name = "add", recompute = #mf.recompute<full>} :
// CHECK-NEXT: mf.neg {{.*}} {name = "feed_forward.w1.matmul", recompute = #mf.recompute<full>} :
// CHECK-NEXT: mf.silu {{.*}} {name = "feed_forward.w1.activation.silu", recompute = #mf.recompute<full>} :
// CHECK-NEXT: mf.mul {{.*}} {name = "feed_forward.mul", recompute = #mf.recompute<full>} :
// CHECK-NEXT: mf.neg {{.*}} {name = "feed_forward.w2.matmul", recompute = #mf.recompute<full>} :
// CHECK-NEXT: mf.add {{.*}} {name = "add", recompute = #mf.recompute<output>} :
= mf.model @exclude_beats_full attributes {
= attributes {settings = #mf.layer_settings<requests = [recompute, select_recompute_exclude "attention\\.wq\\.matmul"]>, placement = #mf.placement<stage = 0, chunk = 0>} {

// Marks that are there are replaced, not added to.
// CHECK-LABEL: mf.model @old_marks_go
// CHECK: mf.neg {{.*}} {name = "neg"} :
= mf.model @old_marks_go attributes {
- %norm
- ...
- %y =
+ %y = mf.neg %x {name = "neg", recompute = #mf.recompute<full>} : (tensor<4x4xf32>) -> tensor<4x4xf32>

// True takes the operators that the model family recomputes by default.
// CHECK-LABEL: mf.model @select_by_default_takes_the_families_operators
// CHECK: mf.silu {{.*}} {name = "feed_forward.w1.activation.silu", recompute = #mf.recompute<select>} :
// CHECK: mf.mul {{.*}} {name = "feed_forward.mul", recompute = #mf.recompute<select>} :
= mf.model @select_by_default_takes_the_families_operators attributes {
= attributes {settings = #mf.layer_settings<selects, requests = [select_recompute "feed_forward\\.mul" unnamed, select_recompute "feed_forward\\.w1\\.activation\\.silu" unnamed]>, placement = #mf.placement<stage = 0, chunk = 0>} {

// A full name is an operator.
// CHECK-LABEL: mf.model @select_names_one_operator
// CHECK: mf.silu {{.*}} {name = "feed_forward.w1.activation.silu", recompute = #mf.recompute<select>} :
= mf.model @select_names_one_operator attributes {
= attributes {settings = #mf.layer_settings<selects, requests = [select_recompute "feed_forward\\.w1\\.activation\\.silu"]>, placement = #mf.placement<stage = 0, chunk = 0>} {

// A prefix is a Cell: what is inside runs again, what leaves it is kept.
// CHECK-LABEL: mf.model @select_names_a_cell
// CHECK: mf.neg {{.*}} {name = "feed_forward.w1.matmul", recompute = #mf.recompute<select>} :
// CHECK: mf.silu {{.*}} {name = "feed_forward.w1.activation.silu", recompute = #mf.recompute<select>} :
// CHECK: mf.mul {{.*}} {name = "feed_forward.mul", recompute = #mf.recompute<select>} :
// The Cell's result.
// CHECK: mf.neg {{.*}} {name = "feed_forward.w2.matmul", recompute = #mf.recompute<output>} :
= mf.model @select_names_a_cell attributes {
= attributes {settings = #mf.layer_settings<selects, requests = [select_recompute "feed_forward"]>, placement = #mf.placement<stage = 0, chunk = 0>} {

// What leaves the inner Cell is kept, although it stays in the outer one.
// CHECK-LABEL: mf.model @select_names_a_nested_cell
// CHECK: mf.silu {{.*}} {name = "feed_forward.w1.activation.silu", recompute = #mf.recompute<output>} :
= mf.model @select_names_a_nested_cell attributes {
= attributes {settings = #mf.layer_settings<selects, requests = [select_recompute "feed_forward\\.w1\\.activation"]>, placement = #mf.placement<stage = 0, chunk = 0>} {

// Parts are regular expressions, matched whole.
// CHECK-LABEL: mf.model @each_part_of_a_pattern_matches_one_name
// CHECK: mf.matmul {{.*}} {name = "attention.wq.matmul", recompute = #mf.recompute<select>} :
= mf.model @each_part_of_a_pattern_matches_one_name attributes {
= attributes {settings = #mf.layer_settings<selects, requests = [select_recompute "att.*n\\.w[qkv]\\.matmul"]>, placement = #mf.placement<stage = 0, chunk = 0>} {

// Each pattern has counts of its own.
// CHECK-LABEL: mf.model @patterns_cover_their_own_layers
// CHECK: mf.silu {{.*}} {name = "feed_forward.w1.activation.silu", recompute = #mf.recompute<select>} :
// CHECK: mf.layer @layers.1 body
// CHECK: mf.mul {{.*}} {name = "feed_forward.mul", recompute = #mf.recompute<select>} :
= mf.model @patterns_cover_their_own_layers attributes {
= training = #two_stages} {
= attributes {settings = #mf.layer_settings<selects, requests = [select_recompute "feed_forward\\.w1\\.activation\\.silu"]>, placement = #mf.placement<stage = 0, chunk = 0>} {
+ %norm = mf.softmax %x {name = "attention_norm.norm"} : (tensor<4x4xf32>) -> tensor<4x4xf32>
+ %q = mf.matmul %norm, %norm {name = "attention.wq.matmul"} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
+ %h = mf.add %q, %x {name = "add"} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
+ %gate = mf.neg %h {name = "feed_forward.w1.matmul"} : (tensor<4x4xf32>) -> tensor<4x4xf32>
+ %act = mf.silu %gate {name = "feed_forward.w1.activation.silu"} : (tensor<4x4xf32>) -> tensor<4x4xf32>
+ %mul = mf.mul %act, %gate {name = "feed_forward.mul"} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
+ %down = mf.neg %mul {name = "feed_forward.w2.matmul"} : (tensor<4x4xf32>) -> tensor<4x4xf32>
+ %y = mf.add %down, %h {name = "add"} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
+ mf.return %y : tensor<4x4xf32>
+ }
+ mf.layer @layers.1 body (%x: tensor<4x4xf32>) -> tensor<4x4xf32>
+ attributes {settings = #mf.layer_settings<number = 1, selects, requests = [select_recompute "feed_forward\\.mul"]>, placement = #mf.placement<stage = 1, chunk = 0>} {

// CHECK-LABEL: mf.model @exclude_beats_select
// CHECK: mf.silu {{.*}} {name = "feed_forward.w1.activation.silu", recompute = #mf.recompute<select>} :
// CHECK: mf.mul {{.*}} {name = "feed_forward.mul", recompute = #mf.recompute<excluded>} :
= mf.model @exclude_beats_select attributes {
= attributes {settings = #mf.layer_settings<selects, requests = [select_recompute "feed_forward\\.mul" unnamed, select_recompute "feed_forward\\.w1\\.activation\\.silu" unnamed, select_recompute_exclude "feed_forward\\.mul"]>, placement = #mf.placement<stage = 0, chunk = 0>} {

// They are for the communication behind an operator, and one rank has none.
// CHECK-LABEL: mf.model @comm_patterns_are_about_communication
= mf.model @comm_patterns_are_about_communication attributes {
= attributes {settings = #mf.layer_settings<requests = [select_comm_recompute ".*\\.norm"]>, placement = #mf.placement<stage = 0, chunk = 0>} {

// A view of a Cell's inner value is made outside of it by nothing: what leaves through a view is kept too.
// CHECK-LABEL: mf.model @views_carry_results_out_of_a_cell
// CHECK: mf.neg {{.*}} {name = "attention.inner", recompute = #mf.recompute<select>}
// CHECK-NEXT: mf.silu {{.*}} {name = "attention.outer", recompute = #mf.recompute<output>}
// CHECK-NEXT: mf.reshape {{.*}} {name = "attention.reshape", recompute = #mf.recompute<output>}
= mf.model @views_carry_results_out_of_a_cell attributes {
= attributes {settings = #mf.layer_settings<selects, requests = [select_recompute "attention"]>, placement = #mf.placement<stage = 0, chunk = 0>} {
- %norm
- ...
- %y
+ %inner = mf.neg %x {name = "attention.inner"} : (tensor<4x4xf32>) -> tensor<4x4xf32>
+ %outer = mf.silu %inner {name = "attention.outer"} : (tensor<4x4xf32>) -> tensor<4x4xf32>
+ %rows = mf.reshape %outer {name = "attention.reshape"} : (tensor<4x4xf32>) -> tensor<16xf32>
+ %again = mf.reshape %rows {name = "reshape"} : (tensor<16xf32>) -> tensor<4x4xf32>
= mf.return %again : tensor<4x4xf32>
