// How collectives differentiate: an all-gather becomes a reduce-scatter and the other way round, an all-reduce nothing.
// RUN: %roundtrip --pass-pipeline='builtin.module(mf.model(mf-build-backward))' %s | FileCheck %s

module attributes {mf.mesh = #mf.mesh<pp = 2, dp = 2, mp = 2>} {
// CHECK-LABEL: mf.model @gradients_of_collectives
// CHECK: mf.chunk @chunk0 (%[[X:.*]]: tensor<8x4xf32>)
// CHECK-NEXT: %[[PART:.*]] = mf.reduce_scatter %[[X]] over ["mp"] {name = "layer.scatter"} : tensor<8x4xf32> -> tensor<4x4xf32>
// CHECK-NEXT: %[[A:.*]] = mf.silu %[[PART]] {name = "layer.silu"}
// CHECK-NEXT: %[[ALL:.*]] = mf.all_gather %[[A]] over ["dp", "mp"] {name = "layer.gather"} : tensor<4x4xf32> -> tensor<16x4xf32>
// CHECK-NEXT: %[[SUM:.*]] = mf.all_reduce %[[ALL]] over ["mp"] {name = "layer.reduce"} : tensor<16x4xf32> -> tensor<16x4xf32>
// CHECK-NEXT: %[[Y:.*]] = mf.neg %[[SUM]]
// CHECK-NEXT: %[[DY:.*]] = mf.cut %[[Y]]
// CHECK-NEXT: %[[DSUM:.*]] = mf.neg %[[DY]]
// CHECK-NEXT: %[[DA:.*]] = mf.reduce_scatter %[[DSUM]] over ["dp", "mp"] {name = "layer.gather.grad"} : tensor<16x4xf32> -> tensor<4x4xf32>
// CHECK-NEXT: %[[DPART:.*]] = mf.silu_grad %[[DA]], %[[PART]] {name = "layer.silu.grad"}
// CHECK-NEXT: %[[DX:.*]] = mf.all_gather %[[DPART]] over ["mp"] {name = "layer.scatter.grad"} : tensor<4x4xf32> -> tensor<8x4xf32>
// CHECK-NEXT: mf.return %[[DX]]
mf.model @gradients_of_collectives attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  mf.layer @layer body (%x: tensor<8x4xf32>) -> tensor<16x4xf32>
      attributes {placement = #mf.placement<stage = 1, chunk = 0>} {
    %part = mf.reduce_scatter %x over ["mp"] {name = "scatter"} : tensor<8x4xf32> -> tensor<4x4xf32>
    %a = mf.silu %part {name = "silu"} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %all = mf.all_gather %a over ["dp", "mp"] {name = "gather"} : tensor<4x4xf32> -> tensor<16x4xf32>
    %sum = mf.all_reduce %all over ["mp"] {name = "reduce"} : tensor<16x4xf32> -> tensor<16x4xf32>
    %y = mf.neg %sum {name = "neg"} : (tensor<16x4xf32>) -> tensor<16x4xf32>
    mf.return %y : tensor<16x4xf32>
  }
}

