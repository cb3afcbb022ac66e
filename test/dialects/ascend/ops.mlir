// RUN: %roundtrip %s | %roundtrip | FileCheck %s
// RUN: %roundtrip -mlir-print-op-generic %s | %roundtrip | FileCheck %s

// Before the memory plan nothing has an offset.
// CHECK-LABEL: ascend.program @unplanned stage 0 attributes
ascend.program @unplanned stage 0 attributes {
    micro_batches = 2 : i64, micro_batch_size = 1 : i64, sequence_length = 8 : i64,
    vocab_size = 16 : i64, pad_token_id = -1 : i64, ignore_index = -100 : i64,
    lr_schedule = {type = "ConstantWarmUpLR", learning_rate = 1.0e-3 : f64}, hbm_limit_bytes = 4096 : i64} {
  // CHECK: ascend.stream @compute compute
  ascend.stream @compute compute
  // CHECK: ascend.stream @h2d h2d
  ascend.stream @h2d h2d
  // CHECK: ascend.stream @d2h d2h
  ascend.stream @d2h d2h
  // CHECK: ascend.stream @send communication
  ascend.stream @send communication
  // CHECK: ascend.static @w parameter of "w" : !ascend.buffer<4x8xbf16, hbm> {init = "ones"}
  ascend.static @w parameter of "w" : !ascend.buffer<4x8xbf16, hbm> {init = "ones"}
  // CHECK: ascend.static @tied parameter : !ascend.buffer<4x8xbf16, hbm> {tied = @w}
  ascend.static @tied parameter : !ascend.buffer<4x8xbf16, hbm> {tied = @w}
  // CHECK: ascend.static @g gradient of "w" : !ascend.buffer<4x8xbf16, hbm>
  ascend.static @g gradient of "w" : !ascend.buffer<4x8xbf16, hbm>
  // CHECK: ascend.static @tokens tokens : !ascend.buffer<2x8xi32, host>
  ascend.static @tokens tokens : !ascend.buffer<2x8xi32, host>
  // CHECK: ascend.static @loss report of "loss" : !ascend.buffer<f32, host>
  ascend.static @loss report of "loss" : !ascend.buffer<f32, host>
  // CHECK: ascend.frame_layout @residuals [!ascend.buffer<8x4xf32, hbm>, !ascend.buffer<8xf32, hbm>] of ["norm", "norm"]
  ascend.frame_layout @residuals [!ascend.buffer<8x4xf32, hbm>, !ascend.buffer<8xf32, hbm>] of ["norm", "norm"]

  // CHECK: ascend.routine @forward(%[[X:.*]]: !ascend.buffer<8x4xf32, hbm>) attributes {layout = @residuals} {
  ascend.routine @forward(%x: !ascend.buffer<8x4xf32, hbm>) attributes {layout = @residuals} {
    // CHECK: %[[W:.*]] = ascend.global @w : <4x8xbf16, hbm>
    %w = ascend.global @w : !ascend.buffer<4x8xbf16, hbm>
    // CHECK: %[[SLOT:.*]] = ascend.slot 1 : <8xf32, hbm>
    %slot = ascend.slot 1 : !ascend.buffer<8xf32, hbm>
    // CHECK: %[[ALLOC:.*]] = ascend.alloc : <8x4xf32, hbm>
    %alloc = ascend.alloc : !ascend.buffer<8x4xf32, hbm>
    // CHECK: %[[VIEW:.*]] = ascend.view %[[ALLOC]] : <8x4xf32, hbm> to <32xf32, hbm>
    %view = ascend.view %alloc : !ascend.buffer<8x4xf32, hbm> to !ascend.buffer<32xf32, hbm>
    // CHECK: ascend.view %[[ALLOC]] {byte_offset = 64 : i64} : <8x4xf32, hbm> to <4x4xf32, hbm>
    %part = ascend.view %alloc {byte_offset = 64 : i64} : !ascend.buffer<8x4xf32, hbm> to !ascend.buffer<4x4xf32, hbm>
    // CHECK: %[[WORKSPACE:.*]] = ascend.alloc : <4xi32, hbm>
    %workspace = ascend.alloc : !ascend.buffer<4xi32, hbm>
    // CHECK: ascend.launch "aclnnRmsNorm"(%[[X]], %[[W]]) -> (%[[ALLOC]], %[[SLOT]]) workspace(%[[WORKSPACE]] : !ascend.buffer<4xi32, hbm>) {epsilon = 1.000000e-05 : f64} cell "layers.0.norm" : (!ascend.buffer<8x4xf32, hbm>, !ascend.buffer<4x8xbf16, hbm>) -> (!ascend.buffer<8x4xf32, hbm>, !ascend.buffer<8xf32, hbm>)
    ascend.launch "aclnnRmsNorm" (%x, %w) -> (%alloc, %slot) workspace(%workspace : !ascend.buffer<4xi32, hbm>) {epsilon = 1.0e-5 : f64} cell "layers.0.norm"
        : (!ascend.buffer<8x4xf32, hbm>, !ascend.buffer<4x8xbf16, hbm>) -> (!ascend.buffer<8x4xf32, hbm>, !ascend.buffer<8xf32, hbm>)
    // A kernel that reads nothing.
    // CHECK: ascend.launch "aclnnInplaceZero"() -> (%[[VIEW]]) {} : () -> !ascend.buffer<32xf32, hbm>
    ascend.launch "aclnnInplaceZero" () -> (%view) {} : () -> !ascend.buffer<32xf32, hbm>
  }
  // A routine may be empty.
  // CHECK: ascend.routine @nothing() {
  // CHECK-NEXT: }
  ascend.routine @nothing() {
  }
  // CHECK: ascend.step {
  ascend.step {
    // CHECK: %[[MESSAGE:.*]] = ascend.message : <8x4xf32, hbm>
    %message = ascend.message : !ascend.buffer<8x4xf32, hbm>
    // CHECK: %[[FRAME:.*]] = ascend.frame @residuals micro_batch 1 : <@residuals>
    %frame = ascend.frame @residuals micro_batch 1 : !ascend.frame<@residuals>
    %tokens = ascend.global @tokens : !ascend.buffer<2x8xi32, host>
    %there = ascend.message : !ascend.buffer<2x8xi32, hbm>
    // CHECK: ascend.copy %{{.*}} to %{{.*}} on @h2d : <2x8xi32, host> to <2x8xi32, hbm>
    ascend.copy %tokens to %there on @h2d : !ascend.buffer<2x8xi32, host> to !ascend.buffer<2x8xi32, hbm>
    // CHECK: %[[EVENT:.*]] = ascend.record @h2d
    %event = ascend.record @h2d
    // CHECK: ascend.wait @compute for %[[EVENT]]
    ascend.wait @compute for %event
    // CHECK: ascend.call @forward(%[[MESSAGE]]) frame %[[FRAME]] : !ascend.frame<@residuals> micro_batch 1 : (!ascend.buffer<8x4xf32, hbm>) -> ()
    ascend.call @forward(%message) frame %frame : !ascend.frame<@residuals> micro_batch 1 : (!ascend.buffer<8x4xf32, hbm>) -> ()
    // CHECK: ascend.call @nothing() : () -> ()
    ascend.call @nothing() : () -> ()
    // CHECK: ascend.send %[[MESSAGE]] to <pp = 1> channel "forward.0" on @send : <8x4xf32, hbm>
    ascend.send %message to <pp = 1> channel "forward.0" on @send : !ascend.buffer<8x4xf32, hbm>
    // CHECK: ascend.receive %[[MESSAGE]] from <pp = 1> channel "backward.1" on @send : <8x4xf32, hbm>
    ascend.receive %message from <pp = 1> channel "backward.1" on @send : !ascend.buffer<8x4xf32, hbm>
    // CHECK: ascend.collective all_reduce %[[MESSAGE]] to %[[MESSAGE]] over <pp> channel "stages" on @send : <8x4xf32, hbm> to <8x4xf32, hbm>
    ascend.collective all_reduce %message to %message over <pp> channel "stages" on @send : !ascend.buffer<8x4xf32, hbm> to !ascend.buffer<8x4xf32, hbm>
  }
}

