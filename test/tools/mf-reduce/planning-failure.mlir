// mf-reduce leaves of a program that cannot be planned only what it takes to fail.
// RUN: mf-reduce %s -reduction-tree='traversal-mode=0 test=%S/Inputs/fails-to-plan.sh' -o %t
// RUN: FileCheck %s < %t

// CHECK: ascend.program @stage0
// CHECK-NOT: @other
// CHECK: ascend.frame_layout @chunk0.residuals
// The step's call needs its routine, but nothing needs the launch in it.
// CHECK: ascend.routine @unrelated() {
// CHECK-NOT: ascend.launch
// CHECK: ascend.step
ascend.program @stage0 stage 0 attributes {
    micro_batches = 1 : i64, micro_batch_size = 1 : i64, sequence_length = 8 : i64,
    vocab_size = 16 : i64, pad_token_id = -1 : i64, ignore_index = -100 : i64} {
  ascend.static @weight parameter of "weight" : !ascend.buffer<8x8xf32, hbm>
  ascend.static @other parameter of "other" : !ascend.buffer<8x8xf32, hbm>
  ascend.static @weight.gradient gradient of "weight" : !ascend.buffer<8x8xf32, hbm>
  ascend.static @other.gradient gradient of "other" : !ascend.buffer<8x8xf32, hbm>
  ascend.stream @compute compute
  ascend.frame_layout @chunk0.residuals [!ascend.buffer<8xf32, hbm>] of ["norm"]
  ascend.routine @unrelated() {
    %w = ascend.alloc : !ascend.buffer<8x8xf32, hbm>
    ascend.launch "aclnnInplaceZero" () -> (%w) {} : () -> !ascend.buffer<8x8xf32, hbm>
  }
  ascend.step {
    ascend.call @unrelated() : () -> ()
  }
}
