// RUN: %variants %s | %prints-itself %roundtrip

// Before the memory plan nothing has an offset.
ascend.program @unplanned stage 0 attributes {hbm_limit_bytes = 4096 : i64, ignore_index = -100 : i64, lr_schedule = {learning_rate = 1.000000e-03 : f64, type = "ConstantWarmUpLR"}, micro_batch_size = 1 : i64, micro_batches = 2 : i64, pad_token_id = -1 : i64, sequence_length = 8 : i64, vocab_size = 16 : i64} {
  ascend.stream @compute compute
  ascend.stream @h2d h2d
  ascend.stream @d2h d2h
  ascend.stream @send communication
  ascend.static @w parameter of "w" : !ascend.buffer<4x8xbf16, hbm> {init = "ones"}
  ascend.static @tied parameter : !ascend.buffer<4x8xbf16, hbm> {tied = @w}
  ascend.static @g gradient of "w" : !ascend.buffer<4x8xbf16, hbm>
  ascend.static @tokens tokens : !ascend.buffer<2x8xi32, host>
  ascend.static @loss report of "loss" : !ascend.buffer<f32, host>
  ascend.frame_layout @residuals [!ascend.buffer<8x4xf32, hbm>, !ascend.buffer<8xf32, hbm>] of ["norm", "norm"]
  ascend.routine @forward(%x: !ascend.buffer<8x4xf32, hbm>) attributes {layout = @residuals} {
    %w = ascend.global @w : <4x8xbf16, hbm>
    %slot = ascend.slot 1 : <8xf32, hbm>
    %alloc = ascend.alloc : <8x4xf32, hbm>
    %view = ascend.view %alloc : <8x4xf32, hbm> to <32xf32, hbm>
    %part = ascend.view %alloc {byte_offset = 64 : i64} : <8x4xf32, hbm> to <4x4xf32, hbm>
    %workspace = ascend.alloc : <4xi32, hbm>
    ascend.launch "aclnnRmsNorm"(%x, %w) -> (%alloc, %slot) workspace(%workspace : !ascend.buffer<4xi32, hbm>) {epsilon = 1.000000e-05 : f64} cell "layers.0.norm" : (!ascend.buffer<8x4xf32, hbm>, !ascend.buffer<4x8xbf16, hbm>) -> (!ascend.buffer<8x4xf32, hbm>, !ascend.buffer<8xf32, hbm>)
    // A kernel that reads nothing.
    ascend.launch "aclnnInplaceZero"() -> (%view) {} : () -> !ascend.buffer<32xf32, hbm>
  }
  // A routine may be empty.
  ascend.routine @nothing() {
  }
  ascend.step {
    %message = ascend.message : <8x4xf32, hbm>
    %frame = ascend.frame @residuals micro_batch 1 : <@residuals>
    %tokens = ascend.global @tokens : <2x8xi32, host>
    %there = ascend.message : <2x8xi32, hbm>
    ascend.copy %tokens to %there on @h2d : <2x8xi32, host> to <2x8xi32, hbm>
    %event = ascend.record @h2d
    ascend.wait @compute for %event
    ascend.call @forward(%message) frame %frame : !ascend.frame<@residuals> micro_batch 1 : (!ascend.buffer<8x4xf32, hbm>) -> ()
    ascend.call @nothing() : () -> ()
    ascend.send %message to <pp = 1> channel "forward.0" on @send : <8x4xf32, hbm>
    ascend.receive %message from <pp = 1> channel "backward.1" on @send : <8x4xf32, hbm>
    ascend.collective all_reduce %message to %message over <pp> channel "stages" on @send : <8x4xf32, hbm> to <8x4xf32, hbm>
  }
}

// After it everything has one.
ascend.program @planned stage 1 attributes {arena_bytes = 2048 : i64, host_bytes = 64 : i64, ignore_index = -100 : i64, max_live_bytes = 1536 : i64, micro_batch_size = 1 : i64, micro_batches = 1 : i64, pad_token_id = -1 : i64, sequence_length = 8 : i64, vocab_size = 16 : i64} {
  ascend.static @w parameter of "w" : !ascend.buffer<4x8xf16, hbm> at 512
  ascend.frame_layout @residuals [!ascend.buffer<8xf32, hbm>] of ["norm"] at [0] {bytes = 512 : i64}
  ascend.routine @forward() attributes {layout = @residuals} {
    %in_frame = ascend.alloc in frame at 0 : <8xf32, hbm>
    %in_scratch = ascend.alloc in scratch at 512 : <8xf32, hbm>
  }
  ascend.step {
    %message = ascend.message at 1024 : <8xf32, hbm>
    %frame = ascend.frame @residuals micro_batch 0 at 0 : <@residuals>
    ascend.call @forward() frame %frame : !ascend.frame<@residuals> micro_batch 0 scratch at 1536 : () -> ()
  }
}

// A frame of several parts has an offset for each.
ascend.program @parts stage 0 attributes {arena_bytes = 2048 : i64, host_bytes = 64 : i64, ignore_index = -100 : i64, max_live_bytes = 1536 : i64, micro_batch_size = 1 : i64, micro_batches = 1 : i64, pad_token_id = -1 : i64, sequence_length = 8 : i64, vocab_size = 16 : i64} {
  ascend.frame_layout @residuals [!ascend.buffer<8xf32, hbm>, !ascend.buffer<8xf32, hbm>] of ["norm", "scale"] at [0, 512] {bytes = 1024 : i64, parts = array<i64: 0, 512>}
  ascend.step {
    %several = ascend.frame @residuals micro_batch 0 at [1024, 0] : <@residuals>
    %swapped = ascend.frame @residuals micro_batch 1 at [512, 1536] host at 64 : <@residuals>
    %one = ascend.frame @residuals micro_batch 2 at 512 : <@residuals>
    %none = ascend.frame @residuals micro_batch 3 at [] : <@residuals>
  }
}
