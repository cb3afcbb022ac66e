// How each operator differentiates: what stands behind mf.cut.
// RUN: %roundtrip --pass-pipeline='builtin.module(mf.model(mf-build-backward))' %s | FileCheck %s

// dX = dY W, and dW = dY^T X over all leading dimensions.
// CHECK-LABEL: mf.model @gradient_of_a_shared_weight_sums_over_rows
// CHECK: mf.chunk @chunk0 (%[[X:.*]]: tensor<2x3x4xf32>)
// CHECK-NEXT: %[[V0:.*]] = mf.get_param @w : tensor<8x4xf32>
// CHECK-NEXT: %[[V1:.*]] = mf.matmul %[[X]], %[[V0]] {name = "layer.matmul", transpose_b = true} : (tensor<2x3x4xf32>, tensor<8x4xf32>) -> tensor<2x3x8xf32>
// CHECK-NEXT: %[[V2:.*]] = mf.cut %[[V1]] : tensor<2x3x8xf32>
// CHECK-NEXT: %[[V3:.*]] = mf.matmul %[[V2]], %[[V0]] {name = "layer.matmul.grad"} : (tensor<2x3x8xf32>, tensor<8x4xf32>) -> tensor<2x3x4xf32>
// CHECK-NEXT: %[[V4:.*]] = mf.matmul %[[V2]], %[[X]] {contract_batch = true, name = "layer.matmul.grad", transpose_a = true} : (tensor<2x3x8xf32>, tensor<2x3x4xf32>) -> tensor<8x4xf32>
// CHECK-NEXT: mf.return %[[V3]], %[[V4]] : tensor<2x3x4xf32>, tensor<8x4xf32>
mf.model @gradient_of_a_shared_weight_sums_over_rows attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  mf.param @w : tensor<8x4xf32> init <ones>
  mf.layer @layer body (%x: tensor<2x3x4xf32>) -> tensor<2x3x8xf32>
      attributes {placement = #mf.placement<stage = 1, chunk = 0>} {
    %w = mf.get_param @w : tensor<8x4xf32>
    %y = mf.matmul %x, %w {name = "matmul", transpose_b = true} : (tensor<2x3x4xf32>, tensor<8x4xf32>) -> tensor<2x3x8xf32>
    mf.return %y : tensor<2x3x8xf32>
  }
}

// dX = dY W^T, dW = X^T dY.
// CHECK-LABEL: mf.model @gradient_of_an_untransposed_weight
// CHECK: mf.chunk @chunk0 (%[[X:.*]]: tensor<2x3x4xf32>)
// CHECK-NEXT: %[[V0:.*]] = mf.get_param @w : tensor<4x8xf32>
// CHECK-NEXT: %[[V1:.*]] = mf.matmul %[[X]], %[[V0]] {name = "layer.matmul"} : (tensor<2x3x4xf32>, tensor<4x8xf32>) -> tensor<2x3x8xf32>
// CHECK-NEXT: %[[V2:.*]] = mf.cut %[[V1]] : tensor<2x3x8xf32>
// CHECK-NEXT: %[[V3:.*]] = mf.matmul %[[V2]], %[[V0]] {name = "layer.matmul.grad", transpose_b = true} : (tensor<2x3x8xf32>, tensor<4x8xf32>) -> tensor<2x3x4xf32>
// CHECK-NEXT: %[[V4:.*]] = mf.matmul %[[X]], %[[V2]] {contract_batch = true, name = "layer.matmul.grad", transpose_a = true} : (tensor<2x3x4xf32>, tensor<2x3x8xf32>) -> tensor<4x8xf32>
// CHECK-NEXT: mf.return %[[V3]], %[[V4]] : tensor<2x3x4xf32>, tensor<4x8xf32>
mf.model @gradient_of_an_untransposed_weight attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  mf.param @w : tensor<4x8xf32> init <ones>
  mf.layer @layer body (%x: tensor<2x3x4xf32>) -> tensor<2x3x8xf32>
      attributes {placement = #mf.placement<stage = 1, chunk = 0>} {
    %w = mf.get_param @w : tensor<4x8xf32>
    %y = mf.matmul %x, %w {name = "matmul"} : (tensor<2x3x4xf32>, tensor<4x8xf32>) -> tensor<2x3x8xf32>
    mf.return %y : tensor<2x3x8xf32>
  }
}

