// Fused attention of DeepSeek-V4: what CANN's kernels need beside the operands, and the sizes that they do not take.
// RUN: %variants %s | %roundtrip --pass-pipeline='builtin.module(ascend.program(ascend-legalize-for-cann{print-plan=true}))' --remarks-filter=cann -o /dev/null 2>&1 | FileCheck %s

// The list of indices has 512 places for each query, or 1024, and the program has the division of work and the rest behind the last entry.
// CHECK-DAG: Remark="mfHybridAttention has i32[2], i32[2x130x1x512], i32[1024] in its workspace"
// Keys of a block get zeros before them: with entries for all tokens of the sequence.
// CHECK-DAG: Remark="mfHybridAttentionPart has bf16[2x260x512], i32[2], i32[2x65x1x512], i32[1024] in its workspace"
// CHECK-DAG: Remark="mfHybridAttention: expected one block of the sequence on each rank; or set apply_dsa_kernel_fusion: False", launches=1
// CHECK-DAG: Remark="mfLightningIndexerPart has i32[2], f32[2x65x8] in its workspace"
// CHECK-DAG: Remark="mfHybridAttentionGrad: CANN adds up in any order, so that its last bits may differ from run to run on Atlas A2 and A3", launches=1
// CHECK-DAG: Remark="mfHybridAttention: expected a compute_dtype of bfloat16 or float16; or set apply_dsa_kernel_fusion: False", launches=1
// CHECK-DAG: Remark="mfHybridAttention: expected a v_head_dim of 512; or set apply_dsa_kernel_fusion: False", launches=1
// CHECK-DAG: Remark="mfHybridAttention: expected a power of two up to 128 for num_attention_heads; or set apply_dsa_kernel_fusion: False", launches=1
// CHECK-DAG: Remark="mfHybridAttention: expected a sliding_window of 128; or set apply_dsa_kernel_fusion: False", launches=1
// CHECK-DAG: Remark="mfHybridAttention: expected compress_ratios of 4 with an indexer, without csa_dense_mode, and of 128; or set apply_dsa_kernel_fusion: False", launches=1
// CHECK-DAG: Remark="mfHybridAttention: expected an index_topk up to 1024; or set apply_dsa_kernel_fusion: False", launches=1
// CHECK-DAG: Remark="mfLightningIndexer has i32[2], f32[2x130x8] in its workspace"
// CHECK-DAG: Remark="mfLightningIndexer: expected an index_head_dim of 128; or set apply_dsa_kernel_fusion: False", launches=1
// CHECK-DAG: Remark="mfEntryShares has i32[2x130x4], bool[2x130x4], bool[2x130x4], f32[2x32x512], bf16[2x130x512], f32[2x130x512], f32[2x130x1], f32[2x130x32], f32[2x130x32] in its workspace"
// CHECK:     stage 0: on CANN
// CHECK:       1 x mfHybridAttentionPartGrad: up to 1052864 bytes, bf16[2x257x512], bf16[2x257x512], f32[2]
// CHECK:       1 x mfHybridAttentionGrad: CANN adds up in any order
ascend.program @step stage 0 attributes {
    micro_batches = 1 : i64, micro_batch_size = 2 : i64, sequence_length = 130 : i64,
    vocab_size = 8 : i64, pad_token_id = -1 : i64, ignore_index = -100 : i64} {
  ascend.stream @compute compute
  ascend.routine @fits() {
    ascend.launch "mfLightningIndexer" (%own, %rows, %weights) -> (%values, %chosen) {ratio = 4 : i64, k = 4 : i64, unseen = -1.0e30 : f64}
        : (!ascend.buffer<2x130x8x128xbf16, hbm>, !ascend.buffer<2x32x128xbf16, hbm>, !ascend.buffer<2x130x8xbf16, hbm>)
          -> (!ascend.buffer<2x130x4xf32, hbm>, !ascend.buffer<2x130x4xi32, hbm>)
    ascend.launch "mfHybridAttention" (%query, %keys, %sink, %entries, %indices) -> (%out, %sum) {window = 128 : i64, ratio = 4 : i64, scale = 0.04 : f64}
        : (!ascend.buffer<2x130x2x512xbf16, hbm>, !ascend.buffer<2x130x512xbf16, hbm>, !ascend.buffer<2xf32, hbm>, !ascend.buffer<2x32x512xbf16, hbm>, !ascend.buffer<2x130x4xi32, hbm>)
          -> (!ascend.buffer<2x130x2x512xbf16, hbm>, !ascend.buffer<2x130x2xf32, hbm>)
    ascend.launch "mfEntryShares" (%query, %entries, %indices, %sum) -> (%shares) {scale = 0.04 : f64}
        : (!ascend.buffer<2x130x2x512xbf16, hbm>, !ascend.buffer<2x32x512xbf16, hbm>, !ascend.buffer<2x130x4xi32, hbm>, !ascend.buffer<2x130x2xf32, hbm>)
          -> !ascend.buffer<2x130x4xf32, hbm>
    ascend.launch "mfHybridAttentionGrad" (%out, %query, %keys, %sink, %out, %sum) -> (%dq, %dk, %dsink)
        workspace(%ours : !ascend.buffer<600000xi32, hbm>) {window = 128 : i64, ratio = 0 : i64, scale = 0.04 : f64}
        : (!ascend.buffer<2x130x2x512xbf16, hbm>, !ascend.buffer<2x130x2x512xbf16, hbm>, !ascend.buffer<2x130x512xbf16, hbm>, !ascend.buffer<2xf32, hbm>, !ascend.buffer<2x130x2x512xbf16, hbm>, !ascend.buffer<2x130x2xf32, hbm>)
          -> (!ascend.buffer<2x130x2x512xbf16, hbm>, !ascend.buffer<2x130x512xbf16, hbm>, !ascend.buffer<2xf32, hbm>)
  }
  // A rank has a part of the queries.
  ascend.routine @parts() {
    ascend.launch "mfHybridAttentionPart" (%query, %keys, %sink, %first, %entries) -> (%out, %sum) {window = 128 : i64, ratio = 128 : i64, scale = 0.04 : f64}
        : (!ascend.buffer<2x65x2x512xbf16, hbm>, !ascend.buffer<2x130x512xbf16, hbm>, !ascend.buffer<2xf32, hbm>, !ascend.buffer<1xi32, hbm>, !ascend.buffer<2x1x512xbf16, hbm>)
          -> (!ascend.buffer<2x65x2x512xbf16, hbm>, !ascend.buffer<2x65x2xf32, hbm>)
    ascend.launch "mfLightningIndexerPart" (%own, %rows, %weights, %first) -> (%values, %chosen) {ratio = 4 : i64, k = 4 : i64, unseen = -1.0e30 : f64}
        : (!ascend.buffer<2x65x8x128xbf16, hbm>, !ascend.buffer<2x32x128xbf16, hbm>, !ascend.buffer<2x65x8xbf16, hbm>, !ascend.buffer<1xi32, hbm>)
          -> (!ascend.buffer<2x65x4xf32, hbm>, !ascend.buffer<2x65x4xi32, hbm>)
  }
  // A rank has half of the queries of its block.
  ascend.routine @blocks() {
    ascend.launch "mfHybridAttentionPart" (%query, %keys, %sink, %first, %entries, %indices) -> (%out, %sum) {window = 128 : i64, ratio = 4 : i64, scale = 0.04 : f64}
        : (!ascend.buffer<2x65x2x512xbf16, hbm>, !ascend.buffer<2x1x257x512xbf16, hbm>, !ascend.buffer<2xf32, hbm>, !ascend.buffer<1xi32, hbm>, !ascend.buffer<2x65x512xbf16, hbm>, !ascend.buffer<2x65x4xi32, hbm>)
          -> (!ascend.buffer<2x65x2x512xbf16, hbm>, !ascend.buffer<2x65x2xf32, hbm>)
    ascend.launch "mfHybridAttentionPart" (%query, %keys, %sink, %first) -> (%out, %sum) {window = 128 : i64, ratio = 0 : i64, scale = 0.04 : f64}
        : (!ascend.buffer<2x65x2x512xbf16, hbm>, !ascend.buffer<2x1x257x512xbf16, hbm>, !ascend.buffer<2xf32, hbm>, !ascend.buffer<1xi32, hbm>)
          -> (!ascend.buffer<2x65x2x512xbf16, hbm>, !ascend.buffer<2x65x2xf32, hbm>)
    ascend.launch "mfHybridAttentionPartGrad" (%out, %query, %keys, %sink, %out, %sum, %first) -> (%dq, %dk, %dsink)
        workspace(%ours : !ascend.buffer<1052688xi32, hbm>) {window = 128 : i64, ratio = 0 : i64, scale = 0.04 : f64}
        : (!ascend.buffer<2x65x2x512xbf16, hbm>, !ascend.buffer<2x65x2x512xbf16, hbm>, !ascend.buffer<2x1x257x512xbf16, hbm>, !ascend.buffer<2xf32, hbm>, !ascend.buffer<2x65x2x512xbf16, hbm>, !ascend.buffer<2x65x2xf32, hbm>, !ascend.buffer<1xi32, hbm>)
          -> (!ascend.buffer<2x65x2x512xbf16, hbm>, !ascend.buffer<2x1x257x512xbf16, hbm>, !ascend.buffer<2xf32, hbm>)
  }
  ascend.routine @does_not() {
    ascend.launch "mfHybridAttention" (%wide, %wideKeys, %sink) -> (%outWide, %sum) {window = 128 : i64, ratio = 0 : i64, scale = 0.04 : f64}
        : (!ascend.buffer<1x130x2x512xf32, hbm>, !ascend.buffer<1x130x512xf32, hbm>, !ascend.buffer<2xf32, hbm>)
          -> (!ascend.buffer<1x130x2x512xf32, hbm>, !ascend.buffer<1x130x2xf32, hbm>)
    ascend.launch "mfHybridAttention" (%narrow, %narrowKeys, %sink) -> (%outNarrow, %sum) {window = 128 : i64, ratio = 0 : i64, scale = 0.04 : f64}
        : (!ascend.buffer<1x130x2x64xbf16, hbm>, !ascend.buffer<1x130x64xbf16, hbm>, !ascend.buffer<2xf32, hbm>)
          -> (!ascend.buffer<1x130x2x64xbf16, hbm>, !ascend.buffer<1x130x2xf32, hbm>)
    ascend.launch "mfHybridAttention" (%three, %keys, %sinks) -> (%outThree, %sumThree) {window = 128 : i64, ratio = 0 : i64, scale = 0.04 : f64}
        : (!ascend.buffer<1x130x3x512xbf16, hbm>, !ascend.buffer<1x130x512xbf16, hbm>, !ascend.buffer<3xf32, hbm>)
          -> (!ascend.buffer<1x130x3x512xbf16, hbm>, !ascend.buffer<1x130x3xf32, hbm>)
    ascend.launch "mfHybridAttention" (%query, %keys, %sink) -> (%out, %sum) {window = 64 : i64, ratio = 0 : i64, scale = 0.04 : f64}
        : (!ascend.buffer<1x130x2x512xbf16, hbm>, !ascend.buffer<1x130x512xbf16, hbm>, !ascend.buffer<2xf32, hbm>)
          -> (!ascend.buffer<1x130x2x512xbf16, hbm>, !ascend.buffer<1x130x2xf32, hbm>)
    ascend.launch "mfHybridAttention" (%query, %keys, %sink, %entries) -> (%out, %sum) {window = 128 : i64, ratio = 4 : i64, scale = 0.04 : f64}
        : (!ascend.buffer<1x130x2x512xbf16, hbm>, !ascend.buffer<1x130x512xbf16, hbm>, !ascend.buffer<2xf32, hbm>, !ascend.buffer<1x32x512xbf16, hbm>)
          -> (!ascend.buffer<1x130x2x512xbf16, hbm>, !ascend.buffer<1x130x2xf32, hbm>)
    ascend.launch "mfHybridAttention" (%query, %keys, %sink, %entries, %many) -> (%out, %sum) {window = 128 : i64, ratio = 4 : i64, scale = 0.04 : f64}
        : (!ascend.buffer<1x130x2x512xbf16, hbm>, !ascend.buffer<1x130x512xbf16, hbm>, !ascend.buffer<2xf32, hbm>, !ascend.buffer<1x32x512xbf16, hbm>, !ascend.buffer<1x130x1025xi32, hbm>)
          -> (!ascend.buffer<1x130x2x512xbf16, hbm>, !ascend.buffer<1x130x2xf32, hbm>)
    ascend.launch "mfHybridAttention" (%query, %two, %sink) -> (%out, %sum) {window = 128 : i64, ratio = 0 : i64, scale = 0.04 : f64}
        : (!ascend.buffer<1x130x2x512xbf16, hbm>, !ascend.buffer<1x2x192x512xbf16, hbm>, !ascend.buffer<2xf32, hbm>)
          -> (!ascend.buffer<1x130x2x512xbf16, hbm>, !ascend.buffer<1x130x2xf32, hbm>)
    ascend.launch "mfLightningIndexer" (%own, %rows, %weights) -> (%values, %chosen) {ratio = 4 : i64, k = 4 : i64, unseen = -1.0e30 : f64}
        : (!ascend.buffer<1x130x8x64xbf16, hbm>, !ascend.buffer<1x32x64xbf16, hbm>, !ascend.buffer<1x130x8xbf16, hbm>)
          -> (!ascend.buffer<1x130x4xf32, hbm>, !ascend.buffer<1x130x4xi32, hbm>)
  }
}
