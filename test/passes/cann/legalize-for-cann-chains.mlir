// Kernels that run as one are launched one by one, and events stay behind the same work.
// RUN: %roundtrip --pass-pipeline='builtin.module(ascend.program(ascend-legalize-for-cann))' %s | FileCheck %s
// RUN: %roundtrip --pass-pipeline='builtin.module(ascend.program(ascend-legalize-for-cann{print-plan=true}))' --remarks-filter=cann %s -o /dev/null 2>&1 | FileCheck %s --check-prefix=SAID

// SAID-DAG: Remark="kernels that run as one are launched one by one", buffer bytes=256, kernels=4, launches=2
// SAID-DAG: 2 launches of fused kernels: 4 launches, 256 bytes of buffers between them
ascend.program @step stage 0 attributes {
    micro_batches = 1 : i64, micro_batch_size = 1 : i64, sequence_length = 4 : i64,
    vocab_size = 8 : i64, pad_token_id = -1 : i64, ignore_index = -100 : i64} {
  ascend.stream @compute compute
  ascend.static @w parameter of "w" : !ascend.buffer<4x8xf32, hbm>
  // CHECK-LABEL: ascend.routine @forward
  ascend.routine @forward(%x: !ascend.buffer<4x8xf32, hbm>, %y: !ascend.buffer<4x8xf32, hbm>, %z: !ascend.buffer<4x8xf32, hbm>) {
    // CHECK-NEXT: %[[A:.*]] = ascend.alloc : <4x8xf32, hbm>
    // CHECK-NEXT: ascend.launch "aclnnSilu"(%arg0) -> (%[[A]]) {} cell "a"
    // CHECK-NEXT: ascend.launch "aclnnMul"(%[[A]], %arg1) -> (%arg1) {} cell "a"
    ascend.launch "mfChain" (%x, %y) -> (%y) {steps = #ascend.steps<
        aclnnSilu(in0) : tensor<4x8xf32>, aclnnMul(t0, in1) : tensor<4x8xf32>>} cell "a"
        : (!ascend.buffer<4x8xf32, hbm>, !ascend.buffer<4x8xf32, hbm>) -> !ascend.buffer<4x8xf32, hbm>
    // CHECK-NEXT: ascend.launch "aclnnNeg"(%arg1) -> (%arg2)
    ascend.launch "aclnnNeg" (%y) -> (%z) {} : (!ascend.buffer<4x8xf32, hbm>) -> !ascend.buffer<4x8xf32, hbm>
    // CHECK-NEXT: %[[B:.*]] = ascend.alloc : <4x8xf32, hbm>
    // CHECK-NEXT: ascend.launch "aclnnMuls"(%arg0) -> (%[[B]]) {value = 5.000000e-01 : f64}
    // CHECK-NEXT: ascend.launch "aclnnAdd"(%[[B]], %arg2) -> (%arg0)
    ascend.launch "mfChain" (%x, %z) -> (%x) {steps = #ascend.steps<
        aclnnMuls(in0) {value = 0.5 : f64} : tensor<4x8xf32>, aclnnAdd(t0, in1) : tensor<4x8xf32>>}
        : (!ascend.buffer<4x8xf32, hbm>, !ascend.buffer<4x8xf32, hbm>) -> !ascend.buffer<4x8xf32, hbm>
  }
  // CHECK-LABEL: ascend.step
  ascend.step {
    %w = ascend.global @w : !ascend.buffer<4x8xf32, hbm>
    %y = ascend.message : !ascend.buffer<4x8xf32, hbm>
    %z = ascend.message : !ascend.buffer<4x8xf32, hbm>
    // CHECK: ascend.call @forward{{.*}} records [2, 3, 5]
    %events:3 = ascend.call @forward(%w, %y, %z) records [1, 2, 3] : (!ascend.buffer<4x8xf32, hbm>, !ascend.buffer<4x8xf32, hbm>, !ascend.buffer<4x8xf32, hbm>) -> (!ascend.event, !ascend.event, !ascend.event)
  }
}
