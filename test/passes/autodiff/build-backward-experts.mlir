// How the operators of routers and experts differentiate.
// RUN: %roundtrip --pass-pipeline='builtin.module(mf.model(mf-build-backward))' %s | FileCheck %s

// A repeated divisor gets the sum over what it was repeated over.
// CHECK-LABEL: mf.model @gradient_of_a_quotient_by_row_sums
// CHECK: mf.chunk @chunk0 (%[[X:.*]]: tensor<3x8xf32>)
// CHECK-NEXT: %[[V0:.*]] = mf.reduce_sum %[[X]] {axes = array<i64: 1>, name = "layer.sum"} : (tensor<3x8xf32>) -> tensor<3xf32>
// CHECK-NEXT: %[[V1:.*]] = mf.reshape %[[V0]] {name = "layer.reshape"} : (tensor<3xf32>) -> tensor<3x1xf32>
// CHECK-NEXT: %[[V2:.*]] = mf.add_scalar %[[V1]] {name = "layer.add_eps", value = 1.000000e-09 : f64} : (tensor<3x1xf32>) -> tensor<3x1xf32>
// CHECK-NEXT: %[[V3:.*]] = mf.div %[[X]], %[[V2]] {name = "layer.div"} : (tensor<3x8xf32>, tensor<3x1xf32>) -> tensor<3x8xf32>
// CHECK-NEXT: %[[V4:.*]] = mf.cut %[[V3]] : tensor<3x8xf32>
// CHECK-NEXT: %[[V5:.*]] = mf.div %[[V4]], %[[V2]] {name = "layer.div.grad"} : (tensor<3x8xf32>, tensor<3x1xf32>) -> tensor<3x8xf32>
// CHECK-NEXT: %[[V6:.*]] = mf.mul %[[V5]], %[[V3]] {name = "layer.div.grad"} : (tensor<3x8xf32>, tensor<3x8xf32>) -> tensor<3x8xf32>
// CHECK-NEXT: %[[V7:.*]] = mf.reduce_sum %[[V6]] {axes = array<i64: 1>, name = "layer.div.grad"} : (tensor<3x8xf32>) -> tensor<3xf32>
// CHECK-NEXT: %[[V8:.*]] = mf.reshape %[[V7]] {name = "layer.div.grad"} : (tensor<3xf32>) -> tensor<3x1xf32>
// CHECK-NEXT: %[[V9:.*]] = mf.neg %[[V8]] {name = "layer.div.grad"} : (tensor<3x1xf32>) -> tensor<3x1xf32>
// CHECK-NEXT: %[[V10:.*]] = mf.reshape %[[V9]] {name = "layer.reshape.grad"} : (tensor<3x1xf32>) -> tensor<3xf32>
// CHECK-NEXT: %[[V11:.*]] = mf.reshape %[[V10]] {name = "layer.sum.grad"} : (tensor<3xf32>) -> tensor<3x1xf32>
// CHECK-NEXT: %[[V12:.*]] = mf.repeat %[[V11]] {axis = 1 : i64, name = "layer.sum.grad", repeats = 8 : i64} : (tensor<3x1xf32>) -> tensor<3x8xf32>
// CHECK-NEXT: %[[V13:.*]] = mf.add %[[V5]], %[[V12]] {name = "layer.sum.grad"} : (tensor<3x8xf32>, tensor<3x8xf32>) -> tensor<3x8xf32>
// CHECK-NEXT: mf.return %[[V13]] : tensor<3x8xf32>
mf.model @gradient_of_a_quotient_by_row_sums attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  mf.layer @layer body (%x: tensor<3x8xf32>) -> tensor<3x8xf32>
      attributes {placement = #mf.placement<stage = 1, chunk = 0>} {
    %s = mf.reduce_sum %x {axes = array<i64: 1>, name = "sum"} : (tensor<3x8xf32>) -> tensor<3xf32>
    %r = mf.reshape %s {name = "reshape"} : (tensor<3xf32>) -> tensor<3x1xf32>
    %e = mf.add_scalar %r {name = "add_eps", value = 1.0e-9 : f64} : (tensor<3x1xf32>) -> tensor<3x1xf32>
    %y = mf.div %x, %e {name = "div"} : (tensor<3x8xf32>, tensor<3x1xf32>) -> tensor<3x8xf32>
    mf.return %y : tensor<3x8xf32>
  }
}

