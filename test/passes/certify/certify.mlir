// RUN: %roundtrip --pass-pipeline='builtin.module(mf.model(mf-certify))' -split-input-file %s | FileCheck %s

// CHECK-LABEL: mf.model @each_result_has_a_term
mf.model @each_result_has_a_term attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  mf.param @w : tensor<8x8xf32> init <normal, value = 0.02>
  // CHECK: mf.chunk @chunk0
  // CHECK-SAME: mf.computes = {arguments = 1 : i64, gradients = [
  // CHECK-SAME: ["w", [[DW:-?[0-9]+]]]], input_gradients = [
  // CHECK-SAME: ["layer.matmul.grad", [[DX:-?[0-9]+]]]], output_gradients = 1 : i64, outputs = [
  // CHECK-SAME: ["layer.matmul", [[Y:-?[0-9]+]]]]}
  mf.chunk @chunk0 (%x: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<8x8xf32>) attributes {gradients = [@w], input_indices = [], inputs = [], placement = #mf.placement<stage = 0, chunk = 0>} {
    %w = mf.get_param @w : tensor<8x8xf32>
    %y = mf.matmul %x, %w {name = "layer.matmul"} : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
    %dy = mf.cut %y : tensor<4x8xf32>
    %dx = mf.matmul %dy, %w {name = "layer.matmul.grad", transpose_b = true} : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
    %dw = mf.matmul %x, %dy {name = "layer.matmul.grad", transpose_a = true} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
    mf.return %dx, %dw : tensor<4x8xf32>, tensor<8x8xf32>
  }
  // The same values, made in another order, one of them twice, one of them with a view between.
  // CHECK: mf.chunk @chunk1
  // CHECK-SAME: gradients = {{\[}}["w", [[DW]]]]
  // CHECK-SAME: input_gradients = {{\[}}["b", [[DX]]]]
  // CHECK-SAME: outputs = {{\[}}["a", [[Y]]]]
  mf.chunk @chunk1 (%x: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<8x8xf32>) attributes {gradients = [@w], input_indices = [], inputs = [], placement = #mf.placement<stage = 0, chunk = 1>} {
    %w = mf.get_param @w : tensor<8x8xf32>
    %flat = mf.reshape %x {name = "r"} : (tensor<4x8xf32>) -> tensor<32xf32>
    %back = mf.reshape %flat {name = "r"} : (tensor<32xf32>) -> tensor<4x8xf32>
    %unread = mf.matmul %x, %w {name = "a"} : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
    %y = mf.matmul %back, %w {name = "a"} : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
    %dy = mf.cut %y : tensor<4x8xf32>
    %dw = mf.matmul %back, %dy {name = "c", transpose_a = true} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
    %dx = mf.matmul %dy, %w {name = "b", transpose_b = true} : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
    mf.return %dx, %dw : tensor<4x8xf32>, tensor<8x8xf32>
  }
  // Another attribute, exchanged operands, another operand.
  // CHECK: mf.chunk @chunk2
  // CHECK-NOT: [[DW]]
  // CHECK-NOT: [[DX]]
  // CHECK-NOT: [[Y]]
  // CHECK: mf.get_param
  mf.chunk @chunk2 (%x: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<8x8xf32>) attributes {gradients = [@w], input_indices = [], inputs = [], placement = #mf.placement<stage = 0, chunk = 2>} {
    %w = mf.get_param @w : tensor<8x8xf32>
    %y = mf.matmul %x, %w {name = "layer.matmul", transpose_b = true} : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
    %dy = mf.cut %y : tensor<4x8xf32>
    %dx = mf.matmul %x, %w {name = "layer.matmul.grad", transpose_b = true} : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
    %dw = mf.matmul %dy, %x {name = "layer.matmul.grad", transpose_a = true} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
    mf.return %dx, %dw : tensor<4x8xf32>, tensor<8x8xf32>
  }
}

// A loss is added up; a parameter with another name is another value, one that is tied is not.
// CHECK-LABEL: mf.model @losses_and_parameters
mf.model @losses_and_parameters attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  mf.param @a : tensor<4xf32> init <ones>
  mf.param @b : tensor<4xf32> init <ones> tied to @a
  mf.param @c : tensor<4xf32> init <ones>
  // CHECK: mf.chunk @chunk0
  // CHECK-SAME: outputs = {{\[}}["a", [[A:-?[0-9]+]]], ["b", [[A]]], ["c", [[C:-?[0-9]+]]]]
  // CHECK-NOT: [[A]]
  mf.chunk @chunk0 (%x: tensor<4xf32>) -> tensor<4xf32> attributes {gradients = [], input_indices = [], inputs = [], placement = #mf.placement<stage = 0, chunk = 0>} {
    %a = mf.get_param @a : tensor<4xf32>
    %b = mf.get_param @b : tensor<4xf32>
    %c = mf.get_param @c : tensor<4xf32>
    %p = mf.mul %x, %a {name = "a"} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %q = mf.mul %x, %b {name = "b"} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %r = mf.mul %x, %c {name = "c"} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %dp, %dq, %dr = mf.cut %p, %q, %r : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
    mf.return %dp : tensor<4xf32>
  }
}

// -----

// What recompute may make of the part of a value that is kept stands for the value.
module attributes {mf.mesh = #mf.mesh<pp = 1, mp = 2>} {
  // CHECK-LABEL: mf.model @saved_form
  mf.model @saved_form attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
    // CHECK: mf.computes = {arguments = 1 : i64, equal = array<i64: {{-?[0-9]+}}, {{-?[0-9]+}}>
    mf.chunk @chunk0 (%x: tensor<4x8xf32>) -> tensor<4x8xf32> attributes {gradients = [], input_indices = [], inputs = [], placement = #mf.placement<stage = 0, chunk = 0>} {
      // CHECK-NEXT: mf.keep_part
      // CHECK-NEXT: mf.silu
      %k = mf.keep_part %x over ["mp"] {name = "input", recompute = #mf.recompute<full>} : tensor<4x8xf32>
      %y = mf.silu %k {name = "silu"} : (tensor<4x8xf32>) -> tensor<4x8xf32>
      %dy = mf.cut %y : tensor<4x8xf32>
      %dx = mf.silu_grad %dy, %k {name = "silu.grad"} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
      mf.return %dx : tensor<4x8xf32>
    }
  }
}
