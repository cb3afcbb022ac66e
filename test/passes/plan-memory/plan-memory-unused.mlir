// What nothing uses gets a place all the same: temporaries, messages, routines without instructions and steps without
// calls.
// RUN: %roundtrip --ascend-plan-memory --ascend-verify-program %s | FileCheck %s

module attributes {mf.mesh = #mf.mesh<pp = 2, mp = 2>} {
// CHECK: ascend.program @stage0 stage 0 attributes {arena_bytes = 1536 : i64, {{.*}} max_live_bytes = 1536 : i64
ascend.program @stage0 stage 0 attributes {micro_batches = 1, micro_batch_size = 1, sequence_length = 4, vocab_size = 16, pad_token_id = -1, ignore_index = -100} {
  ascend.stream @compute compute
  ascend.static @w parameter of "w" : !ascend.buffer<2xf32, hbm>
  ascend.routine @nothing() {
    // CHECK: ascend.alloc in scratch at 0 : <4xf32, hbm>
    %t = ascend.alloc : !ascend.buffer<4xf32, hbm>
  }
  ascend.routine @something() {
    %w = ascend.global @w : !ascend.buffer<2xf32, hbm>
    // CHECK: ascend.alloc in scratch at 0 : <4xf32, hbm>
    %t = ascend.alloc : !ascend.buffer<4xf32, hbm>
    ascend.launch "aclnnNeg"(%w) -> (%w) {} : (!ascend.buffer<2xf32, hbm>) -> !ascend.buffer<2xf32, hbm>
  }
  ascend.step {
    // CHECK: ascend.message at {{[0-9]+}} : <4xf32, hbm>
    %unused = ascend.message : !ascend.buffer<4xf32, hbm>
    ascend.call @nothing() : () -> ()
    ascend.call @something() : () -> ()
  }
}
// CHECK: ascend.program @stage1 stage 1 attributes {arena_bytes = 1024 : i64, {{.*}} max_live_bytes = 1024 : i64
ascend.program @stage1 stage 1 attributes {micro_batches = 1, micro_batch_size = 1, sequence_length = 4, vocab_size = 16, pad_token_id = -1, ignore_index = -100} {
  ascend.stream @compute compute
  ascend.stream @mp communication
  ascend.static @w parameter of "w" : !ascend.buffer<2xf32, hbm> slice <[4] over [[mp]]>
  ascend.step {
    %w = ascend.global @w : !ascend.buffer<2xf32, hbm>
    // CHECK: ascend.message at 512 : <4xf32, hbm>
    %whole = ascend.message : !ascend.buffer<4xf32, hbm>
    ascend.collective all_gather %w to %whole over <mp> channel "mp" on @mp : !ascend.buffer<2xf32, hbm> to !ascend.buffer<4xf32, hbm>
  }
}
}