// Of chosen elements alone; which ones they are has no gradient, nor has a comparison.
// CHECK-LABEL: mf.model @gradient_of_chosen_scores
// CHECK: mf.chunk @chunk0 (%[[X:.*]]: tensor<3x8xf32>)
// CHECK-NEXT: %[[V0:.*]] = mf.sigmoid %[[X]] {name = "layer.sigmoid"} : (tensor<3x8xf32>) -> tensor<3x8xf32>
// CHECK-NEXT: %[[V1:.*]] = mf.get_param @bias : tensor<8xf32>
// CHECK-NEXT: %[[V2:.*]] = mf.add %[[V0]], %[[V1]] {name = "layer.bias"} : (tensor<3x8xf32>, tensor<8xf32>) -> tensor<3x8xf32>
// CHECK-NEXT: %[[V3:.*]], %[[V4:.*]] = mf.top_k %[[V2]] {k = 2 : i64, name = "layer.topk"} : (tensor<3x8xf32>) -> (tensor<3x2xf32>, tensor<3x2xi32>)
// CHECK-NEXT: %[[V5:.*]] = mf.gather_elements %[[V0]], %[[V4]] {name = "layer.gather"} : (tensor<3x8xf32>, tensor<3x2xi32>) -> tensor<3x2xf32>
// CHECK-NEXT: %[[V6:.*]] = mf.compare_scalar %[[V5]] {comparison = #mf.comparison<greater>, name = "layer.gt", value = 5.000000e-01 : f64} : (tensor<3x2xf32>) -> tensor<3x2xf32>
// CHECK-NEXT: %[[V7:.*]] = mf.mul %[[V5]], %[[V6]] {name = "layer.mul"} : (tensor<3x2xf32>, tensor<3x2xf32>) -> tensor<3x2xf32>
// CHECK-NEXT: %[[V8:.*]] = mf.cut %[[V7]] : tensor<3x2xf32>
// CHECK-NEXT: %[[V9:.*]] = mf.mul %[[V8]], %[[V6]] {name = "layer.mul.grad"} : (tensor<3x2xf32>, tensor<3x2xf32>) -> tensor<3x2xf32>
// CHECK-NEXT: %[[V10:.*]] = mf.scatter_elements %[[V9]], %[[V4]] {name = "layer.gather.grad"} : (tensor<3x2xf32>, tensor<3x2xi32>) -> tensor<3x8xf32>
// CHECK-NEXT: %[[V11:.*]] = mf.sigmoid_grad %[[V10]], %[[V0]] {name = "layer.sigmoid.grad"} : (tensor<3x8xf32>, tensor<3x8xf32>) -> tensor<3x8xf32>
// CHECK-NEXT: mf.return %[[V11]] : tensor<3x8xf32>
mf.model @gradient_of_chosen_scores attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  mf.param @bias : tensor<8xf32> init <zeros> {frozen}
  mf.layer @layer body (%x: tensor<3x8xf32>) -> tensor<3x2xf32>
      attributes {placement = #mf.placement<stage = 1, chunk = 0>} {
    %p = mf.sigmoid %x {name = "sigmoid"} : (tensor<3x8xf32>) -> tensor<3x8xf32>
    %b = mf.get_param @bias : tensor<8xf32>
    %s = mf.add %p, %b {name = "bias"} : (tensor<3x8xf32>, tensor<8xf32>) -> tensor<3x8xf32>
    %v, %i = mf.top_k %s {k = 2 : i64, name = "topk"} : (tensor<3x8xf32>) -> (tensor<3x2xf32>, tensor<3x2xi32>)
    %g = mf.gather_elements %p, %i {name = "gather"} : (tensor<3x8xf32>, tensor<3x2xi32>) -> tensor<3x2xf32>
    %k = mf.compare_scalar %g {comparison = #mf.comparison<greater>, name = "gt", value = 0.5 : f64} : (tensor<3x2xf32>) -> tensor<3x2xf32>
    %y = mf.mul %g, %k {name = "mul"} : (tensor<3x2xf32>, tensor<3x2xf32>) -> tensor<3x2xf32>
    mf.return %y : tensor<3x2xf32>
  }
}

