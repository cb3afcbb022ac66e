// RUN: %roundtrip --pass-pipeline='builtin.module(mf.model(mf-localize))' %s | FileCheck %s

#rows = #mf.layout<[[], [cp], []]>
#partial = #mf.layout<[[], [cp], []], partial = [mp]>
module attributes {mf.mesh = #mf.mesh<pp = 1, cp = 2, mp = 2>} {
// CHECK: mf.param @first.mp.8 : tensor<2xi32> init <coordinate, value = 8.000000e+00> layout <{{\[\[mp\]\]}}> {frozen}
mf.model @m attributes {micro_batch_size = 2 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  // CHECK: mf.param @table : tensor<16x8xf32> init <ones> layout <{{\[\[mp\], \[\]\]}}, reduced = [cp]> {cuts = {{\[\["mp"\], \[\]\]}}}
  mf.param @table : tensor<16x8xf32> init <ones> {cuts = [["mp"], []]}
  // CHECK: mf.layer @embedding embedding (%[[T:.*]]: tensor<2x2xi32>) -> tensor<2x2x4xf32>
  mf.layer @embedding embedding (%t: tensor<2x4xi32, #mf.layout<[[], [cp]]>>) -> tensor<2x4x4xf32, #rows> {
    // CHECK: %[[TABLE:.*]] = mf.get_param @table : tensor<8x8xf32>
    %w = mf.get_param @table : tensor<16x8xf32, #mf.layout<[[mp], []], reduced = [cp]>>
    // CHECK: %[[FIRST:.*]] = mf.get_param @first.mp.8 : tensor<1xi32>
    // CHECK: mf.embedding %[[TABLE]], %[[T]], %[[FIRST]] {vocab_axes = ["mp"]} : (tensor<8x8xf32>, tensor<2x2xi32>, tensor<1xi32>) -> tensor<2x2x8xf32>
    %p = mf.embedding %w, %t : (tensor<16x8xf32, #mf.layout<[[mp], []], reduced = [cp]>>, tensor<2x4xi32, #mf.layout<[[], [cp]]>>) -> tensor<2x4x8xf32, #partial>
    // CHECK: mf.all_reduce %{{.*}} over ["mp"] : tensor<2x2x8xf32> -> tensor<2x2x8xf32>
    %x = mf.all_reduce %p over ["mp"] : tensor<2x4x8xf32, #partial> -> tensor<2x4x8xf32, #rows>
    // CHECK: mf.slice %{{.*}} {sizes = array<i64: 2, 2, 4>, starts = array<i64: 0, 0, 4>} : (tensor<2x2x8xf32>) -> tensor<2x2x4xf32>
    %y = mf.slice %x {starts = array<i64: 0, 0, 4>, sizes = array<i64: 2, 4, 4>} : (tensor<2x4x8xf32, #rows>) -> tensor<2x4x4xf32, #rows>
    mf.return %y : tensor<2x4x4xf32, #rows>
  }
}
}