// The gradient of the left operand comes first in the sum.
// CHECK-LABEL: mf.model @gradient_of_a_square_adds_both_sides
// CHECK: mf.chunk @chunk0 (%[[X:.*]]: tensor<2x4x4xf32>)
// CHECK-NEXT: %[[V0:.*]] = mf.matmul %[[X]], %[[X]] {name = "layer.matmul", transpose_a = true} : (tensor<2x4x4xf32>, tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
// CHECK-NEXT: %[[V1:.*]] = mf.cut %[[V0]] : tensor<2x4x4xf32>
// CHECK-NEXT: %[[V2:.*]] = mf.matmul %[[X]], %[[V1]] {name = "layer.matmul.grad", transpose_b = true} : (tensor<2x4x4xf32>, tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
// CHECK-NEXT: %[[V3:.*]] = mf.matmul %[[X]], %[[V1]] {name = "layer.matmul.grad"} : (tensor<2x4x4xf32>, tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
// CHECK-NEXT: %[[V4:.*]] = mf.add %[[V2]], %[[V3]] {name = "layer.matmul.grad"} : (tensor<2x4x4xf32>, tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
// CHECK-NEXT: mf.return %[[V4]] : tensor<2x4x4xf32>
mf.model @gradient_of_a_square_adds_both_sides attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  mf.layer @layer body (%x: tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
      attributes {placement = #mf.placement<stage = 1, chunk = 0>} {
    %y = mf.matmul %x, %x {name = "matmul", transpose_a = true} : (tensor<2x4x4xf32>, tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
    mf.return %y : tensor<2x4x4xf32>
  }
}

// CHECK-LABEL: mf.model @gradient_of_a_repeated_bias_sums_over_what_it_was_repeated_over
// CHECK: mf.chunk @chunk0 (%[[X:.*]]: tensor<2x3x4xf32>)
// CHECK-NEXT: %[[V0:.*]] = mf.get_param @b : tensor<4xf32>
// CHECK-NEXT: %[[V1:.*]] = mf.add %[[X]], %[[V0]] {name = "layer.add"} : (tensor<2x3x4xf32>, tensor<4xf32>) -> tensor<2x3x4xf32>
// CHECK-NEXT: %[[V2:.*]] = mf.cut %[[V1]] : tensor<2x3x4xf32>
// CHECK-NEXT: %[[V3:.*]] = mf.reduce_sum %[[V2]] {axes = array<i64: 0, 1>, name = "layer.add.grad"} : (tensor<2x3x4xf32>) -> tensor<4xf32>
// CHECK-NEXT: mf.return %[[V2]], %[[V3]] : tensor<2x3x4xf32>, tensor<4xf32>
mf.model @gradient_of_a_repeated_bias_sums_over_what_it_was_repeated_over attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  mf.param @b : tensor<4xf32> init <ones>
  mf.layer @layer body (%x: tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
      attributes {placement = #mf.placement<stage = 1, chunk = 0>} {
    %b = mf.get_param @b : tensor<4xf32>
    %y = mf.add %x, %b {name = "add"} : (tensor<2x3x4xf32>, tensor<4xf32>) -> tensor<2x3x4xf32>
    mf.return %y : tensor<2x3x4xf32>
  }
}

// CHECK-LABEL: mf.model @gradient_of_a_product_keeps_both_factors
// CHECK: mf.chunk @chunk0 (%[[X:.*]]: tensor<2x3x4xf32>)
// CHECK-NEXT: %[[V0:.*]] = mf.get_param @b : tensor<4xf32>
// CHECK-NEXT: %[[V1:.*]] = mf.mul %[[X]], %[[V0]] {name = "layer.mul"} : (tensor<2x3x4xf32>, tensor<4xf32>) -> tensor<2x3x4xf32>
// CHECK-NEXT: %[[V2:.*]] = mf.cut %[[V1]] : tensor<2x3x4xf32>
// CHECK-NEXT: %[[V3:.*]] = mf.mul %[[V2]], %[[V0]] {name = "layer.mul.grad"} : (tensor<2x3x4xf32>, tensor<4xf32>) -> tensor<2x3x4xf32>
// CHECK-NEXT: %[[V4:.*]] = mf.mul %[[V2]], %[[X]] {name = "layer.mul.grad"} : (tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
// CHECK-NEXT: %[[V5:.*]] = mf.reduce_sum %[[V4]] {axes = array<i64: 0, 1>, name = "layer.mul.grad"} : (tensor<2x3x4xf32>) -> tensor<4xf32>
// CHECK-NEXT: mf.return %[[V3]], %[[V5]] : tensor<2x3x4xf32>, tensor<4xf32>
mf.model @gradient_of_a_product_keeps_both_factors attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  mf.param @b : tensor<4xf32> init <ones>
  mf.layer @layer body (%x: tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
      attributes {placement = #mf.placement<stage = 1, chunk = 0>} {
    %b = mf.get_param @b : tensor<4xf32>
    %y = mf.mul %x, %b {name = "mul"} : (tensor<2x3x4xf32>, tensor<4xf32>) -> tensor<2x3x4xf32>
    mf.return %y : tensor<2x3x4xf32>
  }
}

// CHECK-LABEL: mf.model @gradients_of_elementwise_operators
// CHECK: mf.chunk @chunk0 (%[[X:.*]]: tensor<2x4xf32>)
// CHECK-NEXT: %[[V0:.*]] = mf.scale %[[X]] {name = "layer.scale", value = 5.000000e-01 : f64} : (tensor<2x4xf32>) -> tensor<2x4xf32>
// CHECK-NEXT: %[[V1:.*]] = mf.neg %[[V0]] {name = "layer.neg"} : (tensor<2x4xf32>) -> tensor<2x4xf32>
// CHECK-NEXT: %[[V2:.*]] = mf.silu %[[V1]] {name = "layer.silu"} : (tensor<2x4xf32>) -> tensor<2x4xf32>
// CHECK-NEXT: %[[V3:.*]] = mf.cast %[[V2]] {name = "layer.cast"} : (tensor<2x4xf32>) -> tensor<2x4xbf16>
// CHECK-NEXT: %[[V4:.*]] = mf.cut %[[V3]] : tensor<2x4xbf16>
// CHECK-NEXT: %[[V5:.*]] = mf.cast %[[V4]] {name = "layer.cast.grad"} : (tensor<2x4xbf16>) -> tensor<2x4xf32>
// CHECK-NEXT: %[[V6:.*]] = mf.silu_grad %[[V5]], %[[V1]] {name = "layer.silu.grad"} : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
// CHECK-NEXT: %[[V7:.*]] = mf.neg %[[V6]] {name = "layer.neg.grad"} : (tensor<2x4xf32>) -> tensor<2x4xf32>
// CHECK-NEXT: %[[V8:.*]] = mf.scale %[[V7]] {name = "layer.scale.grad", value = 5.000000e-01 : f64} : (tensor<2x4xf32>) -> tensor<2x4xf32>
// CHECK-NEXT: mf.return %[[V8]] : tensor<2x4xf32>
mf.model @gradients_of_elementwise_operators attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  mf.layer @layer body (%x: tensor<2x4xf32>) -> tensor<2x4xbf16>
      attributes {placement = #mf.placement<stage = 1, chunk = 0>} {
    %a = mf.scale %x {name = "scale", value = 0.5 : f64} : (tensor<2x4xf32>) -> tensor<2x4xf32>
    %b = mf.neg %a {name = "neg"} : (tensor<2x4xf32>) -> tensor<2x4xf32>
    %c = mf.silu %b {name = "silu"} : (tensor<2x4xf32>) -> tensor<2x4xf32>
    %y = mf.cast %c {name = "cast"} : (tensor<2x4xf32>) -> tensor<2x4xbf16>
    mf.return %y : tensor<2x4xbf16>
  }
}

