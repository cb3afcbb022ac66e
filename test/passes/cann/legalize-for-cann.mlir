// Launches get what functions of CANN need beside the operands as their workspace.
// RUN: %variants %s > %t.mlir
// RUN: %roundtrip --pass-pipeline='builtin.module(ascend.program(ascend-legalize-for-cann))' %t.mlir | FileCheck %s
// RUN: %roundtrip --pass-pipeline='builtin.module(ascend.program(ascend-legalize-for-cann{print-plan=true}))' --remarks-filter=cann %t.mlir -o /dev/null 2>&1 | FileCheck %s --check-prefix=SAID
// Nothing is left to do behind the pass.
// RUN: %roundtrip --pass-pipeline='builtin.module(ascend.program(ascend-legalize-for-cann))' %t.mlir -o %t.once
// RUN: %roundtrip --pass-pipeline='builtin.module(ascend.program(ascend-legalize-for-cann))' %t.once -o %t.twice
// RUN: diff %t.once %t.twice && FileCheck %s < %t.twice

// SAID-DAG: Remark="aclnnCrossEntropyLoss has i64[4], f32[4x8], bool[4], f32[4], f32[1] in its workspace", launches=1, most bytes=448
// SAID-DAG: Remark="mfNonFiniteCheck has bool[80], f32[80], f32[1] in its workspace", launches=1, most bytes=576
// SAID-DAG: Remark="mfNewtonSchulz has f32[1x4x8], f32[1], bf16[1] in its workspace", launches=1, most bytes=320
// SAID-DAG: Remark="CANN has no counterpart of mfExchangeTokens", launches=1
// SAID-DAG: Remark="aclnnForeachNorm: expected a norm without factors; lower with --for-cann", launches=1
// SAID:      stage 0: on CANN
// SAID-NEXT:   1 x aclnnCrossEntropyLoss: up to 448 bytes, i64[4], f32[4x8], bool[4], f32[4], f32[1]
// SAID-NEXT:   1 x aclnnRmsNormGrad: up to 64 bytes, f32[8]
// SAID-NEXT:   1 x mfNewtonSchulz: up to 320 bytes, f32[1x4x8], f32[1], bf16[1]
// SAID-NEXT:   1 x mfNonFiniteCheck: up to 576 bytes, bool[80], f32[80], f32[1]
// SAID-NEXT:   1 x aclnnForeachNorm: expected a norm without factors; lower with --for-cann
// SAID-NEXT:   1 x mfExchangeTokens: CANN has no counterpart
ascend.program @step stage 0 attributes {
    micro_batches = 1 : i64, micro_batch_size = 1 : i64, sequence_length = 4 : i64,
    vocab_size = 8 : i64, pad_token_id = -1 : i64, ignore_index = -100 : i64} {
  ascend.stream @compute compute
  // CHECK-LABEL: ascend.routine @forward
  ascend.routine @forward(%logits: !ascend.buffer<4x8xf32, hbm>, %loss: !ascend.buffer<f32, hbm>) {
    // The labels take 32 bytes, the logarithms 128 and three more tensors up to 32, each with 32 bytes behind it, up to a multiple of 64.
    // CHECK:      %[[W:.*]] = ascend.alloc : <112xi32, hbm>
    // CHECK-NEXT: ascend.launch "aclnnCrossEntropyLoss"(%{{.*}}, %{{.*}}) -> (%{{.*}}, %{{.*}}, %{{.*}}) workspace(%[[W]] : !ascend.buffer<112xi32, hbm>)
    ascend.launch "aclnnCrossEntropyLoss" (%logits, %labels) -> (%loss, %sum, %count) {ignore_index = -100 : i64}
        : (!ascend.buffer<4x8xf32, hbm>, !ascend.buffer<4xi32, hbm>)
          -> (!ascend.buffer<f32, hbm>, !ascend.buffer<4xf32, hbm>, !ascend.buffer<f32, hbm>)
    // CANN has no mfExchangeTokens. Kernels without temporaries stay.
    // CHECK: ascend.launch "mfExchangeTokens"({{.*}}) -> ({{.*}}) {fill = 0.000000e+00 : f64}
    %rows = ascend.view %logits : !ascend.buffer<4x8xf32, hbm> to !ascend.buffer<1x1x4x8xf32, hbm>
    %number = ascend.view %loss : !ascend.buffer<f32, hbm> to !ascend.buffer<1x1x1x1xf32, hbm>
    ascend.launch "mfExchangeTokens" (%rows, %number, %number) -> (%out) {fill = 0.000000e+00 : f64}
        : (!ascend.buffer<1x1x4x8xf32, hbm>, !ascend.buffer<1x1x1x1xf32, hbm>, !ascend.buffer<1x1x1x1xf32, hbm>)
          -> !ascend.buffer<1x1x4x8xf32, hbm>
    // Some launches are refused for what they have.
    ascend.launch "aclnnForeachNorm" (%logits, %loss) -> (%norm) workspace(%partial : !ascend.buffer<1xi32, hbm>) {}
        : (!ascend.buffer<4x8xf32, hbm>, !ascend.buffer<f32, hbm>) -> !ascend.buffer<f32, hbm>
  }
  // CHECK-LABEL: ascend.routine @backward
  ascend.routine @backward(%x: !ascend.buffer<4x8xbf16, hbm>) {
    // A workspace of ours that is as large stays.
    // CHECK:      %[[OURS:.*]] = ascend.alloc : <40xi32, hbm>
    // CHECK: ascend.launch "aclnnRmsNormGrad"({{.*}}) -> ({{.*}}) workspace(%[[OURS]] :
    ascend.launch "aclnnRmsNormGrad" (%x, %x, %rstd, %gamma) -> (%dx, %dgamma) workspace(%ours : !ascend.buffer<40xi32, hbm>) {}
        : (!ascend.buffer<4x8xbf16, hbm>, !ascend.buffer<4x8xbf16, hbm>, !ascend.buffer<4xf32, hbm>, !ascend.buffer<8xbf16, hbm>)
          -> (!ascend.buffer<4x8xbf16, hbm>, !ascend.buffer<8xbf16, hbm>)
    // A BOOL is a byte.
    // CHECK: %[[W:.*]] = ascend.alloc : <144xi32, hbm>
    // CHECK-NEXT: ascend.launch "mfNonFiniteCheck"(%{{.*}}) -> (%{{.*}}) workspace(%[[W]] :
    ascend.launch "mfNonFiniteCheck" (%gradient) -> (%found) {} : (!ascend.buffer<2x40xf32, hbm>) -> !ascend.buffer<f32, hbm>
    // The products lie where the squares were.
    // CHECK:      %[[W:.*]] = ascend.alloc : <80xi32, hbm>
    // CHECK-NEXT: ascend.launch "mfNewtonSchulz"(%{{.*}}) -> (%{{.*}}) workspace(%[[W]] :
    %matrix = ascend.view %x : !ascend.buffer<4x8xbf16, hbm> to !ascend.buffer<1x4x8xbf16, hbm>
    ascend.launch "mfNewtonSchulz" (%matrix) -> (%orthogonal) workspace(%squares : !ascend.buffer<64xi32, hbm>) {coefficients = array<f64: 3.5, -4.5, 2.0>, eps = 1.0e-1 : f64}
        : (!ascend.buffer<1x4x8xbf16, hbm>) -> !ascend.buffer<1x4x8xbf16, hbm>
  }
}
