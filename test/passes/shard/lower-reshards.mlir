// RUN: %roundtrip --pass-pipeline='builtin.module(mf.model(mf-lower-reshards))' %s | FileCheck %s

#stream = #mf.layout<[[], [mp], []]>
#whole = #mf.layout<[[], [], []]>
#reduced = #mf.layout<[[], [], []], reduced = [mp]>
#partial = #mf.layout<[[], [], []], partial = [mp]>
#last = #mf.layout<[[], [], [mp]]>
module attributes {mf.mesh = #mf.mesh<pp = 1, mp = 2>} {
// CHECK-LABEL: mf.layer @every_kind
mf.model @m attributes {micro_batch_size = 2 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  mf.param @w : tensor<8x8xf32> init <ones>
  mf.layer @every_kind body (%x: tensor<2x4x8xf32, #stream>) -> tensor<2x4x8xf32, #stream> {
    // CHECK: %[[A:.*]] = mf.all_gather %{{.*}} over ["mp"] dim 1 replicated {name = "a"}
    %a = mf.reshard %x {name = "a"} : tensor<2x4x8xf32, #stream> -> tensor<2x4x8xf32, #whole>
    // CHECK: mf.all_gather %{{.*}} over ["mp"] dim 1 {name = "b"}
    %b = mf.reshard %x {name = "b"} : tensor<2x4x8xf32, #stream> -> tensor<2x4x8xf32, #reduced>
    // CHECK: mf.mirror %[[A]] over ["mp"] {name = "c"}
    %c = mf.reshard %a {name = "c"} : tensor<2x4x8xf32, #whole> -> tensor<2x4x8xf32, #reduced>
    // CHECK: mf.all_to_all %{{.*}} over ["mp"] split 2 concat 1 {name = "d"}
    %d = mf.reshard %x {name = "d"} : tensor<2x4x8xf32, #stream> -> tensor<2x4x8xf32, #last>
    // CHECK: mf.own_part %[[A]] over ["mp"] dim 2 {name = "e"}
    %e = mf.reshard %a {name = "e"} : tensor<2x4x8xf32, #whole> -> tensor<2x4x8xf32, #last>
    %w = mf.get_param @w : tensor<8x8xf32, #mf.layout<[[], [mp]]>>
    // CHECK: %[[P:.*]] = mf.matmul
    %p = mf.matmul %e, %w {transpose_b = true} : (tensor<2x4x8xf32, #last>, tensor<8x8xf32, #mf.layout<[[], [mp]]>>) -> tensor<2x4x8xf32, #partial>
    // CHECK: mf.all_reduce %[[P]] over ["mp"] {name = "f"}
    %f = mf.reshard %p {name = "f"} : tensor<2x4x8xf32, #partial> -> tensor<2x4x8xf32, #whole>
    // A sum of partial sums is one.
    %s = mf.add %p, %p : (tensor<2x4x8xf32, #partial>, tensor<2x4x8xf32, #partial>) -> tensor<2x4x8xf32, #partial>
    // CHECK: mf.reduce_scatter %{{.*}} over ["mp"] dim 1 {name = "g"}
    %g = mf.reshard %s {name = "g"} : tensor<2x4x8xf32, #partial> -> tensor<2x4x8xf32, #stream>
    // CHECK-NOT: mf.reshard
    mf.return %g : tensor<2x4x8xf32, #stream>
  }
}

// Ranks exchange no integers, but each takes its own.
// CHECK-LABEL: mf.layer @integers
mf.model @labels attributes {micro_batch_size = 3 : i64, sequence_length = 2 : i64, vocab_size = 8 : i64} {
  mf.layer @integers head (%x: tensor<6x8xf32, #mf.layout<[[], []]>>, %labels: tensor<6xi32, #mf.layout<[[]]>>) -> tensor<f32, #mf.layout<[]>> {
    // CHECK: mf.own_part %{{.*}} over ["mp"] {name = "labels"} : tensor<6xi32, #mf.layout<{{\[\[\]\]}}>> -> tensor<6xi32, #mf.layout<{{\[\[}}mp]]>>
    %own = mf.reshard %labels {name = "labels"} : tensor<6xi32, #mf.layout<[[]]>> -> tensor<6xi32, #mf.layout<[[mp]]>>
    %loss, %logsumexp, %count = mf.cross_entropy %x, %labels {name = "loss"} : (tensor<6x8xf32, #mf.layout<[[], []]>>, tensor<6xi32, #mf.layout<[[]]>>) -> (tensor<f32, #mf.layout<[]>>, tensor<6xf32, #mf.layout<[[]]>>, tensor<f32, #mf.layout<[]>>)
    mf.return %loss : tensor<f32, #mf.layout<[]>>
  }
}
}
