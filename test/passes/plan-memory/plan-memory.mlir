// Every buffer gets an offset in one arena; what is not alive at the same time shares memory.
// RUN: %roundtrip --pass-pipeline='builtin.module(ascend.program(ascend-plan-memory))' %s | FileCheck %s
// RUN: %roundtrip --pass-pipeline='builtin.module(ascend.program(ascend-plan-memory))' --remarks-filter-analyse=memory %s -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// Device buffers lie on multiples of 512 bytes, host buffers of 64.
// CHECK-LABEL: ascend.program @temporaries_share_memory
// CHECK-SAME: arena_bytes = 3072 : i64, host_bytes = 128 : i64, {{.*}}max_live_bytes = 3072 : i64
// CHECK: ascend.static @w {{.*}} at 0
// CHECK: ascend.static @g {{.*}} at 512
// CHECK: ascend.static @tokens {{.*}} at 0
// CHECK: ascend.static @labels {{.*}} at 64
// The first and the third temporary are never alive together.
// CHECK: ascend.alloc in scratch at [[#FIRST:]]
// CHECK: ascend.launch "aclnnNeg"
// CHECK: ascend.alloc in scratch at [[#sub(1024,FIRST)]]
// CHECK: ascend.launch "aclnnSqrt"
// CHECK: ascend.alloc in scratch at [[#FIRST]]
// CHECK: ascend.call @chain() scratch at 1024
// REMARK: Function=temporaries_share_memory | Remark="peak at task chain, operator aclnnSqrt", arena bytes=3072, max-live bytes=3072, pinned host bytes=128
ascend.program @temporaries_share_memory stage 0 attributes {
    micro_batches = 1 : i64, micro_batch_size = 1 : i64, sequence_length = 8 : i64,
    vocab_size = 16 : i64, pad_token_id = -1 : i64, ignore_index = -100 : i64} {
  ascend.stream @compute compute
  ascend.static @w parameter of "w" : !ascend.buffer<8xf32, hbm>
  ascend.static @g gradient of "w" : !ascend.buffer<8xf32, hbm>
  ascend.static @tokens tokens : !ascend.buffer<9xi32, host>
  ascend.static @labels labels : !ascend.buffer<9xi32, host>
  ascend.routine @chain() {
    %w = ascend.global @w : !ascend.buffer<8xf32, hbm>
    %a = ascend.alloc : !ascend.buffer<256xf32, hbm>
    ascend.launch "aclnnNeg" (%w) -> (%a) {} : (!ascend.buffer<8xf32, hbm>) -> !ascend.buffer<256xf32, hbm>
    %b = ascend.alloc : !ascend.buffer<256xf32, hbm>
    ascend.launch "aclnnSqrt" (%a) -> (%b) {} : (!ascend.buffer<256xf32, hbm>) -> !ascend.buffer<256xf32, hbm>
    %c = ascend.alloc : !ascend.buffer<256xf32, hbm>
    ascend.launch "aclnnSilu" (%b) -> (%c) {} : (!ascend.buffer<256xf32, hbm>) -> !ascend.buffer<256xf32, hbm>
  }
  ascend.step {
    ascend.call @chain() : () -> ()
  }
}

