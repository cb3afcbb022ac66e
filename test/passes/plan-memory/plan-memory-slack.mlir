// With slack, each device buffer has 32 bytes more than its own rounded up to 32: one of 512 takes the next 512 too. Host
// memory is as without.
// RUN: %roundtrip --ascend-plan-memory --ascend-verify-program %s | FileCheck %s --check-prefix=TIGHT
// RUN: %roundtrip --ascend-plan-memory=slack=true --ascend-verify-program %s | FileCheck %s --check-prefix=SLACK

// TIGHT: arena_bytes = 1536 : i64, {{.*}}host_bytes = 512 : i64
// SLACK: arena_bytes = 2560 : i64, {{.*}}host_bytes = 512 : i64
ascend.program @stage0 stage 0 attributes {micro_batches = 1, micro_batch_size = 1, sequence_length = 4, vocab_size = 16, pad_token_id = -1, ignore_index = -100} {
  ascend.stream @compute compute
  ascend.static @full parameter of "full" : !ascend.buffer<128xf32, hbm>
  ascend.static @short parameter of "short" : !ascend.buffer<112xf32, hbm>
  ascend.static @pinned tokens : !ascend.buffer<128xi32, host>
  ascend.routine @copy() {
    %full = ascend.global @full : !ascend.buffer<128xf32, hbm>
    %t = ascend.alloc : !ascend.buffer<128xf32, hbm>
    ascend.launch "aclnnNeg"(%full) -> (%t) {} : (!ascend.buffer<128xf32, hbm>) -> !ascend.buffer<128xf32, hbm>
  }
  ascend.step {
    ascend.call @copy() : () -> ()
  }
}
