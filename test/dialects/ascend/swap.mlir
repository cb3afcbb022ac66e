// What swap adds to the dialect prints as it parses: host slots, events that pass through calls. So do the events that
// transfers and calls wait for and transfers record.
// RUN: %variants %s | %prints-itself %roundtrip

ascend.program @stage0 stage 0 attributes {ignore_index = -100 : i64, micro_batch_size = 1 : i64, micro_batches = 1 : i64, pad_token_id = -1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  ascend.stream @compute compute
  ascend.stream @h2d h2d
  ascend.stream @hccl communication
  ascend.frame_layout @kept [!ascend.buffer<4xf32, hbm>, !ascend.buffer<4xf32, host>] of ["a", "b"] at [0, 64] {bytes = 512 : i64, host_bytes = 128 : i64}
  ascend.routine @backward(%x: !ascend.buffer<4xf32, hbm>, %e: !ascend.event) attributes {layout = @kept} {
    %h = ascend.slot 1 : <4xf32, host>
    ascend.wait @compute for %e
    ascend.launch "aclnnNeg"(%x) -> (%x) {} : (!ascend.buffer<4xf32, hbm>) -> !ascend.buffer<4xf32, hbm>
  }
  ascend.routine @other() {
  }
  ascend.step {
    %f = ascend.frame @kept micro_batch 0 at 1024 host at 128 : <@kept>
    %m = ascend.message : <4xf32, hbm>
    %started:2 = ascend.call @other() records [1, 3] : () -> (!ascend.event, !ascend.event)
    %s = ascend.slot 1 of %f : !ascend.frame<@kept> as : <4xf32, host>
    %copied = ascend.copy %s to %m on @h2d after %started#0 : <4xf32, host> to <4xf32, hbm> -> !ascend.event
    %sent = ascend.send %m to <pp = 1> channel "a" on @hccl after %started#0, %copied : <4xf32, hbm> -> !ascend.event
    ascend.receive %m from <pp = 1> channel "b" on @hccl after %sent : <4xf32, hbm>
    ascend.call @other() after %copied : () -> ()
    ascend.call @backward(%m, %started#1) frame %f : !ascend.frame<@kept> : (!ascend.buffer<4xf32, hbm>, !ascend.event) -> ()
  }
}
