// The result of a collective is swapped like any other.
// RUN: %roundtrip --pass-pipeline='builtin.module(mf.model(mf-build-backward,mf.chunk(mf-insert-swap)))' %s | FileCheck %s

module attributes {mf.mesh = #mf.mesh<pp = 1, mp = 2>} {
// CHECK-LABEL: mf.model @gathered
// CHECK: %[[ALL:.*]] = mf.all_gather %{{.*}} over ["mp"] {name = "layers.0.gather"} : tensor<4x4xf32> -> tensor<8x4xf32>
// CHECK-NEXT: %[[HOST:.*]] = mf.offload %[[ALL]] {distance = 1 : i64, name = "layers.0.gather"} : tensor<8x4xf32>
// CHECK-NEXT: mf.silu %[[ALL]]
// CHECK: mf.cut
// CHECK: %[[BACK:.*]] = mf.prefetch %[[HOST]] {distance = 1 : i64, name = "layers.0.gather"} : tensor<8x4xf32>
// CHECK-NEXT: mf.silu_grad %{{.*}}, %[[BACK]]
mf.model @gathered attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  mf.layer @layers.0 body (%x: tensor<4x4xf32>) -> tensor<8x4xf32> attributes {placement = #mf.placement<stage = 0, chunk = 0>} {
    %all = mf.all_gather %x over ["mp"] {name = "gather", swap = #mf.swap<distance = 1>} : tensor<4x4xf32> -> tensor<8x4xf32>
    %y = mf.silu %all {name = "silu"} : (tensor<8x4xf32>) -> tensor<8x4xf32>
    mf.return %y : tensor<8x4xf32>
  }
}
}
