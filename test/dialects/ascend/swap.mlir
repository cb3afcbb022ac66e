// What swap adds to the dialect prints as it parses: host slots, events that pass through calls.
// RUN: mf-opt %s | mf-opt | FileCheck %s
// RUN: mf-opt --emit-bytecode %s | mf-opt | FileCheck %s

ascend.program @stage0 rank 0 of 1 attributes {micro_batches = 1, micro_batch_size = 1, sequence_length = 4, vocab_size = 16, pad_token_id = -1, ignore_index = -100} {
  ascend.stream @compute compute
  ascend.stream @h2d h2d
  // CHECK: ascend.frame_layout @kept [!ascend.buffer<4xf32, hbm>, !ascend.buffer<4xf32, host>] of ["a", "b"] at [0, 64] {bytes = 512 : i64, host_bytes = 128 : i64}
  ascend.frame_layout @kept [!ascend.buffer<4xf32, hbm>, !ascend.buffer<4xf32, host>] of ["a", "b"] at [0, 64] {bytes = 512 : i64, host_bytes = 128 : i64}
  // CHECK: ascend.routine @backward(%[[X:.*]]: !ascend.buffer<4xf32, hbm>, %[[E:.*]]: !ascend.event) attributes {layout = @kept}
  ascend.routine @backward(%x: !ascend.buffer<4xf32, hbm>, %e: !ascend.event) attributes {layout = @kept} {
    // CHECK: ascend.slot 1 : <4xf32, host>
    %h = ascend.slot 1 : <4xf32, host>
    // CHECK: ascend.wait @compute for %[[E]]
    ascend.wait @compute for %e
    ascend.launch "aclnnInplaceAdd"(%x) -> (%x) {} : (!ascend.buffer<4xf32, hbm>) -> !ascend.buffer<4xf32, hbm>
  }
  ascend.routine @other() {
  }
  ascend.step {
    // CHECK: %[[F:.*]] = ascend.frame @kept micro_batch 0 at 1024 host at 128 : <@kept>
    %f = ascend.frame @kept micro_batch 0 at 1024 host at 128 : <@kept>
    %m = ascend.message : <4xf32, hbm>
    // CHECK: %[[STARTED:.*]]:2 = ascend.call @other() records [1, 3] : () -> (!ascend.event, !ascend.event)
    %started:2 = ascend.call @other() records [1, 3] : () -> (!ascend.event, !ascend.event)
    // CHECK: ascend.slot 1 of %[[F]] : !ascend.frame<@kept> as : <4xf32, host>
    %s = ascend.slot 1 of %f : !ascend.frame<@kept> as : <4xf32, host>
    // CHECK: ascend.call @backward(%{{.*}}, %[[STARTED]]#1) frame %[[F]] : !ascend.frame<@kept>
    ascend.call @backward(%m, %started#1) frame %f : !ascend.frame<@kept> : (!ascend.buffer<4xf32, hbm>, !ascend.event) -> ()
  }
}
