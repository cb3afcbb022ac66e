// A marked collective runs again in backward, on all ranks of its group alike; an unmarked one is where a clone starts.
// RUN: %roundtrip --pass-pipeline='builtin.module(mf.model(mf-build-backward,mf.chunk(mf-insert-recompute)))' %s | FileCheck %s
// RUN: %roundtrip --pass-pipeline='builtin.module(mf.model(mf-build-backward,mf.chunk(mf-insert-recompute{print-plan=true})))' %s -o /dev/null 2>&1 | FileCheck %s --check-prefix=PLAN

module attributes {mf.mesh = #mf.mesh<pp = 1, mp = 2>} {
// CHECK-LABEL: mf.model @gathered_again
// CHECK: mf.all_gather %[[X:.*]] over ["mp"] {name = "layers.0.gather"} : tensor<4x4xf32> -> tensor<8x4xf32>
// CHECK: %[[DY:.*]] = mf.cut
// CHECK-NEXT: %[[BARRIER:.*]] = mf.barrier %[[X]], %[[DY]]
// CHECK-NEXT: %[[AGAIN:.*]] = mf.all_gather %[[BARRIER]] over ["mp"] {name = "layers.0.gather"} : tensor<4x4xf32> -> tensor<8x4xf32>
// CHECK-NEXT: mf.silu_grad %[[DY]], %[[AGAIN]]
mf.model @gathered_again attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  mf.layer @layers.0 body (%x: tensor<4x4xf32>) -> tensor<8x4xf32> attributes {placement = #mf.placement<stage = 0, chunk = 0>} {
    %all = mf.all_gather %x over ["mp"] {name = "gather", recompute = #mf.recompute<select>} : tensor<4x4xf32> -> tensor<8x4xf32>
    %y = mf.silu %all {name = "silu"} : (tensor<8x4xf32>) -> tensor<8x4xf32>
    mf.return %y : tensor<8x4xf32>
  }
}

// Ranks that have the same value keep a part each, and backward of the layer begins with one gather.
// CHECK-LABEL: mf.model @kept_in_parts
// CHECK: mf.chunk @chunk0 (%[[X:.*]]: tensor<4x4xf32>)
// CHECK-NEXT: %[[VIEW:.*]] = mf.keep_part %[[X]] over ["mp"] {name = "layers.0.input"} : tensor<4x4xf32>
// CHECK-NEXT: %[[PART:.*]] = mf.own_part %[[X]] over ["mp"] {name = "layers.0.input"} : tensor<4x4xf32> -> tensor<2x4xf32>
// CHECK-NEXT: mf.silu %[[VIEW]]
// CHECK: %[[DY:.*]] = mf.cut
// CHECK-NEXT: %[[BARRIER:.*]] = mf.barrier %[[PART]], %[[DY]] {name = "layers.0.input"}
// CHECK-NEXT: %[[WHOLE:.*]] = mf.all_gather %[[BARRIER]] over ["mp"] replicated {name = "layers.0.input"} : tensor<2x4xf32> -> tensor<4x4xf32>
// CHECK-NEXT: mf.silu %[[WHOLE]]
// CHECK-NOT: mf.all_gather
// PLAN: recompute plan: 2 operators run again, 128 bytes not kept
// PLAN-NEXT: keep 32 bytes of layers.0.input
// PLAN-NEXT: clone layers.0.silu
mf.model @kept_in_parts attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  mf.layer @layers.0 body (%x: tensor<4x4xf32>) -> tensor<4x4xf32> attributes {placement = #mf.placement<stage = 0, chunk = 0>} {
    %k = mf.keep_part %x over ["mp"] {name = "input", recompute = #mf.recompute<full>} : tensor<4x4xf32>
    %a = mf.silu %k {name = "silu", recompute = #mf.recompute<full>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %y = mf.mul %a, %a {name = "mul"} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    mf.return %y : tensor<4x4xf32>
  }
}

// Nothing is cut that backward does not need.
// CHECK-LABEL: mf.model @not_needed
// CHECK-NOT: mf.own_part
mf.model @not_needed attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  mf.layer @layers.0 body (%x: tensor<4x4xf32>) -> tensor<4x4xf32> attributes {placement = #mf.placement<stage = 0, chunk = 0>} {
    %k = mf.keep_part %x over ["mp"] {name = "input", recompute = #mf.recompute<full>} : tensor<4x4xf32>
    %y = mf.neg %k {name = "neg"} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    mf.return %y : tensor<4x4xf32>
  }
}

// CHECK-LABEL: mf.model @kept attributes
// CHECK: %[[ALL:.*]] = mf.all_gather
// CHECK: %[[DY:.*]] = mf.cut
// CHECK-NOT: mf.all_gather
// CHECK: %[[BARRIER:.*]] = mf.barrier %[[ALL]], %[[DY]] {name = "layers.0.gather"}
// CHECK-NEXT: %[[AGAIN:.*]] = mf.silu %[[BARRIER]] {name = "layers.0.silu"}
// CHECK-NEXT: mf.mul %[[DY]], %[[AGAIN]]
mf.model @kept attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  mf.layer @layers.0 body (%x: tensor<4x4xf32>) -> tensor<8x4xf32> attributes {placement = #mf.placement<stage = 0, chunk = 0>} {
    %all = mf.all_gather %x over ["mp"] {name = "gather"} : tensor<4x4xf32> -> tensor<8x4xf32>
    %a = mf.silu %all {name = "silu", recompute = #mf.recompute<select>} : (tensor<8x4xf32>) -> tensor<8x4xf32>
    %y = mf.mul %a, %a {name = "mul"} : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
    mf.return %y : tensor<8x4xf32>
  }
}
}
