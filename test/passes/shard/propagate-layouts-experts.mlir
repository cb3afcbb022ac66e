// Experts on several ranks: what their weights' cuts make of tokens, with a capacity and without.
// RUN: %variants %S/../Inputs/training.mlir %s | %roundtrip --pass-pipeline='builtin.module(mf.model(mf-propagate-layouts{print-plan=true}))' -split-input-file -o %t 2>&1 | FileCheck %s --check-prefix=PLAN
// RUN: %variants %S/../Inputs/training.mlir %s | %roundtrip --pass-pipeline='builtin.module(mf.model(mf-propagate-layouts,mf-lower-reshards))' -split-input-file | FileCheck %s
// RUN: %variants %S/../Inputs/training.mlir %s | %roundtrip --pass-pipeline='builtin.module(mf.model(mf-propagate-layouts,mf-lower-reshards,mf-localize))' -split-input-file --remarks-filter=shard -o %t 2>&1 | FileCheck %s --check-prefix=REMARK

// A capacity, and experts that mp cuts: rows go to their experts' ranks first, and those of mp put theirs together there, so that each byte is
// sent by one of them. dp_1 is in the middle of the rows' axes, so it is a dimension of its own meanwhile. The way back is the same.
// PLAN:      w1: {{\[\[}}dp_1], [mp], []] reduced [dp_0]
// PLAN-NEXT: w2: {{\[\[}}dp_1], [], [mp]] reduced [dp_0]
// PLAN-NEXT: layers.0
// PLAN:      view w1.matmul: {{\[\[}}], [dp_0, dp_1, mp], []] -> {{\[\[}}], [dp_0, dp_1], [mp], []] of 4x4x4x8
// PLAN-NEXT: reshard w1.matmul: {{.*}} -> {{\[\[}}dp_1], [dp_0], [mp], []]
// PLAN-NEXT: reshard w1.matmul: {{.*}} -> {{\[\[}}dp_1], [dp_0], [], []] reduced [mp]
// PLAN-NEXT: view w1.matmul: {{.*}} -> {{\[\[}}dp_1], [dp_0], []] reduced [mp] of 4x16x8
// PLAN-NEXT: view w2.matmul: {{\[\[}}dp_1], [dp_0], []] partial [mp] -> {{\[\[}}dp_1], [dp_0], [], []] partial [mp] of 4x4x4x8
// PLAN-NEXT: reshard w2.matmul: {{.*}} -> {{\[\[}}dp_1], [dp_0], [mp], []]
// PLAN-NEXT: reshard w2.matmul: {{.*}} -> {{\[\[}}], [dp_0, dp_1], [mp], []]
// PLAN-NEXT: view w2.matmul: {{.*}} -> {{\[\[}}], [dp_0, dp_1, mp], []] of 4x16x8
// PLAN-NEXT: result: {{\[\[}}dp_0, dp_1], [mp], []]
// CHECK-LABEL: mf.model @capacity
// CHECK: mf.all_to_all {{.*}}over ["dp_1"]{{.*}}name = "w1.matmul"
// CHECK: mf.all_gather {{.*}}over ["mp"]{{.*}}name = "w1.matmul"
// CHECK: mf.reduce_scatter {{.*}}over ["mp"]{{.*}}name = "w2.matmul"
// CHECK: mf.all_to_all {{.*}}over ["dp_1"]{{.*}}name = "w2.matmul"
// CHECK-NOT: mf.all_
// CHECK: mf.return
// What a rank holds of 4x16x8 elements: 1/8, and where mp is put together 1/4.
// REMARK:      Remark="w1.matmul becomes all_to_all", bytes=256
// REMARK:      Remark="w1.matmul becomes all_gather", bytes=512
// REMARK:      Remark="w2.matmul becomes reduce_scatter", bytes=512
// REMARK:      Remark="w2.matmul becomes all_to_all", bytes=256
module attributes {mf.mesh = #mf.mesh<pp = 1, dp_0 = 2, dp_1 = 2, mp = 2>} {
mf.model @capacity attributes {
    micro_batch_size = 4 : i64, sequence_length = 16 : i64, vocab_size = 16 : i64,
    training = #mf.training<parallel = <stages = 1, interleave = 1, micro_batches = 1, sequence_parallel = true>,
      optimizer = #adamw, lr_schedule = #constant, loss_scale = 1.0, max_device_memory = 0>} {
  mf.param @w1 : tensor<4x6x8xf32> init <normal, value = 0.02> {cuts = [["dp_1"], ["mp"], []]}
  mf.param @w2 : tensor<4x8x6xf32> init <normal, value = 0.02> {cuts = [["dp_1"], [], ["mp"]]}
  mf.layer @layers.0 body (%x: tensor<4x16x8xf32>) -> tensor<4x16x8xf32> {
    %r = mf.reshape %x {name = "rows"} : (tensor<4x16x8xf32>) -> tensor<8x8x8xf32>
    %s = mf.reshape %r {name = "places"} : (tensor<8x8x8xf32>) -> tensor<8x4x2x8xf32>
    %t = mf.transpose %s {perm = array<i64: 1, 0, 2, 3>, name = "transpose_mp1"} : (tensor<8x4x2x8xf32>) -> tensor<4x8x2x8xf32>
    %e = mf.reshape %t {name = "experts"} : (tensor<4x8x2x8xf32>) -> tensor<4x16x8xf32>
    %w1 = mf.get_param @w1 : tensor<4x6x8xf32>
    %h = mf.matmul %e, %w1 {transpose_b = true, name = "w1.matmul"} : (tensor<4x16x8xf32>, tensor<4x6x8xf32>) -> tensor<4x16x6xf32>
    %a = mf.silu %h {name = "silu"} : (tensor<4x16x6xf32>) -> tensor<4x16x6xf32>
    %w2 = mf.get_param @w2 : tensor<4x8x6xf32>
    %d = mf.matmul %a, %w2 {transpose_b = true, name = "w2.matmul"} : (tensor<4x16x6xf32>, tensor<4x8x6xf32>) -> tensor<4x16x8xf32>
    %b = mf.reshape %d {name = "back"} : (tensor<4x16x8xf32>) -> tensor<4x8x2x8xf32>
    %c = mf.transpose %b {perm = array<i64: 1, 0, 2, 3>, name = "transpose_mp2"} : (tensor<4x8x2x8xf32>) -> tensor<8x4x2x8xf32>
    %y = mf.reshape %c {name = "out"} : (tensor<8x4x2x8xf32>) -> tensor<4x16x8xf32>
    %z = mf.add %x, %y {name = "add"} : (tensor<4x16x8xf32>, tensor<4x16x8xf32>) -> tensor<4x16x8xf32>
    mf.return %z : tensor<4x16x8xf32>
  }
}
}