// After it everything has one.
// CHECK-LABEL: ascend.program @planned stage 1 attributes {arena_bytes = 2048 : i64, host_bytes = 64 : i64
ascend.program @planned stage 1 attributes {
    micro_batches = 1 : i64, micro_batch_size = 1 : i64, sequence_length = 8 : i64,
    vocab_size = 16 : i64, pad_token_id = -1 : i64, ignore_index = -100 : i64,
    arena_bytes = 2048 : i64, host_bytes = 64 : i64, max_live_bytes = 1536 : i64} {
  // CHECK: ascend.static @w parameter of "w" : !ascend.buffer<4x8xf16, hbm> at 512
  ascend.static @w parameter of "w" : !ascend.buffer<4x8xf16, hbm> at 512
  // CHECK: ascend.frame_layout @residuals [!ascend.buffer<8xf32, hbm>] of ["norm"] at [0] {bytes = 512 : i64}
  ascend.frame_layout @residuals [!ascend.buffer<8xf32, hbm>] of ["norm"] at [0] {bytes = 512 : i64}
  ascend.routine @forward() attributes {layout = @residuals} {
    // CHECK: ascend.alloc in frame at 0 : <8xf32, hbm>
    %in_frame = ascend.alloc in frame at 0 : !ascend.buffer<8xf32, hbm>
    // CHECK: ascend.alloc in scratch at 512 : <8xf32, hbm>
    %in_scratch = ascend.alloc in scratch at 512 : !ascend.buffer<8xf32, hbm>
  }
  ascend.step {
    // CHECK: ascend.message at 1024 : <8xf32, hbm>
    %message = ascend.message at 1024 : !ascend.buffer<8xf32, hbm>
    // CHECK: ascend.frame @residuals micro_batch 0 at 0 : <@residuals>
    %frame = ascend.frame @residuals micro_batch 0 at 0 : !ascend.frame<@residuals>
    // CHECK: ascend.call @forward() frame %{{.*}} : !ascend.frame<@residuals> micro_batch 0 scratch at 1536 : () -> ()
    ascend.call @forward() frame %frame : !ascend.frame<@residuals> micro_batch 0 scratch at 1536 : () -> ()
  }
}