// The others: what is kept in parts has the gradient of the whole, mirror and all-reduce, own part and all-gather to replicated, all-to-all the other way round.
// CHECK-LABEL: mf.model @gradients_of_the_others
// CHECK: %[[DY:.*]] = mf.cut
// CHECK-NEXT: %[[D3:.*]] = mf.all_to_all %[[DY]] over ["mp"] split 1 concat 0 {name = "layer.exchange.grad"} : tensor<4x8xf32> -> tensor<8x4xf32>
// CHECK-NEXT: %[[D2:.*]] = mf.all_gather %[[D3]] over ["mp"] dim 1 replicated {name = "layer.own.grad"} : tensor<8x4xf32> -> tensor<8x8xf32>
// CHECK-NEXT: %[[D1:.*]] = mf.all_reduce %[[D2]] over ["dp"] {name = "layer.mirror.grad"} : tensor<8x8xf32> -> tensor<8x8xf32>
// CHECK-NEXT: %[[D0:.*]] = mf.own_part %[[D1]] over ["mp"] dim 1 {name = "layer.gather.grad"} : tensor<8x8xf32> -> tensor<8x4xf32>
// CHECK-NEXT: mf.return %[[D0]]
mf.model @gradients_of_the_others attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  mf.layer @layer body (%x: tensor<8x4xf32>) -> tensor<4x8xf32>
      attributes {placement = #mf.placement<stage = 0, chunk = 0>} {
    %all = mf.all_gather %x over ["mp"] dim 1 replicated {name = "gather"} : tensor<8x4xf32> -> tensor<8x8xf32>
    %kept = mf.keep_part %all over ["dp"] {name = "kept"} : tensor<8x8xf32>
    %same = mf.mirror %kept over ["dp"] {name = "mirror"} : tensor<8x8xf32> -> tensor<8x8xf32>
    %own = mf.own_part %same over ["mp"] dim 1 {name = "own"} : tensor<8x8xf32> -> tensor<8x4xf32>
    %y = mf.all_to_all %own over ["mp"] split 0 concat 1 {name = "exchange"} : tensor<8x4xf32> -> tensor<4x8xf32>
    mf.return %y : tensor<4x8xf32>
  }
}

// A weight that is read in bf16 has a gradient that is summed in fp32, and is in it from there on.
// CHECK-LABEL: mf.model @wide_gradients
// CHECK: %[[WIDE:.*]] = mf.cast %{{.*}} {name = "layer.gather.grad"} : (tensor<8x8xbf16>) -> tensor<8x8xf32>
// CHECK-NEXT: %[[PART:.*]] = mf.reduce_scatter %[[WIDE]] over ["mp"] {name = "layer.gather.grad"} : tensor<8x8xf32> -> tensor<4x8xf32>
// CHECK-NEXT: %[[SUM:.*]] = mf.all_reduce %[[PART]] over ["dp"] {name = "layer.mirror.grad"} : tensor<4x8xf32> -> tensor<4x8xf32>
// CHECK-NEXT: mf.return %{{.*}}, %[[SUM]]
mf.model @wide_gradients attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  mf.param @w : tensor<4x8xf32> init <ones>
  mf.layer @layer body (%x: tensor<4x8xbf16>) -> tensor<4x8xbf16>
      attributes {placement = #mf.placement<stage = 1, chunk = 0>} {
    %w = mf.get_param @w : tensor<4x8xf32>
    %narrow = mf.cast %w {name = "cast"} : (tensor<4x8xf32>) -> tensor<4x8xbf16>
    %mirror = mf.mirror %narrow over ["dp"] {name = "mirror", wide_gradient} : tensor<4x8xbf16> -> tensor<4x8xbf16>
    %all = mf.all_gather %mirror over ["mp"] {name = "gather", wide_gradient} : tensor<4x8xbf16> -> tensor<8x8xbf16>
    %y = mf.matmul %x, %all {name = "matmul", transpose_b = true} : (tensor<4x8xbf16>, tensor<8x8xbf16>) -> tensor<4x8xbf16>
    mf.return %y : tensor<4x8xbf16>
  }
}

// What needs no gradient gathers none.
// CHECK-LABEL: mf.model @no_gradient_of_the_first_layers_input
// CHECK: mf.cut
// CHECK-NOT: mf.reduce_scatter
mf.model @no_gradient_of_the_first_layers_input attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  mf.param @table : tensor<4x4xf32> init <ones> {frozen}
  mf.param @w : tensor<8x4xf32> init <ones>
  mf.layer @layer embedding (%tokens: tensor<1x4xi32>) -> tensor<8x8xf32>
      attributes {placement = #mf.placement<stage = 0, chunk = 0>} {
    %table = mf.get_param @table : tensor<4x4xf32>
    %all = mf.all_gather %table over ["mp"] {name = "gather"} : tensor<4x4xf32> -> tensor<8x4xf32>
    %w = mf.get_param @w : tensor<8x4xf32>
    %y = mf.matmul %all, %w {name = "matmul", transpose_b = true} : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x8xf32>
    mf.return %y : tensor<8x8xf32>
  }
}
}
