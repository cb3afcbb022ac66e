// RUN: %variants %S/../Inputs/training.mlir %s | %roundtrip --pass-pipeline='builtin.module(mf.model(mf-shard-optimizer))' -split-input-file -verify-diagnostics | FileCheck %s

// HSDP: half of the data-parallel ranks share it out, whatever the model opts in,
// and backward gathers it again.
// CHECK-LABEL: mf.model @gathers_again
// CHECK: mf.param @layers.0.w {{.*}} stored <{{\[\[}}mp, dp_1], []], reduced = [dp_0]>
// CHECK: mf.all_gather {{.*}} over ["dp_1"] {mf.unit = 0 : i64, {{.*}}recompute = #mf.recompute<preset>, wide_gradient
module attributes {mf.mesh = #mf.mesh<pp = 1, dp_0 = 2, dp_1 = 2, mp = 2>} {
mf.model @gathers_again attributes {
    micro_batch_size = 4 : i64, sequence_length = 8 : i64, vocab_size = 16 : i64,
    training = #mf.training<parallel = <stages = 1, interleave = 1, micro_batches = 2, optimizer_shard = <level = 3, threshold = 0>>,
      optimizer = #adamw, lr_schedule = #constant, loss_scale = 1.0, max_device_memory = 0>} {
  mf.param @layers.0.w : tensor<64x32xf32> init <normal, value = 0.02> layout <[[mp], []], reduced = [dp_0, dp_1]> {parallel_optimizer = false, mf.sharing = {axes = ["dp_1"], gathers_again = true, must_divide = false, divides_gradients = false}}
  mf.layer @layers.0 body (%x: tensor<8x32xf32>) -> tensor<8x32xbf16> {
    %w = mf.get_param @layers.0.w : tensor<32x32xf32>
    %c = mf.cast %w {name = "cast"} : (tensor<32x32xf32>) -> tensor<32x32xbf16>
    %h = mf.cast %x {name = "x.cast"} : (tensor<8x32xf32>) -> tensor<8x32xbf16>
    %y = mf.matmul %h, %c {name = "w1.matmul", transpose_b = true} : (tensor<8x32xbf16>, tensor<32x32xbf16>) -> tensor<8x32xbf16>
    mf.return %y : tensor<8x32xbf16>
  }
}
}

