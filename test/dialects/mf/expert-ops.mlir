// RUN: %variants %s | %prints-itself %roundtrip

module attributes {mf.mesh = #mf.mesh<pp = 1, dp = 2, mp = 2>} {
  %rows = mf.gather_rows %x, %order {name = "gather_sort"} : (tensor<2x3x4xf32>, tensor<2x6xi32>) -> tensor<2x6x4xf32>
  %rows_gradient = mf.gather_rows_grad %rows, %order : (tensor<2x6x4xf32>, tensor<2x6xi32>) -> tensor<2x3x4xf32>
  %permuted, %places = mf.token_permute %x, %keys : (tensor<2x3x4xf32>, tensor<2x3xf32>) -> (tensor<2x3x4xf32>, tensor<2x3xi32>)
  %back = mf.token_unpermute %permuted, %places : (tensor<2x3x4xf32>, tensor<2x3xi32>) -> tensor<2x3x4xf32>
  %y = mf.expert_matmul %sorted, %w, %counts {name = "ffn.hook_ffn_forward"} : (tensor<2x1x6x4xf32>, tensor<1x3x4x8xf32>, tensor<2x1x3xf32>) -> tensor<2x1x6x8xf32>
  %dx = mf.expert_matmul %y, %w, %counts {transpose_weight = true} : (tensor<2x1x6x8xf32>, tensor<1x3x4x8xf32>, tensor<2x1x3xf32>) -> tensor<2x1x6x4xf32>
  %dw = mf.expert_matmul_weight_grad %sorted, %y, %counts : (tensor<2x1x6x4xf32>, tensor<2x1x6x8xf32>, tensor<2x1x3xf32>) -> tensor<1x3x4x8xf32>
  %grouped = mf.grouped_matmul %sorted, %w, %counts : (tensor<2x1x6x4xf32>, tensor<1x3x4x8xf32>, tensor<2x1x3xf32>) -> tensor<2x1x6x8xf32>
  %grouped_dw = mf.grouped_matmul_weight_grad %sorted, %y, %counts : (tensor<2x1x6x4xf32>, tensor<2x1x6x8xf32>, tensor<2x1x3xf32>) -> tensor<1x3x4x8xf32>
  %arrived = mf.exchange_tokens %tokens, %send, %receive {name = "ffn.hook_ffn_forward"} : (tensor<1x2x6x4xf32>, tensor<1x2x2x3xf32>, tensor<1x2x2x3xf32>) -> tensor<1x2x9x4xf32>
  // On a rank of a group of four.
  %own_arrived = mf.exchange_tokens %own, %own_send, %own_send {axes = ["dp", "mp"], fill = 3.000000e+00 : f64} : (tensor<1x1x6x4xf32>, tensor<1x1x4x3xf32>, tensor<1x1x4x3xf32>) -> tensor<1x1x9x4xf32>
  %swiglu = mf.swiglu %gate_up {name = "feed_forward.swiglu"} : (tensor<3x2x8xf32>) -> tensor<3x8xf32>
  // One behind the other, as in the description.
  %part = "test.value"() : () -> tensor<4x4xf32>
  %rope = mf.rotary_position_embedding %heads, %table, %table {name = "attention.apply_rotary_emb.rope"} : (tensor<1x2x4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<1x2x4x8xf32>
  %pairs = mf.rotary_position_embedding %heads, %part, %part {interleaved = true, name = "attention.apply_rotary_emb.rope", start = 4 : i64} : (tensor<1x2x4x8xf32>, tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<1x2x4x8xf32>
}