// The largest elements' gradients go where they stood.
// CHECK-LABEL: mf.model @gradient_of_the_largest
// CHECK: mf.chunk @chunk0 (%[[X:.*]]: tensor<3x8xf32>)
// CHECK-NEXT: %[[V0:.*]] = mf.exp %[[X]] {name = "layer.exp"} : (tensor<3x8xf32>) -> tensor<3x8xf32>
// CHECK-NEXT: %[[V1:.*]] = mf.log %[[V0]] {name = "layer.log"} : (tensor<3x8xf32>) -> tensor<3x8xf32>
// CHECK-NEXT: %[[V2:.*]], %[[V3:.*]] = mf.top_k %[[V1]] {k = 2 : i64, name = "layer.topk"} : (tensor<3x8xf32>) -> (tensor<3x2xf32>, tensor<3x2xi32>)
// CHECK-NEXT: %[[V4:.*]] = mf.cut %[[V2]] : tensor<3x2xf32>
// CHECK-NEXT: %[[V5:.*]] = mf.scatter_elements %[[V4]], %[[V3]] {name = "layer.topk.grad"} : (tensor<3x2xf32>, tensor<3x2xi32>) -> tensor<3x8xf32>
// CHECK-NEXT: %[[V6:.*]] = mf.div %[[V5]], %[[V0]] {name = "layer.log.grad"} : (tensor<3x8xf32>, tensor<3x8xf32>) -> tensor<3x8xf32>
// CHECK-NEXT: %[[V7:.*]] = mf.mul %[[V6]], %[[V0]] {name = "layer.exp.grad"} : (tensor<3x8xf32>, tensor<3x8xf32>) -> tensor<3x8xf32>
// CHECK-NEXT: mf.return %[[V7]] : tensor<3x8xf32>
mf.model @gradient_of_the_largest attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  mf.layer @layer body (%x: tensor<3x8xf32>) -> tensor<3x2xf32>
      attributes {placement = #mf.placement<stage = 1, chunk = 0>} {
    %e = mf.exp %x {name = "exp"} : (tensor<3x8xf32>) -> tensor<3x8xf32>
    %l = mf.log %e {name = "log"} : (tensor<3x8xf32>) -> tensor<3x8xf32>
    %v, %i = mf.top_k %l {k = 2 : i64, name = "topk"} : (tensor<3x8xf32>) -> (tensor<3x2xf32>, tensor<3x2xi32>)
    mf.return %v : tensor<3x2xf32>
  }
}

// The bias gets the share of each expert, the value its gradient as it is.
// CHECK-LABEL: mf.model @statistic_of_the_load
// CHECK: mf.chunk @chunk0 (%[[X:.*]]: tensor<3x8xf32>)
// CHECK-NEXT: %[[V0:.*]], %[[V1:.*]] = mf.top_k %[[X]] {k = 2 : i64, name = "layer.topk"} : (tensor<3x8xf32>) -> (tensor<3x2xf32>, tensor<3x2xi32>)
// CHECK-NEXT: %[[V2:.*]] = mf.cut %[[V0]] : tensor<3x2xf32>
// CHECK-NEXT: %[[V3:.*]] = mf.one_hot %[[V1]] {name = "layer.load.grad"} : (tensor<3x2xi32>) -> tensor<3x2x8xf32>
// CHECK-NEXT: %[[V4:.*]] = mf.reduce_sum %[[V3]] {axes = array<i64: 0, 1>, name = "layer.load.grad"} : (tensor<3x2x8xf32>) -> tensor<8xf32>
// CHECK-NEXT: %[[V5:.*]] = mf.scale %[[V4]] {name = "layer.load.grad", value = 0.16666666666666666 : f64} : (tensor<8xf32>) -> tensor<8xf32>
// CHECK-NEXT: %[[V6:.*]] = mf.scatter_elements %[[V2]], %[[V1]] {name = "layer.topk.grad"} : (tensor<3x2xf32>, tensor<3x2xi32>) -> tensor<3x8xf32>
// CHECK-NEXT: mf.return %[[V6]], %[[V5]] : tensor<3x8xf32>, tensor<8xf32>
mf.model @statistic_of_the_load attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  mf.param @bias : tensor<8xf32> init <zeros> {update_rule = #mf.update_rule<balance>}
  mf.layer @layer body (%x: tensor<3x8xf32>) -> tensor<3x2xf32>
      attributes {placement = #mf.placement<stage = 1, chunk = 0>} {
    %b = mf.get_param @bias : tensor<8xf32>
    %v, %i = mf.top_k %x {k = 2 : i64, name = "topk"} : (tensor<3x8xf32>) -> (tensor<3x2xf32>, tensor<3x2xi32>)
    %t = mf.track_load %v, %b, %i {choices = 6 : i64, name = "load"} : (tensor<3x2xf32>, tensor<8xf32>, tensor<3x2xi32>) -> tensor<3x2xf32>
    mf.return %t : tensor<3x2xf32>
  }
}

