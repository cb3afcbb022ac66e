// RUN: %roundtrip --pass-pipeline='builtin.module(mf.model(mf-propagate-layouts))' -split-input-file %s | FileCheck %s
// RUN: %roundtrip --pass-pipeline='builtin.module(mf.model(mf-propagate-layouts{print-plan=true}))' -split-input-file %s -o %t 2>&1 | FileCheck %s --check-prefix=PLAN

module attributes {mf.mesh = #mf.mesh<pp = 1, dp = 2, mp = 2>} {
// PLAN: parameters
// PLAN-NEXT: norm: {{\[\[\]\]}} reduced [dp]
// PLAN-NEXT: up: {{\[\[mp\], \[\]\]}} reduced [dp]
// PLAN-NEXT: down: {{\[\[\], \[mp\]\]}} reduced [dp]
// PLAN-NEXT: odd: {{\[\[\], \[\]\]}} reduced [dp]
// PLAN-NEXT: layer
// PLAN-NEXT: argument 0: {{\[\[\], \[\], \[\]\]}}
// PLAN-NEXT: reshard layer: {{\[\[\], \[\], \[\]\] -> \[\[dp\], \[\], \[\]\]}}
// PLAN-NEXT: reshard up: {{\[\[dp\], \[\], \[\]\] -> \[\[dp\], \[\], \[\]\]}} reduced [mp]
// PLAN-NEXT: reshard down: {{\[\[dp\], \[\], \[\]\]}} partial [mp] -> {{\[\[dp\], \[\], \[\]\]}}
// PLAN-NEXT: result: {{\[\[dp\], \[\], \[\]\]}}
mf.model @columns_and_rows attributes {micro_batch_size = 2 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  mf.param @norm : tensor<8xf32> init <ones>
  mf.param @up : tensor<12x8xf32> init <ones> {cuts = [["mp"], []]}
  mf.param @down : tensor<8x12xf32> init <ones> {cuts = [[], ["mp"]]}
  mf.param @odd : tensor<3x8xf32> init <ones> {cuts = [["mp"], []], may_stay_whole}
  mf.layer @layer body (%x: tensor<2x4x8xf32>) -> tensor<2x4x8xf32> {
    %gamma = mf.get_param @norm : tensor<8xf32>
    // CHECK: mf.rms_norm {{.*}}: (tensor<2x4x8xf32, #mf.layout<{{\[\[dp\], \[\], \[\]\]}}>>, tensor<8xf32, #mf.layout<{{\[\[\]\]}}, reduced = [dp]>>)
    %n, %rstd = mf.rms_norm %x, %gamma {epsilon = 1.0e-5 : f64, name = "norm"} : (tensor<2x4x8xf32>, tensor<8xf32>) -> (tensor<2x4x8xf32>, tensor<2x4xf32>)
    %up = mf.get_param @up : tensor<12x8xf32>
    %odd = mf.get_param @odd : tensor<3x8xf32>
    // One view for both readers.
    // CHECK: mf.reshard {{.*}} -> tensor<2x4x8xf32, #mf.layout<{{\[\[dp\], \[\], \[\]\]}}, reduced = [mp]>>
    // CHECK-NOT: mf.reshard
    // CHECK: mf.matmul {{.*}} -> tensor<2x4x12xf32, #mf.layout<{{\[\[dp\], \[\], \[mp\]\]}}>>
    %h = mf.matmul %n, %up {transpose_b = true, name = "up"} : (tensor<2x4x8xf32>, tensor<12x8xf32>) -> tensor<2x4x12xf32>
    %g = mf.matmul %n, %up {transpose_b = true, name = "gate"} : (tensor<2x4x8xf32>, tensor<12x8xf32>) -> tensor<2x4x12xf32>
    %none = mf.matmul %n, %odd {transpose_b = true, name = "odd"} : (tensor<2x4x8xf32>, tensor<3x8xf32>) -> tensor<2x4x3xf32>
    %a = mf.silu %g {name = "silu"} : (tensor<2x4x12xf32>) -> tensor<2x4x12xf32>
    %p = mf.mul %a, %h {name = "mul"} : (tensor<2x4x12xf32>, tensor<2x4x12xf32>) -> tensor<2x4x12xf32>
    %down = mf.get_param @down : tensor<8x12xf32>
    // CHECK: %[[SUM:.*]] = mf.matmul {{.*}} -> tensor<2x4x8xf32, #mf.layout<{{\[\[dp\], \[\], \[\]\]}}, partial = [mp]>>
    // CHECK: mf.reshard %[[SUM]] {name = "down"}
    %d = mf.matmul %p, %down {transpose_b = true, name = "down"} : (tensor<2x4x12xf32>, tensor<8x12xf32>) -> tensor<2x4x8xf32>
    %y = mf.add %x, %d {name = "add"} : (tensor<2x4x8xf32>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
    mf.return %y : tensor<2x4x8xf32>
  }
}
}

// -----

// Layers hand on several values, each cut like the stream, and a loss.
// PLAN: layer
// PLAN-NEXT: argument 0: {{\[\[\], \[\], \[\]\]}}
// PLAN-NEXT: argument 1: {{\[\[\], \[\], \[\]\]}}
// PLAN-NEXT: reshard layer: {{\[\[\], \[\], \[\]\] -> \[\[dp\], \[\], \[\]\]}}
// PLAN-NEXT: reshard layer: {{\[\[\], \[\], \[\]\] -> \[\[dp\], \[\], \[\]\]}}
// PLAN-NEXT: reshard loss: [] partial [dp] -> []
// PLAN-NEXT: result: {{\[\[dp\], \[\], \[\]\]}}
// PLAN-NEXT: result: {{\[\[dp\], \[\], \[\]\]}}
// PLAN-NEXT: result: {{\[\]}}
// PLAN-NEXT: next
// PLAN-NEXT: argument 0: {{\[\[dp\], \[\], \[\]\]}}
// PLAN-NEXT: argument 1: {{\[\[dp\], \[\], \[\]\]}}
// PLAN-NEXT: result: {{\[\[dp\], \[\], \[\]\]}}
module attributes {mf.mesh = #mf.mesh<pp = 1, dp = 2>} {
mf.model @several attributes {micro_batch_size = 2 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  // CHECK-LABEL: mf.model @several
  // CHECK: mf.layer @layer
  // CHECK-SAME: -> (tensor<2x2x8xf32, #mf.layout<{{\[\[dp\], \[\], \[\]\]}}>>, tensor<2x2x8xf32, #mf.layout<{{\[\[dp\], \[\], \[\]\]}}>>, tensor<f32, #mf.layout<[]>>)
  mf.layer @layer body (%x: tensor<2x2x8xf32>, %y: tensor<2x2x8xf32>) -> (tensor<2x2x8xf32>, tensor<2x2x8xf32>, tensor<f32>) {
    %parts:2 = mf.split %y {axis = 2 : i64, name = "split"} : (tensor<2x2x8xf32>) -> (tensor<2x2x4xf32>, tensor<2x2x4xf32>)
    %z = mf.concat %parts#1, %parts#0 {axis = 2 : i64, name = "concat"} : (tensor<2x2x4xf32>, tensor<2x2x4xf32>) -> tensor<2x2x8xf32>
    %rows = mf.softmax %x {name = "rows"} : (tensor<2x2x8xf32>) -> tensor<2x2x8xf32>
    %loss = mf.reduce_sum %rows {axes = array<i64: 0, 1, 2>, name = "loss"} : (tensor<2x2x8xf32>) -> tensor<f32>
    mf.return %rows, %z, %loss : tensor<2x2x8xf32>, tensor<2x2x8xf32>, tensor<f32>
  }
  mf.layer @next body (%x: tensor<2x2x8xf32>, %y: tensor<2x2x8xf32>) -> tensor<2x2x8xf32> {
    %z = mf.add %x, %y {name = "add"} : (tensor<2x2x8xf32>, tensor<2x2x8xf32>) -> tensor<2x2x8xf32>
    mf.return %z : tensor<2x2x8xf32>
  }
}
}

// -----

// All rows of queries may be cut where there are as many keys, but not the last rows of more keys.
module attributes {mf.mesh = #mf.mesh<pp = 1, mp = 2>} {
mf.model @last_rows attributes {micro_batch_size = 2 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  mf.param @cut : tensor<4x4xf32> init <ones> {cuts = [["mp"], []]}
  // CHECK: mf.layer @all
  mf.layer @all body (%q: tensor<1x1x4x4xf32>, %k: tensor<1x1x4x4xf32>) -> (tensor<1x1x4x4xf32>, tensor<1x1x4x4xf32>) {
    %rows = mf.get_param @cut : tensor<4x4xf32>
    %x = mf.mul %q, %rows {name = "mul"} : (tensor<1x1x4x4xf32>, tensor<4x4xf32>) -> tensor<1x1x4x4xf32>
    // CHECK: mf.flash_attention {{.*}} : (tensor<1x1x4x4xf32, #mf.layout<{{\[\[\], \[\], \[mp\], \[\]\]}}>>
    %m, %s, %y = mf.flash_attention %x, %k, %k {name = "attention", scale = 0.5} : (tensor<1x1x4x4xf32>, tensor<1x1x4x4xf32>, tensor<1x1x4x4xf32>) -> (tensor<1x1x4xf32>, tensor<1x1x4xf32>, tensor<1x1x4x4xf32>)
    mf.return %y, %k : tensor<1x1x4x4xf32>, tensor<1x1x4x4xf32>
  }
  // CHECK: mf.layer @last
  mf.layer @last body (%q: tensor<1x1x4x4xf32>, %k: tensor<1x1x4x4xf32>) -> tensor<1x1x4x4xf32> {
    %rows = mf.get_param @cut : tensor<4x4xf32>
    %x = mf.mul %q, %rows {name = "mul"} : (tensor<1x1x4x4xf32>, tensor<4x4xf32>) -> tensor<1x1x4x4xf32>
    %keys = mf.concat %k, %k {axis = 2 : i64, name = "concat"} : (tensor<1x1x4x4xf32>, tensor<1x1x4x4xf32>) -> tensor<1x1x8x4xf32>
    // CHECK: mf.flash_attention {{.*}} : (tensor<1x1x4x4xf32, #mf.layout<{{\[\[\], \[\], \[\], \[\]\]}}>>
    %m, %s, %y = mf.flash_attention %x, %keys, %keys {name = "attention", scale = 0.5} : (tensor<1x1x4x4xf32>, tensor<1x1x8x4xf32>, tensor<1x1x8x4xf32>) -> (tensor<1x1x4xf32>, tensor<1x1x4xf32>, tensor<1x1x4x4xf32>)
    mf.return %y : tensor<1x1x4x4xf32>
  }
}
}
