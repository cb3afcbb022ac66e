// The result of a collective is swapped like any other.
// RUN: %roundtrip --pass-pipeline='builtin.module(mf.model(mf.chunk(mf-insert-swap)))' %s | FileCheck %s

module attributes {mf.mesh = #mf.mesh<pp = 1, mp = 2>} {
// CHECK-LABEL: mf.chunk @gathered
// CHECK: %[[ALL:.*]] = mf.all_gather %{{.*}} over ["mp"] {name = "gather"} : tensor<4x4xf32> -> tensor<8x4xf32>
// CHECK-NEXT: %[[HOST:.*]] = mf.offload %[[ALL]] {distance = 1 : i64, name = "gather"} : tensor<8x4xf32>
// CHECK-NEXT: mf.silu %[[ALL]]
// CHECK: mf.cut
// CHECK: %[[BACK:.*]] = mf.prefetch %[[HOST]] {distance = 1 : i64, name = "gather"} : tensor<8x4xf32>
// CHECK-NEXT: mf.silu_grad %{{.*}}, %[[BACK]]
mf.model @m attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  mf.chunk @gathered (%x: tensor<4x4xf32>) -> tensor<4x4xf32>
      attributes {placement = #mf.placement<stage = 0, chunk = 0>, inputs = [], input_indices = [], gradients = []} {
    %all = mf.all_gather %x over ["mp"] {name = "gather", swap = #mf.swap<distance = 1>} : tensor<4x4xf32> -> tensor<8x4xf32>
    %y = mf.silu %all {name = "silu"} : (tensor<8x4xf32>) -> tensor<8x4xf32>
    %dy = mf.cut %y : tensor<8x4xf32>
    %dall = mf.silu_grad %dy, %all {name = "silu.grad"} : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
    %dx = mf.reduce_scatter %dall over ["mp"] {name = "gather.grad"} : tensor<8x4xf32> -> tensor<4x4xf32>
    mf.return %dx : tensor<4x4xf32>
  }
}
}