// Reshapes and permutations are undone, slices padded, concatenations sliced, repetitions summed.
// CHECK-LABEL: mf.model @gradients_of_operators_that_move_elements
// CHECK: mf.chunk @chunk0 (%[[X:.*]]: tensor<2x3x4xf32>)
// CHECK-NEXT: %[[V0:.*]] = mf.reshape %[[X]] {name = "layer.reshape"} : (tensor<2x3x4xf32>) -> tensor<6x4xf32>
// CHECK-NEXT: %[[V1:.*]] = mf.transpose %[[V0]] {name = "layer.transpose", perm = array<i64: 1, 0>} : (tensor<6x4xf32>) -> tensor<4x6xf32>
// CHECK-NEXT: %[[V2:.*]] = mf.slice %[[V1]] {name = "layer.slice", sizes = array<i64: 2, 6>, starts = array<i64: 1, 0>} : (tensor<4x6xf32>) -> tensor<2x6xf32>
// CHECK-NEXT: %[[V3:.*]] = mf.concat %[[V2]], %[[V1]] {axis = 0 : i64, name = "layer.concat"} : (tensor<2x6xf32>, tensor<4x6xf32>) -> tensor<6x6xf32>
// CHECK-NEXT: %[[V4:.*]] = mf.repeat %[[V3]] {axis = 0 : i64, name = "layer.repeat", repeats = 2 : i64} : (tensor<6x6xf32>) -> tensor<12x6xf32>
// CHECK-NEXT: %[[V5:.*]] = mf.cut %[[V4]] : tensor<12x6xf32>
// CHECK-NEXT: %[[V6:.*]] = mf.reshape %[[V5]] {name = "layer.repeat.grad"} : (tensor<12x6xf32>) -> tensor<6x2x6xf32>
// CHECK-NEXT: %[[V7:.*]] = mf.reduce_sum %[[V6]] {axes = array<i64: 1>, name = "layer.repeat.grad"} : (tensor<6x2x6xf32>) -> tensor<6x6xf32>
// CHECK-NEXT: %[[V8:.*]] = mf.slice %[[V7]] {name = "layer.concat.grad", sizes = array<i64: 2, 6>, starts = array<i64: 0, 0>} : (tensor<6x6xf32>) -> tensor<2x6xf32>
// CHECK-NEXT: %[[V9:.*]] = mf.slice %[[V7]] {name = "layer.concat.grad", sizes = array<i64: 4, 6>, starts = array<i64: 2, 0>} : (tensor<6x6xf32>) -> tensor<4x6xf32>
// CHECK-NEXT: %[[V10:.*]] = mf.pad %[[V8]] {high = array<i64: 1, 0>, low = array<i64: 1, 0>, name = "layer.slice.grad"} : (tensor<2x6xf32>) -> tensor<4x6xf32>
// CHECK-NEXT: %[[V11:.*]] = mf.add %[[V9]], %[[V10]] {name = "layer.slice.grad"} : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
// CHECK-NEXT: %[[V12:.*]] = mf.transpose %[[V11]] {name = "layer.transpose.grad", perm = array<i64: 1, 0>} : (tensor<4x6xf32>) -> tensor<6x4xf32>
// CHECK-NEXT: %[[V13:.*]] = mf.reshape %[[V12]] {name = "layer.reshape.grad"} : (tensor<6x4xf32>) -> tensor<2x3x4xf32>
// CHECK-NEXT: mf.return %[[V13]] : tensor<2x3x4xf32>
mf.model @gradients_of_operators_that_move_elements attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  mf.layer @layer body (%x: tensor<2x3x4xf32>) -> tensor<12x6xf32>
      attributes {placement = #mf.placement<stage = 1, chunk = 0>} {
    %a = mf.reshape %x {name = "reshape"} : (tensor<2x3x4xf32>) -> tensor<6x4xf32>
    %b = mf.transpose %a {name = "transpose", perm = array<i64: 1, 0>} : (tensor<6x4xf32>) -> tensor<4x6xf32>
    %c = mf.slice %b {name = "slice", starts = array<i64: 1, 0>, sizes = array<i64: 2, 6>} : (tensor<4x6xf32>) -> tensor<2x6xf32>
    %d = mf.concat %c, %b {name = "concat", axis = 0 : i64} : (tensor<2x6xf32>, tensor<4x6xf32>) -> tensor<6x6xf32>
    %y = mf.repeat %d {name = "repeat", axis = 0 : i64, repeats = 2 : i64} : (tensor<6x6xf32>) -> tensor<12x6xf32>
    mf.return %y : tensor<12x6xf32>
  }
}

// Sums are repeated, parts put together again; a part that nothing depends on is padding.
// CHECK-LABEL: mf.model @gradients_of_sums_and_parts
// CHECK: mf.chunk @chunk0 (%[[X:.*]]: tensor<2x6xf32>)
// CHECK-NEXT: %[[PARTS:.*]]:3 = mf.split %[[X]]
// CHECK-NEXT: %[[SUM:.*]] = mf.reduce_sum %[[PARTS]]#1
// CHECK-NEXT: %[[A:.*]] = mf.reshape %[[PARTS]]#0
// CHECK-NEXT: %[[Y:.*]] = mf.mul %[[SUM]], %[[A]]
// CHECK-NEXT: %[[DY:.*]] = mf.cut %[[Y]]
// CHECK-NEXT: %[[DSUM:.*]] = mf.mul %[[DY]], %[[A]]
// CHECK-NEXT: %[[DA:.*]] = mf.mul %[[DY]], %[[SUM]]
// CHECK-NEXT: %[[D0:.*]] = mf.reshape %[[DA]]
// CHECK-NEXT: %[[ONE:.*]] = mf.reshape %[[DSUM]] {name = "layer.sum.grad"} : (tensor<2xf32>) -> tensor<2x1xf32>
// CHECK-NEXT: %[[D1:.*]] = mf.repeat %[[ONE]] {axis = 1 : i64, name = "layer.sum.grad", repeats = 3 : i64} : (tensor<2x1xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %[[PADDED:.*]] = mf.pad %[[D1]] {high = array<i64: 0, 2>, low = array<i64: 0, 0>, name = "layer.split.grad"} : (tensor<2x3xf32>) -> tensor<2x5xf32>
// CHECK-NEXT: %[[DX:.*]] = mf.concat %[[D0]], %[[PADDED]] {axis = 1 : i64, name = "layer.split.grad"} : (tensor<2x1xf32>, tensor<2x5xf32>) -> tensor<2x6xf32>
// CHECK-NEXT: mf.return %[[DX]]
mf.model @gradients_of_sums_and_parts attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  mf.layer @layer body (%x: tensor<2x6xf32>) -> tensor<2xf32>
      attributes {placement = #mf.placement<stage = 1, chunk = 0>} {
    %a, %b, %c = mf.split %x {name = "split", axis = 1 : i64} : (tensor<2x6xf32>) -> (tensor<2x1xf32>, tensor<2x3xf32>, tensor<2x2xf32>)
    %sum = mf.reduce_sum %b {name = "sum", axes = array<i64: 1>} : (tensor<2x3xf32>) -> tensor<2xf32>
    %first = mf.reshape %a {name = "reshape"} : (tensor<2x1xf32>) -> tensor<2xf32>
    %y = mf.mul %sum, %first {name = "mul"} : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    mf.return %y : tensor<2xf32>
  }
}

