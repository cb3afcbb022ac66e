// The plan as text, and as one remark for each layer with what it costs and saves.
// RUN: %roundtrip --pass-pipeline='builtin.module(mf.model(mf.chunk(mf-insert-recompute{print-plan=true})))' %s -o /dev/null 2>&1 | FileCheck %s --check-prefix=PLAN
// RUN: %roundtrip --pass-pipeline='builtin.module(mf.model(mf.chunk(mf-insert-recompute)))' --remarks-filter-passed=recompute %s -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// PLAN: recompute plan: 3 operators run again, 48 bytes not kept, 24 flops more
// PLAN-NEXT: clone layers.0.w1.matmul
// PLAN-NEXT: clone layers.0.w1.silu
// PLAN-NEXT: clone layers.1.neg
// PLAN-NEXT: keep layers.0.w2.softmax
// PLAN-NOT: {{.}}

// REMARK: :[[#@LINE+5]]:10: remark: [Passed] Recompute | Category:recompute | Function=chunk0 | Remark="layer layers.0 computes operators again", bytes not kept=32, flops=20, operators=2
// REMARK: :[[#@LINE+7]]:10: remark: [Passed] Recompute | Category:recompute | Function=chunk0 | Remark="layer layers.1 computes operators again", bytes not kept=16, flops=4, operators=1
mf.model @m attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  mf.chunk @chunk0 (%x: tensor<2x2xf32>) -> tensor<2x2xf32>
      attributes {placement = #mf.placement<stage = 0, chunk = 0>, inputs = [], input_indices = [], gradients = []} {
    %a = mf.matmul %x, %x {name = "layers.0.w1.matmul", recompute = #mf.recompute<select>} : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    %b = mf.silu %a {name = "layers.0.w1.silu", recompute = #mf.recompute<select>} : (tensor<2x2xf32>) -> tensor<2x2xf32>
    %c = mf.softmax %b {name = "layers.0.w2.softmax"} : (tensor<2x2xf32>) -> tensor<2x2xf32>
    %y = mf.neg %c {name = "layers.1.neg", recompute = #mf.recompute<full>} : (tensor<2x2xf32>) -> tensor<2x2xf32>
    %dy = mf.cut %y : tensor<2x2xf32>
    %d1 = mf.silu_grad %dy, %y : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    %d2 = mf.mul %d1, %b : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    %d3 = mf.silu_grad %d2, %a : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    mf.return %d3 : tensor<2x2xf32>
  }
}