// A recorded statistic gets the value.
// CHECK-LABEL: mf.model @statistic_of_a_value
// CHECK: mf.chunk @chunk0 (%[[X:.*]]: tensor<3x2xf32>)
// CHECK-NEXT: %[[V0:.*]], %[[V1:.*]] = mf.top_k %[[X]] {k = 1 : i64, name = "layer.topk"} : (tensor<3x2xf32>) -> (tensor<3x1xf32>, tensor<3x1xi32>)
// CHECK-NEXT: %[[V2:.*]] = mf.one_hot %[[V1]] {name = "layer.onehot"} : (tensor<3x1xi32>) -> tensor<3x1x2xf32>
// CHECK-NEXT: %[[V3:.*]] = mf.reshape %[[V2]] {name = "layer.reshape"} : (tensor<3x1x2xf32>) -> tensor<3x2xf32>
// CHECK-NEXT: %[[V4:.*]] = mf.cut %[[X]] : tensor<3x2xf32>
// CHECK-NEXT: mf.return %[[V4]], %[[V3]] : tensor<3x2xf32>, tensor<3x2xf32>
mf.model @statistic_of_a_value attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  mf.param @share : tensor<3x2xf32> init <zeros> {update_rule = #mf.update_rule<record>}
  mf.layer @layer body (%x: tensor<3x2xf32>) -> tensor<3x2xf32>
      attributes {placement = #mf.placement<stage = 1, chunk = 0>} {
    %s = mf.get_param @share : tensor<3x2xf32>
    %v, %i = mf.top_k %x {k = 1 : i64, name = "topk"} : (tensor<3x2xf32>) -> (tensor<3x1xf32>, tensor<3x1xi32>)
    %o = mf.one_hot %i {name = "onehot"} : (tensor<3x1xi32>) -> tensor<3x1x2xf32>
    %f = mf.reshape %o {name = "reshape"} : (tensor<3x1x2xf32>) -> tensor<3x2xf32>
    %t = mf.record %x, %s, %f {name = "record"} : (tensor<3x2xf32>, tensor<3x2xf32>, tensor<3x2xf32>) -> tensor<3x2xf32>
    mf.return %t : tensor<3x2xf32>
  }
}

// Rows that were read twice get both gradients; padding gets none.
// CHECK-LABEL: mf.model @gradient_of_gathered_rows
// CHECK: mf.chunk @chunk0 (%[[X:.*]]: tensor<5x4xf32>)
// CHECK-NEXT: %[[V0:.*]] = mf.pad %[[X]] {high = array<i64: 0, 0>, low = array<i64: 1, 0>, name = "layer.concat"} : (tensor<5x4xf32>) -> tensor<6x4xf32>
// CHECK-NEXT: %[[V1:.*]] = mf.get_param @places : tensor<6xi32>
// CHECK-NEXT: %[[V2:.*]] = mf.gather_rows %[[V0]], %[[V1]] {name = "layer.gather"} : (tensor<6x4xf32>, tensor<6xi32>) -> tensor<6x4xf32>
// CHECK-NEXT: %[[V3:.*]] = mf.cut %[[V2]] : tensor<6x4xf32>
// CHECK-NEXT: %[[V4:.*]] = mf.gather_rows_grad %[[V3]], %[[V1]] {name = "layer.gather.grad"} : (tensor<6x4xf32>, tensor<6xi32>) -> tensor<6x4xf32>
// CHECK-NEXT: %[[V5:.*]] = mf.slice %[[V4]] {name = "layer.concat.grad", sizes = array<i64: 5, 4>, starts = array<i64: 1, 0>} : (tensor<6x4xf32>) -> tensor<5x4xf32>
// CHECK-NEXT: mf.return %[[V5]] : tensor<5x4xf32>
mf.model @gradient_of_gathered_rows attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  mf.param @places : tensor<6xi32> init <coordinate, value = 1.0> {frozen}
  mf.layer @layer body (%x: tensor<5x4xf32>) -> tensor<6x4xf32>
      attributes {placement = #mf.placement<stage = 1, chunk = 0>} {
    %z = mf.pad %x {high = array<i64: 0, 0>, low = array<i64: 1, 0>, name = "concat"} : (tensor<5x4xf32>) -> tensor<6x4xf32>
    %i = mf.get_param @places : tensor<6xi32>
    %y = mf.gather_rows %z, %i {name = "gather"} : (tensor<6x4xf32>, tensor<6xi32>) -> tensor<6x4xf32>
    mf.return %y : tensor<6x4xf32>
  }
}