// A residual lives from the forward to the backward run of its micro-batch; two micro-batches in flight have two frames.
// CHECK-LABEL: ascend.program @frames_of_micro_batches
// CHECK-SAME: arena_bytes = 5120 : i64, host_bytes = 0 : i64, {{.*}}max_live_bytes = 5120 : i64
// CHECK: ascend.frame_layout @residuals {{.*}} at [0, 1024] {bytes = 2048 : i64}
// The temporary takes the place of the second residual, which is over.
// CHECK: ascend.alloc in frame at 1024
// Micro-batch 2 gets the frame that micro-batch 0 has left.
// CHECK: ascend.frame @residuals micro_batch 0 at [[#FRAME:]]
// CHECK-NOT: ascend.frame @residuals micro_batch 1 at [[#FRAME]] :
// CHECK: ascend.frame @residuals micro_batch 1
// CHECK: ascend.frame @residuals micro_batch 2 at [[#FRAME]]
// REMARK: Function=frames_of_micro_batches | Remark="peak at task forward, micro-batch 1, operator aclnnSqrt", arena bytes=5120, max-live bytes=5120, pinned host bytes=0
ascend.program @frames_of_micro_batches stage 0 attributes {
    micro_batches = 3 : i64, micro_batch_size = 1 : i64, sequence_length = 8 : i64,
    vocab_size = 16 : i64, pad_token_id = -1 : i64, ignore_index = -100 : i64} {
  ascend.stream @compute compute
  ascend.static @w parameter of "w" : !ascend.buffer<256xf32, hbm>
  ascend.frame_layout @residuals [!ascend.buffer<256xf32, hbm>, !ascend.buffer<256xf32, hbm>] of ["first", "second"]
  ascend.routine @forward() attributes {layout = @residuals} {
    %w = ascend.global @w : !ascend.buffer<256xf32, hbm>
    %first = ascend.slot 0 : !ascend.buffer<256xf32, hbm>
    ascend.launch "aclnnNeg" (%w) -> (%first) {} : (!ascend.buffer<256xf32, hbm>) -> !ascend.buffer<256xf32, hbm>
    %second = ascend.slot 1 : !ascend.buffer<256xf32, hbm>
    ascend.launch "aclnnSqrt" (%first) -> (%second) {} : (!ascend.buffer<256xf32, hbm>) -> !ascend.buffer<256xf32, hbm>
  }
  ascend.routine @backward() attributes {layout = @residuals} {
    %w = ascend.global @w : !ascend.buffer<256xf32, hbm>
    %second = ascend.slot 1 : !ascend.buffer<256xf32, hbm>
    ascend.launch "aclnnSilu" (%second) -> (%w) {} : (!ascend.buffer<256xf32, hbm>) -> !ascend.buffer<256xf32, hbm>
    %first = ascend.slot 0 : !ascend.buffer<256xf32, hbm>
    %temporary = ascend.alloc : !ascend.buffer<256xf32, hbm>
    ascend.launch "aclnnGelu" (%first) -> (%temporary) {} : (!ascend.buffer<256xf32, hbm>) -> !ascend.buffer<256xf32, hbm>
    ascend.launch "aclnnReciprocal" (%temporary) -> (%w) {} : (!ascend.buffer<256xf32, hbm>) -> !ascend.buffer<256xf32, hbm>
  }
  ascend.step {
    %f0 = ascend.frame @residuals micro_batch 0 : !ascend.frame<@residuals>
    %f1 = ascend.frame @residuals micro_batch 1 : !ascend.frame<@residuals>
    %f2 = ascend.frame @residuals micro_batch 2 : !ascend.frame<@residuals>
    ascend.call @forward() frame %f0 : !ascend.frame<@residuals> micro_batch 0 : () -> ()
    ascend.call @forward() frame %f1 : !ascend.frame<@residuals> micro_batch 1 : () -> ()
    ascend.call @backward() frame %f0 : !ascend.frame<@residuals> micro_batch 0 : () -> ()
    ascend.call @forward() frame %f2 : !ascend.frame<@residuals> micro_batch 2 : () -> ()
    ascend.call @backward() frame %f1 : !ascend.frame<@residuals> micro_batch 1 : () -> ()
    ascend.call @backward() frame %f2 : !ascend.frame<@residuals> micro_batch 2 : () -> ()
  }
}

// A message lives until the stream that reads it is known to be done.
// CHECK-LABEL: ascend.program @messages_wait_for_their_streams
// CHECK-SAME: arena_bytes = 3072 : i64, {{.*}}max_live_bytes = 3072 : i64
// The first is still being sent while the second is written; the third is written after the event.
// CHECK: ascend.message at [[#MESSAGE:]]
// CHECK-NEXT: ascend.message at [[#sub(3072,MESSAGE)]]
// CHECK-NEXT: ascend.message at [[#MESSAGE]]
ascend.program @messages_wait_for_their_streams stage 0 attributes {
    micro_batches = 1 : i64, micro_batch_size = 1 : i64, sequence_length = 8 : i64,
    vocab_size = 16 : i64, pad_token_id = -1 : i64, ignore_index = -100 : i64} {
  ascend.stream @compute compute
  ascend.stream @send communication
  ascend.static @w parameter of "w" : !ascend.buffer<256xf32, hbm>
  ascend.routine @write(%x: !ascend.buffer<256xf32, hbm>) {
    %w = ascend.global @w : !ascend.buffer<256xf32, hbm>
    ascend.launch "aclnnNeg" (%w) -> (%x) {} : (!ascend.buffer<256xf32, hbm>) -> !ascend.buffer<256xf32, hbm>
  }
  ascend.step {
    %a = ascend.message : !ascend.buffer<256xf32, hbm>
    %b = ascend.message : !ascend.buffer<256xf32, hbm>
    %c = ascend.message : !ascend.buffer<256xf32, hbm>
    ascend.call @write(%a) : (!ascend.buffer<256xf32, hbm>) -> ()
    %written = ascend.record @compute
    ascend.wait @send for %written
    ascend.send %a to <pp = 1> channel "forward.0" on @send : !ascend.buffer<256xf32, hbm>
    %sent = ascend.record @send
    ascend.call @write(%b) : (!ascend.buffer<256xf32, hbm>) -> ()
    ascend.wait @compute for %sent
    ascend.call @write(%c) : (!ascend.buffer<256xf32, hbm>) -> ()
  }
}

// A program that is planned keeps its plan.
// RUN: %roundtrip --pass-pipeline='builtin.module(ascend.program(ascend-plan-memory))' %s -o %t.once
// RUN: %roundtrip --pass-pipeline='builtin.module(ascend.program(ascend-plan-memory))' %t.once -o %t.twice
// RUN: cmp %t.once %t.twice