// A frame of several parts has an offset for each.
// CHECK-LABEL: ascend.program @parts stage 0
ascend.program @parts stage 0 attributes {
    micro_batches = 1 : i64, micro_batch_size = 1 : i64, sequence_length = 8 : i64,
    vocab_size = 16 : i64, pad_token_id = -1 : i64, ignore_index = -100 : i64,
    arena_bytes = 2048 : i64, host_bytes = 64 : i64, max_live_bytes = 1536 : i64} {
  // CHECK: ascend.frame_layout @residuals [!ascend.buffer<8xf32, hbm>, !ascend.buffer<8xf32, hbm>] of ["norm", "scale"] at [0, 512] {bytes = 1024 : i64, parts = array<i64: 0, 512>}
  ascend.frame_layout @residuals [!ascend.buffer<8xf32, hbm>, !ascend.buffer<8xf32, hbm>] of ["norm", "scale"] at [0, 512] {bytes = 1024 : i64, parts = array<i64: 0, 512>}
  ascend.step {
    // CHECK: ascend.frame @residuals micro_batch 0 at [1024, 0] : <@residuals>
    %several = ascend.frame @residuals micro_batch 0 at [1024, 0] : !ascend.frame<@residuals>
    // CHECK: ascend.frame @residuals micro_batch 1 at [512, 1536] host at 64 : <@residuals>
    %swapped = ascend.frame @residuals micro_batch 1 at [512, 1536] host at 64 : !ascend.frame<@residuals>
    // One is printed without brackets.
    // CHECK: ascend.frame @residuals micro_batch 2 at 512 : <@residuals>
    %one = ascend.frame @residuals micro_batch 2 at [512] : !ascend.frame<@residuals>
    // CHECK: ascend.frame @residuals micro_batch 3 at [] : <@residuals>
    %none = ascend.frame @residuals micro_batch 3 at [] : !ascend.frame<@residuals>
  }
}
