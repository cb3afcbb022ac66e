// Transfers around an axis within a stage: on one stream all ranks wait to receive before any of them sends.
// RUN: not %roundtrip --ascend-verify-program %s 2>&1 | FileCheck %s
// RUN: not mf-run --verify %s 2>&1 | FileCheck %s
// RUN: sed "s/\(receive .* on @\)receive/\1own/" %s > %t.mlir
// RUN: %roundtrip --ascend-verify-program %t.mlir -o /dev/null
// RUN: mf-run --verify --quiet %t.mlir

// CHECK: error: stage 0: receive (channel 'ring', stream 'receive') never comes to its end: streams wait for each other
module attributes {mf.mesh = #mf.mesh<pp = 1, cp = 4>} {
ascend.program @stage0 stage 0 attributes {micro_batches = 1, micro_batch_size = 1, sequence_length = 4, vocab_size = 16, pad_token_id = -1, ignore_index = -100, arena_bytes = 128, host_bytes = 0} {
  ascend.stream @compute compute
  ascend.stream @receive communication
  ascend.stream @own communication
  ascend.static @w parameter of "w" : !ascend.buffer<4xf32, hbm> at 0 {init = #mf.init<ones>}
  ascend.step {
    %w = ascend.global @w : !ascend.buffer<4xf32, hbm>
    %m = ascend.message at 64 : !ascend.buffer<4xf32, hbm>
    ascend.receive %m from <cp - 1> channel "ring" on @receive : !ascend.buffer<4xf32, hbm>
    // Behind the receive unless that has a stream of its own.
    ascend.send %w to <cp + 1> channel "ring" on @receive : !ascend.buffer<4xf32, hbm>
  }
}
}
