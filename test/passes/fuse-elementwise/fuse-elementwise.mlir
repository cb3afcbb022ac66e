// Launches whose results nothing else reads become one.
// RUN: %variants %s > %t.mlir
// RUN: %roundtrip --pass-pipeline='builtin.module(ascend.program(ascend-fuse-elementwise))' %t.mlir | FileCheck %s
// RUN: %roundtrip --pass-pipeline='builtin.module(ascend.program(ascend-fuse-elementwise))' --remarks-filter-passed=fuse %t.mlir -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: %roundtrip --pass-pipeline='builtin.module(ascend.program(ascend-fuse-elementwise{print-plan}))' %t.mlir -o /dev/null 2>&1 | FileCheck %s --check-prefix=PLAN
// RUN: %roundtrip --pass-pipeline='builtin.module(ascend.program(ascend-fuse-elementwise,ascend-fuse-elementwise))' %t.mlir | FileCheck %s

// REMARK: Function=program | Remark="aclnnSilu, aclnnMul, aclnnAdd run as one kernel", buffer bytes gone=256, bytes not moved=640, chains=1, launches joined=3
// REMARK: Remark="aclnnNeg, aclnnMuls run as one kernel", buffer bytes gone=128, bytes not moved=256, chains=1, launches joined=2
// PLAN: stage 0: chains
// PLAN-NEXT: 1 x aclnnSilu, aclnnMul, aclnnAdd: 3 launches, 256 bytes of buffers less, 640 bytes moved less

