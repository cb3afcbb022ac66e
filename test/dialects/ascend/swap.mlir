// What swap adds to the dialect prints as it parses: host slots, events that pass through calls. So do the events that
// transfers and calls wait for and transfers record.
// RUN: %roundtrip %s | %roundtrip | FileCheck %s
// RUN: %roundtrip --emit-bytecode %s | %roundtrip | FileCheck %s

ascend.program @stage0 stage 0 attributes {micro_batches = 1, micro_batch_size = 1, sequence_length = 4, vocab_size = 16, pad_token_id = -1, ignore_index = -100} {
  ascend.stream @compute compute
  ascend.stream @h2d h2d
  ascend.stream @hccl communication
  // CHECK: ascend.frame_layout @kept [!ascend.buffer<4xf32, hbm>, !ascend.buffer<4xf32, host>] of ["a", "b"] at [0, 64] {bytes = 512 : i64, host_bytes = 128 : i64}
  ascend.frame_layout @kept [!ascend.buffer<4xf32, hbm>, !ascend.buffer<4xf32, host>] of ["a", "b"] at [0, 64] {bytes = 512 : i64, host_bytes = 128 : i64}
  // CHECK: ascend.routine @backward(%[[X:.*]]: !ascend.buffer<4xf32, hbm>, %[[E:.*]]: !ascend.event) attributes {layout = @kept}
  ascend.routine @backward(%x: !ascend.buffer<4xf32, hbm>, %e: !ascend.event) attributes {layout = @kept} {
    // CHECK: ascend.slot 1 : <4xf32, host>
    %h = ascend.slot 1 : <4xf32, host>
    // CHECK: ascend.wait @compute for %[[E]]
    ascend.wait @compute for %e
    ascend.launch "aclnnNeg"(%x) -> (%x) {} : (!ascend.buffer<4xf32, hbm>) -> !ascend.buffer<4xf32, hbm>
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
    // CHECK: %[[COPIED:.*]] = ascend.copy %{{.*}} to %{{.*}} on @h2d after %[[STARTED]]#0 : <4xf32, host> to <4xf32, hbm> -> !ascend.event
    %copied = ascend.copy %s to %m on @h2d after %started#0 : <4xf32, host> to <4xf32, hbm> -> !ascend.event
    // CHECK: %[[SENT:.*]] = ascend.send %{{.*}} to <pp = 1> channel "a" on @hccl after %[[STARTED]]#0, %[[COPIED]] : <4xf32, hbm> -> !ascend.event
    %sent = ascend.send %m to <pp = 1> channel "a" on @hccl after %started#0, %copied : <4xf32, hbm> -> !ascend.event
    // CHECK: ascend.receive %{{.*}} from <pp = 1> channel "b" on @hccl after %[[SENT]] : <4xf32, hbm>
    ascend.receive %m from <pp = 1> channel "b" on @hccl after %sent : <4xf32, hbm>
    // CHECK: ascend.call @other() after %[[COPIED]] : () -> ()
    ascend.call @other() after %copied : () -> ()
    // CHECK: ascend.call @backward(%{{.*}}, %[[STARTED]]#1) frame %[[F]] : !ascend.frame<@kept>
    ascend.call @backward(%m, %started#1) frame %f : !ascend.frame<@kept> : (!ascend.buffer<4xf32, hbm>, !ascend.event) -> ()
  }
}
