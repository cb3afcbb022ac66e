// Two rows of three tokens, of which each chooses two of three experts.
// RUN: %variants %S/../Inputs/training.mlir %s | %roundtrip --pass-pipeline='builtin.module(mf.model(mf-fuse-top-k-router))' --split-input-file 2>%t | FileCheck %s
// RUN: FileCheck --check-prefix=WARN %s < %t
// RUN: %variants %S/../Inputs/training.mlir %s | %roundtrip --pass-pipeline='builtin.module(mf.model(mf-fuse-top-k-router{print-plan=true}))' --split-input-file 2>&1 >/dev/null | FileCheck --check-prefix=PLAN %s
// RUN: %variants %S/../Inputs/training.mlir %s | %roundtrip --pass-pipeline='builtin.module(mf.model(mf-fuse-top-k-router))' --remarks-filter=fuse --split-input-file 2>&1 >/dev/null | FileCheck --check-prefix=REMARK %s

#on = #mf.training<parallel = <stages = 1, interleave = 1, micro_batches = 1>,
  optimizer = #adamw, lr_schedule = #constant, loss_scale = 1.0, max_device_memory = 0, fusions = <route = true>, locations = {route = loc("use_fused_ops_topkrouter"("some.yaml":5:9))}>
// An expert has two places; first choices get them before second ones.
// CHECK-LABEL: mf.model @first_choices_first
// CHECK: %{{.*}}, %[[CHOSEN:.*]] = mf.top_k
// CHECK-NEXT: %[[D:.*]], %[[C:.*]] = mf.top_k_router %[[CHOSEN]] {k_major = true, name = "feed_forward.router.router.topkrouter"} : (tensor<2x3x2xi32>) -> (tensor<2x3x2xi32>, tensor<2x3x2xi32>)
// CHECK-NEXT: %[[I:.*]] = mf.cast %[[C]] {name = "feed_forward.router.router.cast"} : (tensor<2x3x2xi32>) -> tensor<2x3x2xf32>
// CHECK-NEXT: %[[P:.*]] = mf.remainder %[[I]] {name = "feed_forward.router.router.mod", value = 3.000000e+00 : f64}
// CHECK-NEXT: %[[K:.*]] = mf.compare_scalar %[[P]] {comparison = #mf.comparison<not_equal>, name = "feed_forward.router.router.not_equal", value = 0.000000e+00 : f64}
// CHECK-NEXT: %[[DF:.*]] = mf.cast %[[D]]
// CHECK-NEXT: %[[CF:.*]] = mf.cast %[[C]]
// CHECK-NEXT: mf.return %[[DF]], %[[CF]], %[[K]]
// PLAN: mf.top_k_router: 1 of 1
// PLAN-NEXT: layers.0 feed_forward.router.router.topkrouter: 4 in place of 30 kernels, keeps 144 in place of 144 bytes
// REMARK: Function=first_choices_first
// REMARK-SAME: mf.top_k_router made of several operators
// REMARK-SAME: kernels saved=26
mf.model @first_choices_first attributes {training = #on, micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  mf.layer @layers.0 body (%scores: tensor<2x3x3xf32>) -> (tensor<2x3x2xf32>, tensor<2x3x2xf32>, tensor<2x3x2xf32>) {
    %best, %chosen = mf.top_k %scores {k = 2 : i64, name = "feed_forward.router.router.topk"} : (tensor<2x3x3xf32>) -> (tensor<2x3x2xf32>, tensor<2x3x2xi32>)
    %turned = mf.transpose %chosen {name = "feed_forward.router.router.transpose_3d", perm = array<i64: 0, 2, 1>} : (tensor<2x3x2xi32>) -> tensor<2x2x3xi32>
    %flat = mf.reshape %turned {name = "feed_forward.router.router.reshape"} : (tensor<2x2x3xi32>) -> tensor<2x6xi32>
    %mask = mf.one_hot %flat {name = "feed_forward.router.router.onehot_2d"} : (tensor<2x6xi32>) -> tensor<2x6x3xf32>
    %sums = mf.cumsum %mask {axis = 1 : i64, name = "feed_forward.router.router.cumsum"} : (tensor<2x6x3xf32>) -> tensor<2x6x3xf32>
    %numbers = mf.mul %sums, %mask {name = "feed_forward.router.router.mul_3d"} : (tensor<2x6x3xf32>, tensor<2x6x3xf32>) -> tensor<2x6x3xf32>
    %within = mf.compare_scalar %numbers {comparison = #mf.comparison<less>, name = "feed_forward.router.router.less", value = 3.0 : f64} : (tensor<2x6x3xf32>) -> tensor<2x6x3xf32>
    %limited = mf.mul %numbers, %within {name = "feed_forward.router.router.mul_3d"} : (tensor<2x6x3xf32>, tensor<2x6x3xf32>) -> tensor<2x6x3xf32>
    %place = mf.reduce_sum %limited {axes = array<i64: 2>, name = "feed_forward.router.router.reduce_sum"} : (tensor<2x6x3xf32>) -> tensor<2x6xf32>
    %experts = mf.cast %flat {name = "feed_forward.router.router.cast"} : (tensor<2x6xi32>) -> tensor<2x6xf32>
    %base = mf.scale %experts {name = "feed_forward.router.router.mul_2d_1d", value = 3.0 : f64} : (tensor<2x6xf32>) -> tensor<2x6xf32>
    %index = mf.add %base, %place {name = "feed_forward.router.router.add_2d"} : (tensor<2x6xf32>, tensor<2x6xf32>) -> tensor<2x6xf32>
    %place_3d = mf.reshape %place {name = "feed_forward.router.router.reshape"} : (tensor<2x6xf32>) -> tensor<2x2x3xf32>
    %place_k = mf.transpose %place_3d {name = "feed_forward.router.router.transpose_3d", perm = array<i64: 0, 2, 1>} : (tensor<2x2x3xf32>) -> tensor<2x3x2xf32>
    %kept = mf.compare_scalar %place_k {comparison = #mf.comparison<greater>, name = "feed_forward.router.router.gt", value = 0.0 : f64} : (tensor<2x3x2xf32>) -> tensor<2x3x2xf32>
    %index_3d = mf.reshape %index {name = "feed_forward.router.router.reshape"} : (tensor<2x6xf32>) -> tensor<2x2x3xf32>
    %index_k = mf.transpose %index_3d {name = "feed_forward.router.router.transpose_3d", perm = array<i64: 0, 2, 1>} : (tensor<2x2x3xf32>) -> tensor<2x3x2xf32>
    %combine = mf.cast %index_k {name = "feed_forward.router.router.cast"} : (tensor<2x3x2xf32>) -> tensor<2x3x2xi32>
    %selected = mf.transpose %mask {name = "feed_forward.router.router.transpose_3d", perm = array<i64: 0, 2, 1>} : (tensor<2x6x3xf32>) -> tensor<2x3x6xf32>
    %ones = mf.compare_scalar %place {comparison = #mf.comparison<at_least>, name = "feed_forward.router.router.slice_range", value = 0.0 : f64} : (tensor<2x6xf32>) -> tensor<2x6xf32>
    %counted = mf.cumsum %ones {axis = 1 : i64, name = "feed_forward.router.router.slice_range"} : (tensor<2x6xf32>) -> tensor<2x6xf32>
    %range = mf.add_scalar %counted {name = "feed_forward.router.router.slice_range", value = -1.0 : f64} : (tensor<2x6xf32>) -> tensor<2x6xf32>
    %range_3d = mf.reshape %range {name = "feed_forward.router.router.reshape"} : (tensor<2x6xf32>) -> tensor<2x1x6xf32>
    %large = mf.add_scalar %range_3d {name = "feed_forward.router.router.add_range", value = 12.0 : f64} : (tensor<2x1x6xf32>) -> tensor<2x1x6xf32>
    %others = mf.compare_scalar %selected {comparison = #mf.comparison<less>, name = "feed_forward.router.router.sub_range", value = 1.0 : f64} : (tensor<2x3x6xf32>) -> tensor<2x3x6xf32>
    %own = mf.mul %selected, %range_3d {name = "feed_forward.router.router.mul_range"} : (tensor<2x3x6xf32>, tensor<2x1x6xf32>) -> tensor<2x3x6xf32>
    %rest = mf.mul %others, %large {name = "feed_forward.router.router.mul_range"} : (tensor<2x3x6xf32>, tensor<2x1x6xf32>) -> tensor<2x3x6xf32>
    %raw = mf.add %own, %rest {name = "feed_forward.router.router.add_3d"} : (tensor<2x3x6xf32>, tensor<2x3x6xf32>) -> tensor<2x3x6xf32>
    %choices, %unused = mf.sort %raw {name = "feed_forward.router.router.sort_range"} : (tensor<2x3x6xf32>) -> (tensor<2x3x6xf32>, tensor<2x3x6xi32>)
    %first = mf.slice %choices {name = "feed_forward.router.router.slice", sizes = array<i64: 2, 3, 2>, starts = array<i64: 0, 0, 0>} : (tensor<2x3x6xf32>) -> tensor<2x3x2xf32>
    %is_choice = mf.compare_scalar %first {comparison = #mf.comparison<less>, name = "feed_forward.router.router.less", value = 12.0 : f64} : (tensor<2x3x2xf32>) -> tensor<2x3x2xf32>
    %token = mf.remainder %first {name = "feed_forward.router.router.mod", value = 3.0 : f64} : (tensor<2x3x2xf32>) -> tensor<2x3x2xf32>
    %token_1 = mf.add_scalar %token {name = "feed_forward.router.router.add_one", value = 1.0 : f64} : (tensor<2x3x2xf32>) -> tensor<2x3x2xf32>
    %filled = mf.mul %token_1, %is_choice {name = "feed_forward.router.router.mul_3d"} : (tensor<2x3x2xf32>, tensor<2x3x2xf32>) -> tensor<2x3x2xf32>
    %dispatch = mf.cast %filled {name = "feed_forward.router.router.cast"} : (tensor<2x3x2xf32>) -> tensor<2x3x2xi32>
    %dispatched = mf.cast %dispatch : (tensor<2x3x2xi32>) -> tensor<2x3x2xf32>
    %combined = mf.cast %combine : (tensor<2x3x2xi32>) -> tensor<2x3x2xf32>
    mf.return %dispatched, %combined, %kept : tensor<2x3x2xf32>, tensor<2x3x2xf32>, tensor<2x3x2xf32>
  }
}

// Tokens get places in turn.
// CHECK-LABEL: mf.model @tokens_in_turn
// CHECK: %{{.*}}, %[[CHOSEN:.*]] = mf.top_k
// CHECK-NEXT: %{{.*}}, %{{.*}} = mf.top_k_router %[[CHOSEN]] {k_major = false, name = "feed_forward.router.router.topkrouter"}
= mf.model @tokens_in_turn attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
- %turned
= %flat = mf.reshape %chosen {name = "feed_forward.router.router.reshape"} : (tensor<2x3x2xi32>) -> tensor<2x6xi32>
- %place_3d
= %place_k = mf.reshape %place {name = "feed_forward.router.router.reshape"} : (tensor<2x6xf32>) -> tensor<2x3x2xf32>
- %index_3d
= %index_k = mf.reshape %index {name = "feed_forward.router.router.reshape"} : (tensor<2x6xf32>) -> tensor<2x3x2xf32>
= %token = mf.floor_divide %first {name = "feed_forward.router.router.mod", value = 2.0 : f64} : (tensor<2x3x2xf32>) -> tensor<2x3x2xf32>

// More places than choices.
// CHECK-LABEL: mf.model @more_places_than_choices
// CHECK: = mf.top_k %
// CHECK-NEXT: = mf.top_k_router {{.*}} : (tensor<2x3x2xi32>) -> (tensor<2x3x8xi32>, tensor<2x3x2xi32>)
// CHECK: mf.remainder {{.*}}value = 9.0
= mf.model @more_places_than_choices attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
= mf.layer @layers.0 body (%scores: tensor<2x3x3xf32>) -> (tensor<2x3x8xf32>, tensor<2x3x2xf32>, tensor<2x3x2xf32>) {
= %within = mf.compare_scalar %numbers {comparison = #mf.comparison<less>, name = "feed_forward.router.router.less", value = 9.0 : f64} : (tensor<2x6x3xf32>) -> tensor<2x6x3xf32>
= %base = mf.scale %experts {name = "feed_forward.router.router.mul_2d_1d", value = 9.0 : f64} : (tensor<2x6xf32>) -> tensor<2x6xf32>
= %first = mf.slice %choices {name = "feed_forward.router.router.slice", sizes = array<i64: 2, 3, 6>, starts = array<i64: 0, 0, 0>} : (tensor<2x3x6xf32>) -> tensor<2x3x6xf32>
- ...
- %dispatched
+ %is_choice = mf.compare_scalar %first {comparison = #mf.comparison<less>, name = "feed_forward.router.router.less", value = 12.0 : f64} : (tensor<2x3x6xf32>) -> tensor<2x3x6xf32>
+ %token = mf.remainder %first {name = "feed_forward.router.router.mod", value = 3.0 : f64} : (tensor<2x3x6xf32>) -> tensor<2x3x6xf32>
+ %token_1 = mf.add_scalar %token {name = "feed_forward.router.router.add_one", value = 1.0 : f64} : (tensor<2x3x6xf32>) -> tensor<2x3x6xf32>
+ %filled = mf.mul %token_1, %is_choice {name = "feed_forward.router.router.mul_3d"} : (tensor<2x3x6xf32>, tensor<2x3x6xf32>) -> tensor<2x3x6xf32>
+ %padded = mf.pad %filled {high = array<i64: 0, 0, 2>, low = array<i64: 0, 0, 0>, name = "feed_forward.router.router.concat_3d"} : (tensor<2x3x6xf32>) -> tensor<2x3x8xf32>
+ %dispatch = mf.cast %padded {name = "feed_forward.router.router.cast"} : (tensor<2x3x8xf32>) -> tensor<2x3x8xi32>
+ %dispatched = mf.cast %dispatch : (tensor<2x3x8xi32>) -> tensor<2x3x8xf32>
= mf.return %dispatched, %combined, %kept : tensor<2x3x8xf32>, tensor<2x3x2xf32>, tensor<2x3x2xf32>

// CHECK-LABEL: mf.model @not_asked_for
// CHECK-NOT: mf.top_k_router
// CHECK: mf.return
= mf.model @not_asked_for attributes {training = #one_stage, micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {

// Another limit for the index than for the places.
// CHECK-LABEL: mf.model @another_limit
// CHECK-NOT: mf.top_k_router
// CHECK: mf.return
// WARN: some.yaml:5:9: warning: 'use_fused_ops_topkrouter' has no effect: no layer has what becomes one mf.top_k_router
// WARN-NOT: warning
= mf.model @another_limit attributes {training = #on, micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
= %base = mf.scale %experts {name = "feed_forward.router.router.mul_2d_1d", value = 4.0 : f64} : (tensor<2x6xf32>) -> tensor<2x6xf32>