// CHECK-LABEL: mf.model @gradient_of_rms_norm_uses_its_reciprocal_root
// CHECK: mf.chunk @chunk0 (%[[X:.*]]: tensor<2x4xf32>)
// CHECK-NEXT: %[[V0:.*]] = mf.get_param @gamma : tensor<4xf32>
// CHECK-NEXT: %[[RESULT:.*]], %[[RSTD:.*]] = mf.rms_norm %[[X]], %[[V0]] {epsilon = 1.000000e-05 : f64, name = "layer.norm"} : (tensor<2x4xf32>, tensor<4xf32>) -> (tensor<2x4xf32>, tensor<2xf32>)
// CHECK-NEXT: %[[V1:.*]] = mf.cut %[[RESULT]] : tensor<2x4xf32>
// CHECK-NEXT: %[[INPUT_GRADIENT:.*]], %[[GAMMA_GRADIENT:.*]] = mf.rms_norm_grad %[[V1]], %[[X]], %[[RSTD]], %[[V0]] {name = "layer.norm.grad"} : (tensor<2x4xf32>, tensor<2x4xf32>, tensor<2xf32>, tensor<4xf32>) -> (tensor<2x4xf32>, tensor<4xf32>)
// CHECK-NEXT: mf.return %[[INPUT_GRADIENT]], %[[GAMMA_GRADIENT]] : tensor<2x4xf32>, tensor<4xf32>
mf.model @gradient_of_rms_norm_uses_its_reciprocal_root attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  mf.param @gamma : tensor<4xf32> init <ones>
  mf.layer @layer body (%x: tensor<2x4xf32>) -> tensor<2x4xf32>
      attributes {placement = #mf.placement<stage = 1, chunk = 0>} {
    %gamma = mf.get_param @gamma : tensor<4xf32>
    %y, %rstd = mf.rms_norm %x, %gamma {name = "norm", epsilon = 1.0e-5 : f64} : (tensor<2x4xf32>, tensor<4xf32>) -> (tensor<2x4xf32>, tensor<2xf32>)
    mf.return %y : tensor<2x4xf32>
  }
}

// CHECK-LABEL: mf.model @gradient_of_layer_norm_uses_its_statistics
// CHECK: mf.chunk @chunk0 (%[[X:.*]]: tensor<2x4xf32>)
// CHECK: %[[RESULT:.*]], %[[MEAN:.*]], %[[RSTD:.*]] = mf.layer_norm %[[X]], %[[WEIGHT:.*]], %{{.*}} {eps = 1.000000e-05 : f64, name = "layer.layer_norm"}
// CHECK-NEXT: %[[GELU:.*]] = mf.gelu %[[RESULT]] {name = "layer.gelu"}
// CHECK-NEXT: %[[CUT:.*]] = mf.cut %[[GELU]] : tensor<2x4xf32>
// CHECK-NEXT: %[[DY:.*]] = mf.gelu_grad %[[CUT]], %[[RESULT]] {name = "layer.gelu.grad"}
// CHECK-NEXT: %[[DX:.*]], %[[FACTORS:.*]]:2 = mf.layer_norm_grad %[[DY]], %[[X]], %[[MEAN]], %[[RSTD]], %[[WEIGHT]] {name = "layer.layer_norm.grad"}
// CHECK-NEXT: mf.return %[[DX]], %[[FACTORS]]#0, %[[FACTORS]]#1 : tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>
mf.model @gradient_of_layer_norm_uses_its_statistics attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  mf.param @weight : tensor<4xf32> init <ones>
  mf.param @bias : tensor<4xf32> init <zeros>
  mf.layer @layer body (%x: tensor<2x4xf32>) -> tensor<2x4xf32>
      attributes {placement = #mf.placement<stage = 1, chunk = 0>} {
    %weight = mf.get_param @weight : tensor<4xf32>
    %bias = mf.get_param @bias : tensor<4xf32>
    %n, %mean, %rstd = mf.layer_norm %x, %weight, %bias {name = "layer_norm", eps = 1.0e-5 : f64} : (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<2x4xf32>, tensor<2xf32>, tensor<2xf32>)
    %y = mf.gelu %n {name = "gelu"} : (tensor<2x4xf32>) -> tensor<2x4xf32>
    mf.return %y : tensor<2x4xf32>
  }
}

// Of frozen factors no gradients are made.
// CHECK-LABEL: mf.model @gradient_of_a_frozen_layer_norm
// CHECK: mf.layer_norm_grad {{.*}}name = "layer.layer_norm.grad"} : (tensor<2x4xf32>, tensor<2x4xf32>, tensor<2xf32>, tensor<2xf32>, tensor<4xf32>) -> tensor<2x4xf32>
mf.model @gradient_of_a_frozen_layer_norm attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  mf.param @weight : tensor<4xf32> init <ones> {frozen}
  mf.layer @layer body (%x: tensor<2x4xf32>) -> tensor<2x4xf32>
      attributes {placement = #mf.placement<stage = 1, chunk = 0>} {
    %weight = mf.get_param @weight : tensor<4xf32>
    %n, %mean, %rstd = mf.layer_norm %x, %weight, %weight {name = "layer_norm", eps = 1.0e-5 : f64} : (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<2x4xf32>, tensor<2xf32>, tensor<2xf32>)
    mf.return %n : tensor<2x4xf32>
  }
}

// CHECK-LABEL: mf.model @gradient_of_softmax_uses_its_result
// CHECK: mf.chunk @chunk0 (%[[X:.*]]: tensor<2x4xf32>)
// CHECK-NEXT: %[[V0:.*]] = mf.softmax %[[X]] {name = "layer.softmax"} : (tensor<2x4xf32>) -> tensor<2x4xf32>
// CHECK-NEXT: %[[V1:.*]] = mf.cut %[[V0]] : tensor<2x4xf32>
// CHECK-NEXT: %[[V2:.*]] = mf.softmax_grad %[[V1]], %[[V0]] {name = "layer.softmax.grad"} : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
// CHECK-NEXT: mf.return %[[V2]] : tensor<2x4xf32>
mf.model @gradient_of_softmax_uses_its_result attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  mf.layer @layer body (%x: tensor<2x4xf32>) -> tensor<2x4xf32>
      attributes {placement = #mf.placement<stage = 1, chunk = 0>} {
    %y = mf.softmax %x {name = "softmax"} : (tensor<2x4xf32>) -> tensor<2x4xf32>
    mf.return %y : tensor<2x4xf32>
  }
}