// What was put in order goes back, and the other way round.
// CHECK-LABEL: mf.model @gradient_of_permuted_tokens
// CHECK: mf.chunk @chunk0 (%[[X:.*]]: tensor<6x4xf32>)
// CHECK-NEXT: %[[V0:.*]] = mf.get_param @keys : tensor<6xf32>
// CHECK-NEXT: %[[V1:.*]], %[[V2:.*]] = mf.token_permute %[[X]], %[[V0]] {name = "layer.permute"} : (tensor<6x4xf32>, tensor<6xf32>) -> (tensor<6x4xf32>, tensor<6xi32>)
// CHECK-NEXT: %[[V3:.*]] = mf.neg %[[V1]] {name = "layer.neg"} : (tensor<6x4xf32>) -> tensor<6x4xf32>
// CHECK-NEXT: %[[V4:.*]] = mf.token_unpermute %[[V3]], %[[V2]] {name = "layer.unpermute"} : (tensor<6x4xf32>, tensor<6xi32>) -> tensor<6x4xf32>
// CHECK-NEXT: %[[V5:.*]] = mf.cut %[[V4]] : tensor<6x4xf32>
// CHECK-NEXT: %[[V6:.*]] = mf.gather_rows_grad %[[V5]], %[[V2]] {name = "layer.unpermute.grad"} : (tensor<6x4xf32>, tensor<6xi32>) -> tensor<6x4xf32>
// CHECK-NEXT: %[[V7:.*]] = mf.neg %[[V6]] {name = "layer.neg.grad"} : (tensor<6x4xf32>) -> tensor<6x4xf32>
// CHECK-NEXT: %[[V8:.*]] = mf.token_unpermute %[[V7]], %[[V2]] {name = "layer.permute.grad"} : (tensor<6x4xf32>, tensor<6xi32>) -> tensor<6x4xf32>
// CHECK-NEXT: mf.return %[[V8]] : tensor<6x4xf32>
mf.model @gradient_of_permuted_tokens attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  mf.param @keys : tensor<6xf32> init <zeros> {frozen}
  mf.layer @layer body (%x: tensor<6x4xf32>) -> tensor<6x4xf32>
      attributes {placement = #mf.placement<stage = 1, chunk = 0>} {
    %k = mf.get_param @keys : tensor<6xf32>
    %p, %s = mf.token_permute %x, %k {name = "permute"} : (tensor<6x4xf32>, tensor<6xf32>) -> (tensor<6x4xf32>, tensor<6xi32>)
    %n = mf.neg %p {name = "neg"} : (tensor<6x4xf32>) -> tensor<6x4xf32>
    %y = mf.token_unpermute %n, %s {name = "unpermute"} : (tensor<6x4xf32>, tensor<6xi32>) -> tensor<6x4xf32>
    mf.return %y : tensor<6x4xf32>
  }
}