// CHECK-LABEL: ascend.program @program
ascend.program @program stage 0 attributes {
    micro_batches = 1 : i64, micro_batch_size = 1 : i64, sequence_length = 8 : i64,
    vocab_size = 16 : i64, pad_token_id = -1 : i64, ignore_index = -100 : i64} {
  ascend.stream @compute compute
  ascend.stream @h2d h2d
  ascend.static @w parameter of "w" : !ascend.buffer<4x8xf32, hbm>
  ascend.static @tokens tokens : !ascend.buffer<4x8xf32, host>
  // A chain stands at its last launch, and is of its operator.
  // CHECK-LABEL: ascend.routine @joins(
  // CHECK-NEXT: %[[H:.*]] = ascend.alloc
  // CHECK-NEXT: ascend.launch "aclnnMatmul"(%arg0, %arg1) -> (%[[H]])
  // CHECK-NEXT: ascend.launch "mfChain"(%[[H]], %arg0) -> (%arg2) {steps = #ascend.steps<aclnnSilu(in0) : tensor<4x8xf32>, aclnnMul(t0, in0) : tensor<4x8xf32>, aclnnAdd(in1, t1) : tensor<4x8xf32>>} cell "add"
  // CHECK-NEXT: }
  ascend.routine @joins(%x: !ascend.buffer<4x8xf32, hbm>, %w: !ascend.buffer<8x8xf32, hbm>, %y: !ascend.buffer<4x8xf32, hbm>) {
    ascend.launch "aclnnMatmul"(%x, %w) -> (%h) {} : (!ascend.buffer<4x8xf32, hbm>, !ascend.buffer<8x8xf32, hbm>) -> !ascend.buffer<4x8xf32, hbm>
    ascend.launch "aclnnSilu"(%h) -> (%a) {} cell "silu" : (!ascend.buffer<4x8xf32, hbm>) -> !ascend.buffer<4x8xf32, hbm>
    ascend.launch "aclnnMul"(%a, %h) -> (%b) {} cell "mul" : (!ascend.buffer<4x8xf32, hbm>, !ascend.buffer<4x8xf32, hbm>) -> !ascend.buffer<4x8xf32, hbm>
    ascend.launch "aclnnAdd"(%x, %b) -> (%y) {} cell "add" : (!ascend.buffer<4x8xf32, hbm>, !ascend.buffer<4x8xf32, hbm>) -> !ascend.buffer<4x8xf32, hbm>
  }
  // A result with another reader, one outside of the routine and what a view shows stay.
  // CHECK-LABEL: ascend.routine @keeps(
  // CHECK: "aclnnNeg"
  // CHECK: "aclnnSilu"
  // CHECK: "aclnnMatmul"
  // CHECK: "aclnnSqrt"
  // CHECK: "aclnnSqrt"
  // CHECK: "aclnnNeg"
  // CHECK: "aclnnSqrt"
  ascend.routine @keeps(%x: !ascend.buffer<8x8xf32, hbm>, %y: !ascend.buffer<8x8xf32, hbm>) {
    ascend.launch "aclnnNeg"(%x) -> (%a) {} : (!ascend.buffer<8x8xf32, hbm>) -> !ascend.buffer<8x8xf32, hbm>
    ascend.launch "aclnnSilu"(%a) -> (%b) {} : (!ascend.buffer<8x8xf32, hbm>) -> !ascend.buffer<8x8xf32, hbm>
    ascend.launch "aclnnMatmul"(%a, %b) -> (%y) {} : (!ascend.buffer<8x8xf32, hbm>, !ascend.buffer<8x8xf32, hbm>) -> !ascend.buffer<8x8xf32, hbm>
    ascend.launch "aclnnSqrt"(%x) -> (%y) {} : (!ascend.buffer<8x8xf32, hbm>) -> !ascend.buffer<8x8xf32, hbm>
    ascend.launch "aclnnSqrt"(%y) -> (%x) {} : (!ascend.buffer<8x8xf32, hbm>) -> !ascend.buffer<8x8xf32, hbm>
    ascend.launch "aclnnNeg"(%x) -> (%c) {} : (!ascend.buffer<8x8xf32, hbm>) -> !ascend.buffer<8x8xf32, hbm>
    %d = ascend.view %c : !ascend.buffer<8x8xf32, hbm> to !ascend.buffer<8x8xf32, hbm>
    ascend.launch "aclnnSqrt"(%d) -> (%y) {} : (!ascend.buffer<8x8xf32, hbm>) -> !ascend.buffer<8x8xf32, hbm>
  }
  // What an event orders stays on its side of it.
  // CHECK-LABEL: ascend.routine @events(
  // CHECK: "aclnnNeg"
  // CHECK: ascend.record
  // CHECK: "aclnnSilu"
  ascend.routine @events(%x: !ascend.buffer<4x8xf32, hbm>, %y: !ascend.buffer<4x8xf32, hbm>) {
    ascend.launch "aclnnNeg"(%x) -> (%a) {} : (!ascend.buffer<4x8xf32, hbm>) -> !ascend.buffer<4x8xf32, hbm>
    %e = ascend.record @compute
    ascend.launch "aclnnSilu"(%a) -> (%y) {} : (!ascend.buffer<4x8xf32, hbm>) -> !ascend.buffer<4x8xf32, hbm>
  }
  // So does what a call records an event behind, whose count follows.
  // CHECK-LABEL: ascend.routine @recorded(
  // CHECK-NEXT: ascend.launch "mfChain"(%arg0) -> (%arg1)
  // CHECK-NEXT: %[[B:.*]] = ascend.alloc
  // CHECK-NEXT: ascend.launch "aclnnNeg"(%arg0) -> (%[[B]])
  // CHECK-NEXT: ascend.launch "aclnnSilu"(%[[B]]) -> (%arg0)
  ascend.routine @recorded(%x: !ascend.buffer<4x8xf32, hbm>, %y: !ascend.buffer<4x8xf32, hbm>) {
    ascend.launch "aclnnNeg"(%x) -> (%a) {} : (!ascend.buffer<4x8xf32, hbm>) -> !ascend.buffer<4x8xf32, hbm>
    ascend.launch "aclnnMuls"(%a) -> (%y) {value = 0.5 : f64} : (!ascend.buffer<4x8xf32, hbm>) -> !ascend.buffer<4x8xf32, hbm>
    ascend.launch "aclnnNeg"(%x) -> (%b) {} : (!ascend.buffer<4x8xf32, hbm>) -> !ascend.buffer<4x8xf32, hbm>
    ascend.launch "aclnnSilu"(%b) -> (%x) {} : (!ascend.buffer<4x8xf32, hbm>) -> !ascend.buffer<4x8xf32, hbm>
  }
  // Nothing that is read moves behind what overwrites it.
  // CHECK-LABEL: ascend.routine @overwrites(
  // CHECK: "aclnnNeg"
  // CHECK: "aclnnInplaceZero"
  // CHECK: "aclnnMul"
  ascend.routine @overwrites(%x: !ascend.buffer<4x8xf32, hbm>, %y: !ascend.buffer<4x8xf32, hbm>) {
    ascend.launch "aclnnNeg"(%w) -> (%a) {} : (!ascend.buffer<4x8xf32, hbm>) -> !ascend.buffer<4x8xf32, hbm>
    %again = ascend.global @w : !ascend.buffer<4x8xf32, hbm>
    ascend.launch "aclnnInplaceZero"() -> (%again) {} : () -> !ascend.buffer<4x8xf32, hbm>
    ascend.launch "aclnnMul"(%a, %again) -> (%y) {} : (!ascend.buffer<4x8xf32, hbm>, !ascend.buffer<4x8xf32, hbm>) -> !ascend.buffer<4x8xf32, hbm>
  }
  // CHECK: ascend.call @recorded(%{{.*}}) records [1, 2]
  ascend.step {
    %x = ascend.message : !ascend.buffer<4x8xf32, hbm>
    %y = ascend.message : !ascend.buffer<4x8xf32, hbm>
    %e:2 = ascend.call @recorded(%x, %y) records [2, 3] : (!ascend.buffer<4x8xf32, hbm>, !ascend.buffer<4x8xf32, hbm>) -> (!ascend.event, !ascend.event)
  }
}
