// A rank's part of a mask begins where tables say, in each dimension that is cut; a piece of the sequence at a number.
// RUN: %roundtrip --pass-pipeline='builtin.module(mf.model(mf-localize))' %s | FileCheck %s

#rows = #mf.layout<[[dp], [cp, mp], []]>
module attributes {mf.mesh = #mf.mesh<pp = 1, dp = 2, cp = 2, mp = 2>} {
// CHECK-DAG: mf.param @first.dp.2 : tensor<2xi32> init <coordinate, value = 2.000000e+00> layout <{{\[\[dp\]\]}}> {frozen}
// CHECK-DAG: mf.param @first.cp.mp.3 : tensor<4xi32> init <coordinate, value = 3.000000e+00> layout <{{\[\[cp, mp\]\]}}> {frozen}
mf.model @m attributes {micro_batch_size = 4 : i64, sequence_length = 24 : i64, vocab_size = 16 : i64} {
  // CHECK: mf.layer @layer body (%[[X:.*]]: tensor<2x3x8xf32>, %[[D:.*]]: tensor<3xi64>) -> tensor<2x3x8xf32>
  mf.layer @layer body (%x: tensor<4x12x8xf32, #rows>, %d: tensor<3xi64, #mf.layout<[[]]>>) -> tensor<4x12x8xf32, #rows> {
    // CHECK-DAG: %[[ROW:.*]] = mf.get_param @first.dp.2 : tensor<1xi32>
    // CHECK-DAG: %[[PLACE:.*]] = mf.get_param @first.cp.mp.3 : tensor<1xi32>
    // CHECK: %[[MASK:.*]] = mf.dropout_mask %[[X]], %[[D]], %[[ROW]], %[[PLACE]] {cut_dims = array<i64: 0, 1>, rate = 1.000000e-01 : f64, shape = array<i64: 4, 24, 8>, source = "layer.dropout", starts = array<i64: 0, 12, 0>} : (tensor<2x3x8xf32>, tensor<3xi64>, tensor<1xi32>, tensor<1xi32>) -> tensor<2x3x8xi1>
    %mask = mf.dropout_mask %x, %d {cut_dims = array<i64>, rate = 1.0e-01 : f64, shape = array<i64: 4, 24, 8>, source = "layer.dropout", starts = array<i64: 0, 12, 0>}
        : (tensor<4x12x8xf32, #rows>, tensor<3xi64, #mf.layout<[[]]>>) -> tensor<4x12x8xi1, #rows>
    // CHECK: mf.dropout %[[X]], %[[MASK]] {rate = 1.000000e-01 : f64} : (tensor<2x3x8xf32>, tensor<2x3x8xi1>) -> tensor<2x3x8xf32>
    %y = mf.dropout %x, %mask {rate = 1.0e-01 : f64} : (tensor<4x12x8xf32, #rows>, tensor<4x12x8xi1, #rows>) -> tensor<4x12x8xf32, #rows>
    mf.return %y : tensor<4x12x8xf32, #rows>
  }
}
}