// As of a plain product, of each expert's rows; the second weight is stored transposed.
// CHECK-LABEL: mf.model @gradient_of_products_by_expert
// CHECK: mf.chunk @chunk0 (%[[X:.*]]: tensor<2x1x6x4xf32>)
// CHECK-NEXT: %[[V0:.*]] = mf.get_param @counts : tensor<2x1x3xf32>
// CHECK-NEXT: %[[V1:.*]] = mf.get_param @w1 : tensor<1x3x4x8xf32>
// CHECK-NEXT: %[[V2:.*]] = mf.expert_matmul %[[X]], %[[V1]], %[[V0]] {name = "layer.up"} : (tensor<2x1x6x4xf32>, tensor<1x3x4x8xf32>, tensor<2x1x3xf32>) -> tensor<2x1x6x8xf32>
// CHECK-NEXT: %[[V3:.*]] = mf.get_param @w2 : tensor<1x3x4x8xf32>
// CHECK-NEXT: %[[V4:.*]] = mf.expert_matmul %[[V2]], %[[V3]], %[[V0]] {name = "layer.down", transpose_weight = true} : (tensor<2x1x6x8xf32>, tensor<1x3x4x8xf32>, tensor<2x1x3xf32>) -> tensor<2x1x6x4xf32>
// CHECK-NEXT: %[[V5:.*]] = mf.cut %[[V4]] : tensor<2x1x6x4xf32>
// CHECK-NEXT: %[[V6:.*]] = mf.expert_matmul %[[V5]], %[[V3]], %[[V0]] {name = "layer.down.grad"} : (tensor<2x1x6x4xf32>, tensor<1x3x4x8xf32>, tensor<2x1x3xf32>) -> tensor<2x1x6x8xf32>
// CHECK-NEXT: %[[V7:.*]] = mf.expert_matmul_weight_grad %[[V5]], %[[V2]], %[[V0]] {name = "layer.down.grad"} : (tensor<2x1x6x4xf32>, tensor<2x1x6x8xf32>, tensor<2x1x3xf32>) -> tensor<1x3x4x8xf32>
// CHECK-NEXT: %[[V8:.*]] = mf.expert_matmul %[[V6]], %[[V1]], %[[V0]] {name = "layer.up.grad", transpose_weight = true} : (tensor<2x1x6x8xf32>, tensor<1x3x4x8xf32>, tensor<2x1x3xf32>) -> tensor<2x1x6x4xf32>
// CHECK-NEXT: %[[V9:.*]] = mf.expert_matmul_weight_grad %[[X]], %[[V6]], %[[V0]] {name = "layer.up.grad"} : (tensor<2x1x6x4xf32>, tensor<2x1x6x8xf32>, tensor<2x1x3xf32>) -> tensor<1x3x4x8xf32>
// CHECK-NEXT: mf.return %[[V8]], %[[V9]], %[[V7]] : tensor<2x1x6x4xf32>, tensor<1x3x4x8xf32>, tensor<1x3x4x8xf32>
mf.model @gradient_of_products_by_expert attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  mf.param @w1 : tensor<1x3x4x8xf32> init <ones>
  mf.param @w2 : tensor<1x3x4x8xf32> init <ones>
  mf.param @counts : tensor<2x1x3xf32> init <ones> {frozen}
  mf.layer @layer body (%x: tensor<2x1x6x4xf32>) -> tensor<2x1x6x4xf32>
      attributes {placement = #mf.placement<stage = 1, chunk = 0>} {
    %c = mf.get_param @counts : tensor<2x1x3xf32>
    %w1 = mf.get_param @w1 : tensor<1x3x4x8xf32>
    %h = mf.expert_matmul %x, %w1, %c {name = "up"} : (tensor<2x1x6x4xf32>, tensor<1x3x4x8xf32>, tensor<2x1x3xf32>) -> tensor<2x1x6x8xf32>
    %w2 = mf.get_param @w2 : tensor<1x3x4x8xf32>
    %y = mf.expert_matmul %h, %w2, %c {name = "down", transpose_weight = true} : (tensor<2x1x6x8xf32>, tensor<1x3x4x8xf32>, tensor<2x1x3xf32>) -> tensor<2x1x6x4xf32>
    mf.return %y : tensor<2x1x6x4xf32>
  }
}