// CHECK-LABEL: mf.model @gradients_of_scores_and_matrices_use_their_inputs
// CHECK: mf.chunk @chunk0 (%[[X:.*]]: tensor<4x4xf32>)
// CHECK-NEXT: %[[V0:.*]] = mf.sqrt_softplus %[[X]] {name = "layer.score"} : (tensor<4x4xf32>) -> tensor<4x4xf32>
// CHECK-NEXT: %[[V1:.*]] = mf.sinkhorn %[[V0]] {epsilon = 1.000000e-03 : f64, iterations = 3 : i64, name = "layer.sinkhorn"} : (tensor<4x4xf32>) -> tensor<4x4xf32>
// CHECK-NEXT: %[[V2:.*]] = mf.cut %[[V1]] : tensor<4x4xf32>
// CHECK-NEXT: %[[V3:.*]] = mf.sinkhorn_grad %[[V2]], %[[V0]] {epsilon = 1.000000e-03 : f64, iterations = 3 : i64, name = "layer.sinkhorn.grad"} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
// CHECK-NEXT: %[[V4:.*]] = mf.sqrt_softplus_grad %[[V3]], %[[X]] {name = "layer.score.grad"} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
// CHECK-NEXT: mf.return %[[V4]] : tensor<4x4xf32>
mf.model @gradients_of_scores_and_matrices_use_their_inputs attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  mf.layer @layer body (%x: tensor<4x4xf32>) -> tensor<4x4xf32>
      attributes {placement = #mf.placement<stage = 1, chunk = 0>} {
    %s = mf.sqrt_softplus %x {name = "score"} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %y = mf.sinkhorn %s {name = "sinkhorn", epsilon = 1.0e-3 : f64, iterations = 3 : i64} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    mf.return %y : tensor<4x4xf32>
  }
}

// The gradient of the product's second operand goes no further.
// CHECK-LABEL: mf.model @no_gradient_flows_through_a_stop
// CHECK: mf.chunk @chunk0 (%[[X:.*]]: tensor<4x4xf32>)
// CHECK-NEXT: %[[V0:.*]] = mf.stop_gradient %[[X]] {name = "layer.stop"} : (tensor<4x4xf32>) -> tensor<4x4xf32>
// CHECK-NEXT: %[[V1:.*]] = mf.mul %[[X]], %[[V0]] {name = "layer.mul"} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
// CHECK-NEXT: %[[V2:.*]] = mf.cut %[[V1]] : tensor<4x4xf32>
// CHECK-NEXT: %[[V3:.*]] = mf.mul %[[V2]], %[[V0]] {name = "layer.mul.grad"} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
// CHECK-NEXT: mf.return %[[V3]] : tensor<4x4xf32>
mf.model @no_gradient_flows_through_a_stop attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  mf.layer @layer body (%x: tensor<4x4xf32>) -> tensor<4x4xf32>
      attributes {placement = #mf.placement<stage = 1, chunk = 0>} {
    %s = mf.stop_gradient %x {name = "stop"} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %y = mf.mul %x, %s {name = "mul"} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    mf.return %y : tensor<4x4xf32>
  }
}

// Query, key and value are one tensor here, so its gradient is the sum of three.
// CHECK-LABEL: mf.model @gradients_of_flash_attention_use_row_statistics
// CHECK: mf.chunk @chunk0 (%[[X:.*]]: tensor<1x2x4x8xf32>)
// CHECK-NEXT: %[[SOFTMAX_MAX:.*]], %[[SOFTMAX_SUM:.*]], %[[RESULT:.*]] = mf.flash_attention %[[X]], %[[X]], %[[X]] {causal = false, name = "layer.flash_attention", scale = 5.000000e-01 : f64} : (tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>) -> (tensor<1x2x4xf32>, tensor<1x2x4xf32>, tensor<1x2x4x8xf32>)
// CHECK-NEXT: %[[V0:.*]] = mf.cut %[[RESULT]] : tensor<1x2x4x8xf32>
// CHECK-NEXT: %[[QUERY_GRADIENT:.*]], %[[KEY_GRADIENT:.*]], %[[VALUE_GRADIENT:.*]] = mf.flash_attention_grad %[[X]], %[[X]], %[[X]], %[[V0]], %[[SOFTMAX_MAX]], %[[SOFTMAX_SUM]], %[[RESULT]] {causal = false, name = "layer.flash_attention.grad", scale = 5.000000e-01 : f64} : (tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4xf32>, tensor<1x2x4xf32>, tensor<1x2x4x8xf32>) -> (tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>)
// CHECK-NEXT: %[[V1:.*]] = mf.add %[[QUERY_GRADIENT]], %[[KEY_GRADIENT]] {name = "layer.flash_attention.grad"} : (tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>) -> tensor<1x2x4x8xf32>
// CHECK-NEXT: %[[V2:.*]] = mf.add %[[V1]], %[[VALUE_GRADIENT]] {name = "layer.flash_attention.grad"} : (tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>) -> tensor<1x2x4x8xf32>
// CHECK-NEXT: mf.return %[[V2]] : tensor<1x2x4x8xf32>
mf.model @gradients_of_flash_attention_use_row_statistics attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  mf.layer @layer body (%x: tensor<1x2x4x8xf32>) -> tensor<1x2x4x8xf32>
      attributes {placement = #mf.placement<stage = 1, chunk = 0>} {
    %max, %sum, %y = mf.flash_attention %x, %x, %x {name = "flash_attention", scale = 0.5 : f64, causal = false} : (tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>) -> (tensor<1x2x4xf32>, tensor<1x2x4xf32>, tensor<1x2x4x8xf32>)
    mf.return %y : tensor<1x2x4x8xf32>
  }
}