// A weight that is kept in its own type is gathered in that, and converted behind.
// CHECK-LABEL: mf.model @kept_wide
// CHECK: %[[PART:.*]] = mf.get_param @layers.0.w : tensor<16x32xf32>
// CHECK: %[[WHOLE:.*]] = mf.all_gather %[[PART]] over ["dp"] {{.*}} -> tensor<32x32xf32>
// CHECK: mf.cast %[[WHOLE]]
= module attributes {mf.mesh = #mf.mesh<pp = 1, dp = 2>} {
= mf.model @kept_wide attributes {
= mf.param @layers.0.w : tensor<32x32xf32> init <normal, value = 0.02> layout <[[], []], reduced = [dp]> {parallel_optimizer = false, mf.kept = f32, mf.sharing = {axes = ["dp"], gathers_again = true, must_divide = false, divides_gradients = false}}

// Each micro-batch gathers it, and keeps it for its backward.
// CHECK-LABEL: mf.model @keeps_it
// CHECK: mf.param @layers.0.w
// CHECK-NOT: gathered =
// CHECK: mf.all_gather {{.*}} over ["dp_1"]
// CHECK-NOT: preset
// CHECK: mf.matmul
= mf.model @keeps_it attributes {
= training = #mf.training<parallel = <stages = 1, interleave = 1, micro_batches = 2, optimizer_shard = <level = 2, threshold = 0>>,
= mf.param @layers.0.w : tensor<64x32xf32> init <normal, value = 0.02> layout <[[mp], []], reduced = [dp_0, dp_1]> {parallel_optimizer = false, mf.sharing = {axes = ["dp_1"], gathers_again = false, must_divide = false, divides_gradients = false}}

// With several stages the step's begin does, and gradients are added whole.
// CHECK-LABEL: mf.model @once_with_stages
// CHECK: mf.param @layers.0.w {{.*}}gathered = tensor<32x32xbf16>
// CHECK-NOT: scatter_gradients
// CHECK-NOT: mf.all_gather
// CHECK: mf.matmul
= module attributes {mf.mesh = #mf.mesh<pp = 2, dp_0 = 2, dp_1 = 2, mp = 2>} {
= mf.model @once_with_stages attributes {
= training = #mf.training<parallel = <stages = 2, interleave = 1, micro_batches = 2, optimizer_shard = <level = 1, threshold = 0>>,
= mf.param @layers.0.w : tensor<64x32xf32> init <normal, value = 0.02> layout <[[mp], []], reduced = [dp_0, dp_1]> {parallel_optimizer = false, mf.sharing = {axes = ["dp_1"], gathers_again = false, must_divide = false, divides_gradients = false}}

// What does not divide stays whole, with a warning;
// CHECK-LABEL: mf.model @stays_whole
// CHECK: mf.param @layers.0.w
// CHECK-NOT: mf.all_gather
// CHECK: mf.matmul
= mf.model @stays_whole attributes {
= mf.param @layers.0.w : tensor<62x32xf32> init <normal, value = 0.02> layout <[[mp], []], reduced = [dp_0, dp_1]> {parallel_optimizer = false, mf.sharing = {axes = ["dp_1"], gathers_again = true, must_divide = false, divides_gradients = false}}
+ // expected-warning @above {{'layers.0.w' is not sharded: its first dimension, 62, does not divide by 4}}
= mf.layer @layers.0 body (%x: tensor<8x32xf32>) -> tensor<8x31xbf16> {
= %w = mf.get_param @layers.0.w : tensor<31x32xf32>
= %c = mf.cast %w {name = "cast"} : (tensor<31x32xf32>) -> tensor<31x32xbf16>
= %y = mf.matmul %h, %c {name = "w1.matmul", transpose_b = true} : (tensor<8x32xbf16>, tensor<31x32xbf16>) -> tensor<8x31xbf16>
= mf.return %y : tensor<8x31xbf16>

// where it must divide that is an error.
^
= mf.model @must_divide attributes {
= mf.param @layers.0.w : tensor<62x32xf32> init <normal, value = 0.02> layout <[[mp], []], reduced = [dp_0, dp_1]> {parallel_optimizer = false, mf.sharing = {axes = ["dp_1"], gathers_again = true, must_divide = true, divides_gradients = false}}
+ // expected-error @above {{cannot be sharded over [dp_1]: its first dimension, 62, does not divide by 4; choose fewer ranks to shard parameters over}}
- // expected-warning

// A weight may be divided along its second dimension, which then has to divide.
// CHECK-LABEL: mf.model @columns
// CHECK: mf.param @layers.0.w {{.*}} stored <{{\[\[}}], [dp_1, mp]], reduced = [dp_0]> {{.*}}storage_dim = 1
// CHECK: %[[PART:.*]] = mf.get_param @layers.0.w : tensor<31x8xf32>
// CHECK: mf.all_gather %[[PART]] over ["dp_1", "mp"] dim 1 {{.*}}-> tensor<31x32xf32>
= mf.model @columns attributes {
= mf.param @layers.0.w : tensor<31x32xf32> init <normal, value = 0.02> layout <[[], []], reduced = [dp_0, dp_1, mp]> {storage_dim = 1 : i64, mf.sharing = {axes = ["dp_1", "mp"], gathers_again = true, must_divide = false, divides_gradients = false}}
- ...
- mf.return
+ // expected-warning@+1 {{'layers.0.v' is not sharded: its second dimension, 30, does not divide by 4}}
+ mf.param @layers.0.v : tensor<32x30xf32> init <normal, value = 0.02> layout <[[], []], reduced = [dp_0, dp_1, mp]> {storage_dim = 1 : i64, mf.sharing = {axes = ["dp_1", "mp"], gathers_again = true, must_divide = false, divides_gradients = false}}
+ mf.layer @layers.0 body (%x: tensor<8x32xf32>) -> tensor<8x31xf32> {
+ %w = mf.get_param @layers.0.w : tensor<31x32xf32>
+ %v = mf.get_param @layers.0.v : tensor<32x30xf32>
+ %h = mf.matmul %x, %v {name = "w0.matmul"} : (tensor<8x32xf32>, tensor<32x30xf32>) -> tensor<8x30xf32>
+ %y = mf.matmul %x, %w {name = "w1.matmul", transpose_b = true} : (tensor<8x32xf32>, tensor<31x32xf32>) -> tensor<8x31xf32>
+ mf.return %y : tensor<8x31xf32>