// CHECK-LABEL: mf.model @gradient_of_grouped_products
// CHECK: mf.chunk @chunk0 (%[[X:.*]]: tensor<2x1x6x4xf32>)
// CHECK-NEXT: %[[V0:.*]] = mf.get_param @counts : tensor<2x1x3xf32>
// CHECK-NEXT: %[[V1:.*]] = mf.get_param @w : tensor<1x3x4x8xf32>
// CHECK-NEXT: %[[V2:.*]] = mf.grouped_matmul %[[X]], %[[V1]], %[[V0]] {name = "layer.up"} : (tensor<2x1x6x4xf32>, tensor<1x3x4x8xf32>, tensor<2x1x3xf32>) -> tensor<2x1x6x8xf32>
// CHECK-NEXT: %[[V3:.*]] = mf.cut %[[V2]] : tensor<2x1x6x8xf32>
// CHECK-NEXT: %[[V4:.*]] = mf.grouped_matmul %[[V3]], %[[V1]], %[[V0]] {name = "layer.up.grad", transpose_weight = true} : (tensor<2x1x6x8xf32>, tensor<1x3x4x8xf32>, tensor<2x1x3xf32>) -> tensor<2x1x6x4xf32>
// CHECK-NEXT: %[[V5:.*]] = mf.grouped_matmul_weight_grad %[[X]], %[[V3]], %[[V0]] {name = "layer.up.grad"} : (tensor<2x1x6x4xf32>, tensor<2x1x6x8xf32>, tensor<2x1x3xf32>) -> tensor<1x3x4x8xf32>
// CHECK-NEXT: mf.return %[[V4]], %[[V5]] : tensor<2x1x6x4xf32>, tensor<1x3x4x8xf32>
mf.model @gradient_of_grouped_products attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  mf.param @w : tensor<1x3x4x8xf32> init <ones>
  mf.param @counts : tensor<2x1x3xf32> init <ones> {frozen}
  mf.layer @layer body (%x: tensor<2x1x6x4xf32>) -> tensor<2x1x6x8xf32>
      attributes {placement = #mf.placement<stage = 1, chunk = 0>} {
    %c = mf.get_param @counts : tensor<2x1x3xf32>
    %w = mf.get_param @w : tensor<1x3x4x8xf32>
    %y = mf.grouped_matmul %x, %w, %c {name = "up"} : (tensor<2x1x6x4xf32>, tensor<1x3x4x8xf32>, tensor<2x1x3xf32>) -> tensor<2x1x6x8xf32>
    mf.return %y : tensor<2x1x6x8xf32>
  }
}

// Gradients come back the way the tokens went, and padding of another value does not matter to them.
// CHECK-LABEL: mf.model @gradient_of_an_exchange
// CHECK: mf.chunk @chunk0 (%[[X:.*]]: tensor<1x2x6x4xf32>)
// CHECK-NEXT: %[[V0:.*]] = mf.get_param @send : tensor<1x2x2x3xf32>
// CHECK-NEXT: %[[V1:.*]] = mf.get_param @receive : tensor<1x2x2x3xf32>
// CHECK-NEXT: %[[V2:.*]] = mf.exchange_tokens %[[X]], %[[V0]], %[[V1]] {fill = 3.000000e+00 : f64, name = "layer.exchange"} : (tensor<1x2x6x4xf32>, tensor<1x2x2x3xf32>, tensor<1x2x2x3xf32>) -> tensor<1x2x9x4xf32>
// CHECK-NEXT: %[[V3:.*]] = mf.cut %[[V2]] : tensor<1x2x9x4xf32>
// CHECK-NEXT: %[[V4:.*]] = mf.exchange_tokens %[[V3]], %[[V1]], %[[V0]] {name = "layer.exchange.grad"} : (tensor<1x2x9x4xf32>, tensor<1x2x2x3xf32>, tensor<1x2x2x3xf32>) -> tensor<1x2x6x4xf32>
// CHECK-NEXT: mf.return %[[V4]] : tensor<1x2x6x4xf32>
mf.model @gradient_of_an_exchange attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  mf.param @send : tensor<1x2x2x3xf32> init <ones> {frozen}
  mf.param @receive : tensor<1x2x2x3xf32> init <ones> {frozen}
  mf.layer @layer body (%x: tensor<1x2x6x4xf32>) -> tensor<1x2x9x4xf32>
      attributes {placement = #mf.placement<stage = 1, chunk = 0>} {
    %s = mf.get_param @send : tensor<1x2x2x3xf32>
    %r = mf.get_param @receive : tensor<1x2x2x3xf32>
    %y = mf.exchange_tokens %x, %s, %r {fill = 3.0 : f64, name = "exchange"} : (tensor<1x2x6x4xf32>, tensor<1x2x2x3xf32>, tensor<1x2x2x3xf32>) -> tensor<1x2x9x4xf32>
    mf.return %y : tensor<1x2x9x4xf32>
  }
}