// The slopes of ALiBi are read again, not kept.
// CHECK-LABEL: mf.model @slopes_of_flash_attention_are_constants
// CHECK: mf.flash_attention %[[X:.*]], %[[X]], %[[X]], %[[SLOPES:.*]] {name
// CHECK: mf.cut
// CHECK: mf.flash_attention_grad %[[X]], %[[X]], %[[X]], {{.*}}, %[[SLOPES]] {name
mf.model @slopes_of_flash_attention_are_constants attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  mf.param @slopes : tensor<2xf32> init <alibi> {frozen}
  mf.layer @layer body (%x: tensor<1x2x4x8xf32>) -> tensor<1x2x4x8xf32>
      attributes {placement = #mf.placement<stage = 1, chunk = 0>} {
    %slopes = mf.get_param @slopes : tensor<2xf32>
    %max, %sum, %y = mf.flash_attention %x, %x, %x, %slopes {name = "flash_attention", scale = 0.5 : f64} : (tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<2xf32>) -> (tensor<1x2x4xf32>, tensor<1x2x4xf32>, tensor<1x2x4x8xf32>)
    mf.return %y : tensor<1x2x4x8xf32>
  }
}

// The rotation back, by the same tables; nothing else is kept.
// CHECK-LABEL: mf.model @gradient_of_rotary_embedding
// CHECK: mf.chunk @chunk0 (%[[X:.*]]: tensor<1x2x4x8xf32>)
// CHECK-NEXT: %[[V0:.*]] = mf.get_param @cos : tensor<4x8xf32>
// CHECK-NEXT: %[[V1:.*]] = mf.get_param @sin : tensor<4x8xf32>
// CHECK-NEXT: %[[V2:.*]] = mf.rotary_position_embedding %[[X]], %[[V0]], %[[V1]] {name = "layer.rope"} : (tensor<1x2x4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<1x2x4x8xf32>
// CHECK-NEXT: %[[V3:.*]] = mf.cut %[[V2]] : tensor<1x2x4x8xf32>
// CHECK-NEXT: %[[V4:.*]] = mf.rotary_position_embedding_grad %[[V3]], %[[V0]], %[[V1]] {name = "layer.rope.grad"} : (tensor<1x2x4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<1x2x4x8xf32>
// CHECK-NEXT: mf.return %[[V4]] : tensor<1x2x4x8xf32>
mf.model @gradient_of_rotary_embedding attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  mf.param @cos : tensor<4x8xf32> init <rotary_cos, value = 1.0e4> {frozen}
  mf.param @sin : tensor<4x8xf32> init <rotary_sin, value = 1.0e4> {frozen}
  mf.layer @layer body (%x: tensor<1x2x4x8xf32>) -> tensor<1x2x4x8xf32>
      attributes {placement = #mf.placement<stage = 1, chunk = 0>} {
    %c = mf.get_param @cos : tensor<4x8xf32>
    %s = mf.get_param @sin : tensor<4x8xf32>
    %y = mf.rotary_position_embedding %x, %c, %s {name = "rope"} : (tensor<1x2x4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<1x2x4x8xf32>
    mf.return %y : tensor<1x2x4x8xf32>
  }
}

// The gradient rotates the same part in the same way.
// CHECK-LABEL: mf.model @gradient_of_rotated_neighbours
// CHECK: mf.rotary_position_embedding_grad %{{.*}}, %{{.*}}, %{{.*}} {interleaved = true, name = "layer.rope.grad", start = 4 : i64} : (tensor<1x4x2x8xf32>, tensor<4x1x4xf32>, tensor<4x1x4xf32>) -> tensor<1x4x2x8xf32>
mf.model @gradient_of_rotated_neighbours attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  mf.param @cos : tensor<4x1x4xf32> init <rotary_cos, value = 1.0e4 frequencies [1.0, 1.0, 1.0e-2, 1.0e-2]> {frozen}
  mf.param @sin : tensor<4x1x4xf32> init <rotary_sin, value = 1.0e4 frequencies [1.0, 1.0, 1.0e-2, 1.0e-2]> {frozen}
  mf.layer @layer body (%x: tensor<1x4x2x8xf32>) -> tensor<1x4x2x8xf32>
      attributes {placement = #mf.placement<stage = 1, chunk = 0>} {
    %c = mf.get_param @cos : tensor<4x1x4xf32>
    %s = mf.get_param @sin : tensor<4x1x4xf32>
    %y = mf.rotary_position_embedding %x, %c, %s {interleaved = true, name = "rope", start = 4 : i64} : (tensor<1x4x2x8xf32>, tensor<4x1x4xf32>, tensor<4x1x4xf32>) -> tensor<1x4x2x8xf32>
    mf.return %y : tensor<1x4x2x8xf32>
  }
}

// Needs its input, and neither silu(gate) nor its result.
// CHECK-LABEL: mf.model @gradient_of_swiglu
// CHECK: mf.chunk @chunk0 (%[[X:.*]]: tensor<3x2x8xf32>)
// CHECK-NEXT: %[[V0:.*]] = mf.swiglu %[[X]] {name = "layer.swiglu"} : (tensor<3x2x8xf32>) -> tensor<3x8xf32>
// CHECK-NEXT: %[[V1:.*]] = mf.cut %[[V0]] : tensor<3x8xf32>
// CHECK-NEXT: %[[V2:.*]] = mf.swiglu_grad %[[V1]], %[[X]] {name = "layer.swiglu.grad"} : (tensor<3x8xf32>, tensor<3x2x8xf32>) -> tensor<3x2x8xf32>
// CHECK-NEXT: mf.return %[[V2]] : tensor<3x2x8xf32>
mf.model @gradient_of_swiglu attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  mf.layer @layer body (%x: tensor<3x2x8xf32>) -> tensor<3x8xf32>
      attributes {placement = #mf.placement<stage = 1, chunk = 0>} {
    %y = mf.swiglu %x {name = "swiglu"} : (tensor<3x2x8xf32>) -> tensor<3x8xf32>
    mf.return %y : tensor<3x8xf32>
  }
}