// Without one, operators exchange what they need themselves, and counts are transposed between ranks.
// PLAN:      w: {{\[\[}}dp_1, mp], [], []] reduced [dp_0]
// PLAN-NEXT: router: {{\[\[}}], []] reduced [dp_0, dp_1, mp]
// PLAN-NEXT: layers.0
// PLAN:      reshard exchange: {{\[\[}}dp_0], [], [dp_1, mp], []] -> {{\[\[}}dp_0], [dp_1, mp], [], []]
// Sums of counts read those that have been exchanged.
// PLAN-NEXT: result
// CHECK-LABEL: mf.model @dropless
// CHECK: mf.all_to_all {{.*}}over ["dp_1", "mp"]
// CHECK: mf.exchange_tokens
// CHECK-SAME: tensor<2x4x16x8xf32, #mf.layout<{{\[\[}}dp_0], [dp_1, mp], [], []]>>
// CHECK: mf.expert_matmul
// CHECK-NOT: mf.all_
// CHECK: mf.return
// REMARK: Remark="'exchange' has room for 2.00 times the mean of rows", bytes=512, mean=8, rows=16
// REMARK: Remark="'exchange_back' has room for 1.00 times the mean of rows", bytes=256, mean=8, rows=8
module attributes {mf.mesh = #mf.mesh<pp = 1, dp_0 = 2, dp_1 = 2, mp = 2>} {
mf.model @dropless attributes {
    micro_batch_size = 4 : i64, sequence_length = 16 : i64, vocab_size = 16 : i64,
    training = #mf.training<parallel = <stages = 1, interleave = 1, micro_batches = 1, sequence_parallel = true>,
      optimizer = #adamw, lr_schedule = #constant, loss_scale = 1.0, max_device_memory = 0>} {
  mf.param @w : tensor<8x8x8xf32> init <normal, value = 0.02> {cuts = [["dp_1", "mp"], [], []]}
  mf.param @router : tensor<8x8xf32> init <normal, value = 0.02>
  mf.layer @layers.0 body (%x: tensor<4x16x8xf32>) -> tensor<4x16x8xf32> {
    %r = mf.reshape %x {name = "rows"} : (tensor<4x16x8xf32>) -> tensor<8x8x8xf32>
    %router = mf.get_param @router : tensor<8x8xf32>
    %l = mf.matmul %r, %router {transpose_b = true, name = "router"} : (tensor<8x8x8xf32>, tensor<8x8xf32>) -> tensor<8x8x8xf32>
    %g, %i = mf.top_k %l {k = 1 : i64, name = "topk"} : (tensor<8x8x8xf32>) -> (tensor<8x8x1xf32>, tensor<8x8x1xi32>)
    %f = mf.reshape %i {name = "flat"} : (tensor<8x8x1xi32>) -> tensor<8x8xi32>
    %o = mf.one_hot %f {name = "onehot"} : (tensor<8x8xi32>) -> tensor<8x8x8xf32>
    %c = mf.reduce_sum %o {axes = array<i64: 1>, name = "counts"} : (tensor<8x8x8xf32>) -> tensor<8x8xf32>
    %send = mf.reshape %c {name = "send"} : (tensor<8x8xf32>) -> tensor<2x4x4x2xf32>
    %receive = mf.transpose %send {perm = array<i64: 0, 2, 1, 3>, name = "receive"} : (tensor<2x4x4x2xf32>) -> tensor<2x4x4x2xf32>
    %t = mf.reshape %r {name = "groups"} : (tensor<8x8x8xf32>) -> tensor<2x4x8x8xf32>
    %there = mf.exchange_tokens %t, %send, %receive {name = "exchange"} : (tensor<2x4x8x8xf32>, tensor<2x4x4x2xf32>, tensor<2x4x4x2xf32>) -> tensor<2x4x16x8xf32>
    %own = mf.reduce_sum %receive {axes = array<i64: 2>, name = "own"} : (tensor<2x4x4x2xf32>) -> tensor<2x4x2xf32>
    %w = mf.get_param @w : tensor<8x8x8xf32>
    %v = mf.reshape %w {name = "parts"} : (tensor<8x8x8xf32>) -> tensor<4x2x8x8xf32>
    %h = mf.expert_matmul %there, %v, %own {name = "matmul"} : (tensor<2x4x16x8xf32>, tensor<4x2x8x8xf32>, tensor<2x4x2xf32>) -> tensor<2x4x16x8xf32>
    %back = mf.exchange_tokens %h, %receive, %send {name = "exchange_back"} : (tensor<2x4x16x8xf32>, tensor<2x4x4x2xf32>, tensor<2x4x4x2xf32>) -> tensor<2x4x8x8xf32>
    %y = mf.reshape %back {name = "out"} : (tensor<2x4x8x8xf32>) -> tensor<4x16x8xf32>
    %z = mf.add %x, %y {name = "add"} : (tensor<4x16x8xf32>, tensor<4x16x8xf32>) -> tensor<4x16x8xf32>
    mf.return %z : tensor<4x16x8xf32>
  }
}
}
