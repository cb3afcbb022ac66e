// Two stages that meet in two collectives: one in the other order waits for ever, and one of another size, kind or
// reduction is refused.
// RUN: %roundtrip --ascend-verify-program %s -o /dev/null
// RUN: sed '/@stage[1]/,$ { s/"first"/"none"/; s/"second"/"first"/; s/"none"/"second"/ }' %s > %t.order.mlir
// RUN: not %roundtrip --ascend-verify-program %t.order.mlir 2>&1 | FileCheck %s --check-prefix=ORDER
// ORDER: error: stage 0: all_reduce (channel 'first', stream 'pp') never comes to its end: streams wait for each other
// ORDER: note: stage 1: all_reduce (channel 'second', stream 'pp') waits too
// RUN: sed '/@stage[1]/,$ s/all_reduce/broadcast/' %s > %t.kind.mlir
// RUN: not %roundtrip --ascend-verify-program %t.kind.mlir 2>&1 | FileCheck %s --check-prefix=KIND
// KIND: error: channel 'first': broadcast of 16 bytes of f32 on stage 1 does not match all_reduce of 16 bytes of f32 on stage 0
// RUN: sed '/@stage[1]/,$ s/over <pp>/over <pp stages [1, 0]>/' %s > %t.group.mlir
// RUN: not %roundtrip --ascend-verify-program %t.group.mlir 2>&1 | FileCheck %s --check-prefix=GROUP
// GROUP: error: channel 'first': stage {{[01]}} has no collective that matches
module attributes {mf.mesh = #mf.mesh<pp = 2>} {
  ascend.program @stage0 stage 0 attributes {micro_batches = 1, micro_batch_size = 1, sequence_length = 4, vocab_size = 16, pad_token_id = -1, ignore_index = -100, arena_bytes = 192, host_bytes = 64} {
    ascend.stream @compute compute
    ascend.stream @pp communication
    ascend.static @a constant : !ascend.buffer<4xf32, hbm> at 0
    ascend.static @b constant : !ascend.buffer<4xf32, hbm> at 64
    ascend.step {
      %a = ascend.global @a : !ascend.buffer<4xf32, hbm>
      %b = ascend.global @b : !ascend.buffer<4xf32, hbm>
      ascend.collective all_reduce %a to %a over <pp> channel "first" on @pp {reduction = #ascend<reduction max>} : !ascend.buffer<4xf32, hbm> to !ascend.buffer<4xf32, hbm>
      ascend.collective all_reduce %b to %b over <pp> channel "second" on @pp {reduction = #ascend<reduction max>} : !ascend.buffer<4xf32, hbm> to !ascend.buffer<4xf32, hbm>
    }
  }
  ascend.program @stage1 stage 1 attributes {micro_batches = 1, micro_batch_size = 1, sequence_length = 4, vocab_size = 16, pad_token_id = -1, ignore_index = -100, arena_bytes = 192, host_bytes = 64} {
    ascend.stream @compute compute
    ascend.stream @pp communication
    ascend.static @a constant : !ascend.buffer<4xf32, hbm> at 0
    ascend.static @b constant : !ascend.buffer<4xf32, hbm> at 64
    ascend.step {
      %a = ascend.global @a : !ascend.buffer<4xf32, hbm>
      %b = ascend.global @b : !ascend.buffer<4xf32, hbm>
      ascend.collective all_reduce %a to %a over <pp> channel "first" on @pp {reduction = #ascend<reduction max>} : !ascend.buffer<4xf32, hbm> to !ascend.buffer<4xf32, hbm>
      ascend.collective all_reduce %b to %b over <pp> channel "second" on @pp {reduction = #ascend<reduction max>} : !ascend.buffer<4xf32, hbm> to !ascend.buffer<4xf32, hbm>
    }
  }
}