// Both gradients are grouped too.
// CHECK-LABEL: mf.model @gradient_of_a_grouped_product
// CHECK: mf.chunk @chunk0 (%[[X:.*]]: tensor<2x1x6x4xf32>)
// CHECK-NEXT: %[[V0:.*]] = mf.get_param @w : tensor<1x3x4x8xf32>
// CHECK-NEXT: %[[V1:.*]] = mf.get_param @counts : tensor<2x1x3xf32>
// CHECK-NEXT: %[[V2:.*]] = mf.grouped_matmul %[[X]], %[[V0]], %[[V1]] {name = "layer.gmm"} : (tensor<2x1x6x4xf32>, tensor<1x3x4x8xf32>, tensor<2x1x3xf32>) -> tensor<2x1x6x8xf32>
// CHECK-NEXT: %[[V3:.*]] = mf.cut %[[V2]] : tensor<2x1x6x8xf32>
// CHECK-NEXT: %[[V4:.*]] = mf.grouped_matmul %[[V3]], %[[V0]], %[[V1]] {name = "layer.gmm.grad", transpose_weight = true} : (tensor<2x1x6x8xf32>, tensor<1x3x4x8xf32>, tensor<2x1x3xf32>) -> tensor<2x1x6x4xf32>
// CHECK-NEXT: %[[V5:.*]] = mf.grouped_matmul_weight_grad %[[X]], %[[V3]], %[[V1]] {name = "layer.gmm.grad"} : (tensor<2x1x6x4xf32>, tensor<2x1x6x8xf32>, tensor<2x1x3xf32>) -> tensor<1x3x4x8xf32>
// CHECK-NEXT: mf.return %[[V4]], %[[V5]] : tensor<2x1x6x4xf32>, tensor<1x3x4x8xf32>
mf.model @gradient_of_a_grouped_product attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  mf.param @w : tensor<1x3x4x8xf32> init <ones>
  mf.param @counts : tensor<2x1x3xf32> init <ones> {frozen}
  mf.layer @layer body (%x: tensor<2x1x6x4xf32>) -> tensor<2x1x6x8xf32>
      attributes {placement = #mf.placement<stage = 1, chunk = 0>} {
    %w = mf.get_param @w : tensor<1x3x4x8xf32>
    %c = mf.get_param @counts : tensor<2x1x3xf32>
    %y = mf.grouped_matmul %x, %w, %c {name = "gmm"} : (tensor<2x1x6x4xf32>, tensor<1x3x4x8xf32>, tensor<2x1x3xf32>) -> tensor<2x1x6x8xf32>
    mf.return %y : tensor<2x1x6x8xf32>
  }
}

// The mask is kept and the gradient is dropped where the value was; no gradient
// flows to what the mask has its shape from.
// CHECK-LABEL: mf.model @gradient_of_dropout
// CHECK: mf.chunk @chunk0 (%[[X:.*]]: tensor<2x4xf32>, %[[D:.*]]: tensor<3xi64>)
// CHECK-SAME: input_indices = [1], inputs = [#mf<input_kind draw>]
// CHECK-NEXT: %[[M:.*]] = mf.dropout_mask %[[X]], %[[D]]
// CHECK-NEXT: %[[Y:.*]] = mf.dropout %[[X]], %[[M]] {name = "layer.dropout", rate = 2.500000e-01 : f64}
// CHECK-NEXT: %[[G:.*]] = mf.cut %[[Y]] : tensor<2x4xf32>
// CHECK-NEXT: %[[GX:.*]] = mf.dropout %[[G]], %[[M]] {name = "layer.dropout.grad", rate = 2.500000e-01 : f64}
// CHECK-NEXT: mf.return %[[GX]]
mf.model @gradient_of_dropout attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  mf.layer @layer body (%x: tensor<2x4xf32>, %draw: tensor<3xi64>) -> tensor<2x4xf32>
      attributes {placement = #mf.placement<stage = 1, chunk = 0>} {
    %m = mf.dropout_mask %x, %draw {cut_dims = array<i64>, name = "dropout", rate = 2.5e-01 : f64, shape = array<i64: 2, 4>, source = "layer.dropout", starts = array<i64: 0, 0>} : (tensor<2x4xf32>, tensor<3xi64>) -> tensor<2x4xi1>
    %y = mf.dropout %x, %m {name = "dropout", rate = 2.5e-01 : f64} : (tensor<2x4xf32>, tensor<2x4xi1>) -> tensor<2x4xf32>
    mf.return %y : tensor<2x4xf32>
  }
}

// The gradient of what a site reads has that of the shares and of the matrix, too, and reads what was saved for it.
// CHECK-LABEL: mf.model @gradients_of_a_site_use_what_it_saves
// CHECK: mf.chunk @chunk0 (%[[X:.*]]: tensor<1x4x8xf32>)
// CHECK: %[[Y:.*]], %[[S:.*]], %[[M:.*]], %[[READS:.*]], %[[H:.*]], %[[RSTD:.*]], %[[SUMS:.*]], %[[SAVED:.*]] = mf.mhc_pre %[[X]], %[[W:.*]], %[[F:.*]], %[[B:.*]] {{{.*}}name = "layer.mhc_pre"}
// CHECK-NEXT: %[[Z:.*]] = mf.mhc_post %[[X]], %[[M]], %[[Y]], %[[S]] {name = "layer.mhc_post"}
// CHECK-NEXT: %[[DZ:.*]] = mf.cut %[[Z]]
// CHECK-NEXT: %[[DX:.*]], %[[DM:.*]], %[[DY:.*]], %[[DS:.*]] = mf.mhc_post_grad %[[DZ]], %[[X]], %[[M]], %[[Y]], %[[S]] {name = "layer.mhc_post.grad"}
// CHECK-NEXT: %[[DX1:.*]], %[[DW:.*]], %[[DF:.*]], %[[DB:.*]] = mf.mhc_pre_grad %[[DY]], %[[DS]], %[[DM]], %[[X]], %[[W]], %[[F]], %[[B]], %[[READS]], %[[H]], %[[RSTD]], %[[SUMS]], %[[SAVED]] {least = 1.250000e-01 : f64, name = "layer.mhc_pre.grad"}
// CHECK-NEXT: mf.add %[[DX]], %[[DX1]]
mf.model @gradients_of_a_site_use_what_it_saves attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  mf.param @w : tensor<8x8xf32> init <ones>
  mf.param @f : tensor<3xf32> init <ones>
  mf.param @b : tensor<8xf32> init <ones>
  mf.layer @layer body (%x: tensor<1x4x8xf32>) -> tensor<1x4x8xf32>
      attributes {placement = #mf.placement<stage = 1, chunk = 0>} {
    %w = mf.get_param @w : tensor<8x8xf32>
    %f = mf.get_param @f : tensor<3xf32>
    %b = mf.get_param @b : tensor<8xf32>
    %y, %s, %m, %saved:5 = mf.mhc_pre %x, %w, %f, %b {name = "mhc_pre", count = 2 : i64, epsilon = 0.125 : f64, iterations = 3 : i64, least = 0.125 : f64}
        : (tensor<1x4x8xf32>, tensor<8x8xf32>, tensor<3xf32>, tensor<8xf32>)
        -> (tensor<1x4x4xf32>, tensor<1x4x2xf32>, tensor<1x4x2x2xf32>, tensor<1x4x2xf32>, tensor<1x4x8xf32>, tensor<1x4xf32>, tensor<6x1x4x2xf32>, tensor<6x1x4x2x2xf32>)
    %z = mf.mhc_post %x, %m, %y, %s {name = "mhc_post"} : (tensor<1x4x8xf32>, tensor<1x4x2x2xf32>, tensor<1x4x4xf32>, tensor<1x4x2xf32>) -> tensor<1x4x8xf32>
    mf.return %z : tensor<1x4x8xf32>
  }
}

// Results that nothing reads have gradients of 0.
// CHECK-LABEL: mf.model @gradients_of_a_part_of_a_site
// CHECK: %[[DY:.*]] = mf.cut
// CHECK: %[[DS:.*]] = mf.scale %{{.*}} {name = "layer.mhc_pre.grad", value = 0.000000e+00 : f64} : (tensor<1x4x2xf32>)
// CHECK: %[[DM:.*]] = mf.scale %{{.*}} {name = "layer.mhc_pre.grad", value = 0.000000e+00 : f64} : (tensor<1x4x2x2xf32>)
// CHECK: mf.mhc_pre_grad %[[DY]], %[[DS]], %[[DM]],
mf.model @gradients_of_a_part_of_a_site attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  mf.param @w : tensor<8x8xf32> init <ones>
  mf.param @f : tensor<3xf32> init <ones>
  mf.param @b : tensor<8xf32> init <ones>
  mf.layer @layer body (%x: tensor<1x4x8xf32>) -> tensor<1x4x4xf32>
      attributes {placement = #mf.placement<stage = 1, chunk = 0>} {
    %w = mf.get_param @w : tensor<8x8xf32>
    %f = mf.get_param @f : tensor<3xf32>
    %b = mf.get_param @b : tensor<8xf32>
    %y, %s, %m, %saved:5 = mf.mhc_pre %x, %w, %f, %b {name = "mhc_pre", count = 2 : i64, epsilon = 0.125 : f64, iterations = 3 : i64, least = 0.125 : f64}
        : (tensor<1x4x8xf32>, tensor<8x8xf32>, tensor<3xf32>, tensor<8xf32>)
        -> (tensor<1x4x4xf32>, tensor<1x4x2xf32>, tensor<1x4x2x2xf32>, tensor<1x4x2xf32>, tensor<1x4x8xf32>, tensor<1x4xf32>, tensor<6x1x4x2xf32>, tensor<6x1x4x2x2xf32>)
    mf.return %y : tensor<1x4x4xf32>
  }
}

// Attention reads its operands, its result and the logarithms of sums again, the indexer its operands and what it chose, and
// no gradient flows through shares.
// CHECK-LABEL: mf.model @gradients_of_attention_keep_no_scores
// CHECK: mf.chunk @chunk0 (%[[Q:.*]]: tensor<1x4x2x4xf32>)
// CHECK: %[[SCORES:.*]], %[[CHOSEN:.*]] = mf.lightning_indexer %[[Q]], %[[K:.*]], %[[W:.*]] {
// CHECK-NEXT: %[[Y:.*]], %[[SUM:.*]] = mf.hybrid_attention %[[Q]], %[[K]], %[[SINK:.*]] over %[[K]] at %[[CHOSEN]] {
// CHECK-NEXT: %[[T:.*]] = mf.entry_shares %[[Q]], %[[K]], %[[CHOSEN]], %[[SUM]]
// CHECK-NEXT: %[[V:.*]] = mf.mul %[[SCORES]], %[[T]]
// CHECK: mf.mul %{{.*}}, %[[T]] {name = "layer.mul.grad"}
// CHECK-NEXT: mf.hybrid_attention_grad %{{.*}}, %[[Q]], %[[K]], %[[SINK]], %[[Y]], %[[SUM]] over %[[K]] at %[[CHOSEN]] {{.*}}name = "layer.attention.grad"
// CHECK: mf.lightning_indexer_grad %{{.*}}, %[[Q]], %[[K]], %[[W]], %[[CHOSEN]] {name = "layer.topk.grad"}
// CHECK-NOT: mf.entry_shares
mf.model @gradients_of_attention_keep_no_scores attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  mf.param @k : tensor<1x4x4xf32> init <ones>
  mf.param @w : tensor<1x4x2xf32> init <ones>
  mf.param @sink : tensor<2xf32> init <ones>
  mf.layer @layer body (%q: tensor<1x4x2x4xf32>) -> (tensor<1x4x2x4xf32>, tensor<1x4x1xf32>)
      attributes {placement = #mf.placement<stage = 1, chunk = 0>} {
    %k = mf.get_param @k : tensor<1x4x4xf32>
    %w = mf.get_param @w : tensor<1x4x2xf32>
    %sink = mf.get_param @sink : tensor<2xf32>
    %scores, %chosen = mf.lightning_indexer %q, %k, %w {name = "topk", k = 1 : i64, ratio = 1 : i64, unseen = -1.0 : f64}
        : (tensor<1x4x2x4xf32>, tensor<1x4x4xf32>, tensor<1x4x2xf32>) -> (tensor<1x4x1xf32>, tensor<1x4x1xi32>)
    %y, %sum = mf.hybrid_attention %q, %k, %sink over %k at %chosen {name = "attention", ratio = 1 : i64, scale = 0.5 : f64, window = 2 : i64}
        : (tensor<1x4x2x4xf32>, tensor<1x4x4xf32>, tensor<2xf32>, tensor<1x4x4xf32>, tensor<1x4x1xi32>) -> (tensor<1x4x2x4xf32>, tensor<1x4x2xf32>)
    %t = mf.entry_shares %q, %k, %chosen, %sum {name = "shares", scale = 0.5 : f64} : (tensor<1x4x2x4xf32>, tensor<1x4x4xf32>, tensor<1x4x1xi32>, tensor<1x4x2xf32>) -> tensor<1x4x1xf32>
    %v = mf.mul %scores, %t {name = "mul"} : (tensor<1x4x1xf32>, tensor<1x4x1xf32>) -> tensor<1x4x1xf32>
    mf.return %y, %v : tensor<1x4x2x4xf32>, tensor<1x4x1xf32>
  }
}
