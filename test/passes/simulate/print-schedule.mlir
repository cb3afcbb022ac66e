// What the stages of a planned program do when, from its kernels, events and messages; the module stays as it is.
// RUN: %roundtrip --ascend-print-schedule %s -o %t 2> %t.text
// RUN: FileCheck %s --match-full-lines --strict-whitespace < %t.text
// RUN: %roundtrip %s | cmp - %t
// RUN: %roundtrip --pass-pipeline='builtin.module(ascend-print-schedule{flops-per-unit=32 transfer-time=2})' %s -o /dev/null 2> %t.units
// RUN: FileCheck %s --match-full-lines --strict-whitespace --check-prefix=UNITS < %t.units
// RUN: %roundtrip --pass-pipeline='builtin.module(ascend-print-schedule{timeline=false})' %s -o /dev/null 2>&1 | FileCheck %s --check-prefix=SHORT
// SHORT-NOT: {{F|B}}0
// SHORT: end 5.00

// The second stage's forward takes twice as long. Stage 0 gets the gradient when stage 1 has ended its backward of the micro-batch.
//      CHECK:stage 0: F0 F1 .  .  .  B0 .  .  .  B1
// CHECK-NEXT:stage 1: .  F0--- B0--- F1--- B1---
// CHECK-NEXT:end 5.00 of 64 FLOPs
// CHECK-NEXT:bubble 0.6667: ideal 0.5000, imbalance 0.1667
// CHECK-NEXT:stage 0: busy 2.00, arena 512 bytes, activations 128 bytes
// CHECK-NEXT:stage 1: busy 4.00, arena 512 bytes, activations 64 bytes

// In units of 32 FLOPs, messages on the way for two.
//      UNITS:stage 0: F0 F1 .  .  .  .  .  .  .  B0 .  .  .  B1
// UNITS-NEXT:stage 1: .  .  .  F0--- B0--- F1--- B1---
// UNITS-NEXT:end 14.00 of 32 FLOPs
// UNITS-NEXT:bubble 1.3333: ideal 0.5000, imbalance 0.8333
// UNITS-NEXT:stage 0: busy 4.00, arena 512 bytes, activations 128 bytes
// UNITS-NEXT:stage 1: busy 8.00, arena 512 bytes, activations 64 bytes
ascend.program @stage0 stage 0 attributes {
    micro_batches = 2 : i64, micro_batch_size = 1 : i64, sequence_length = 4 : i64,
    vocab_size = 16 : i64, pad_token_id = -1 : i64, ignore_index = -100 : i64,
    arena_bytes = 512 : i64, host_bytes = 0 : i64} {
  ascend.stream @compute compute
  ascend.stream @send communication
  ascend.stream @receive communication
  ascend.static @w parameter of "w" : !ascend.buffer<16xf32, hbm> at 0
  ascend.frame_layout @residuals [!ascend.buffer<16xf32, hbm>] of ["x"] at [0] {bytes = 64 : i64, host_bytes = 0 : i64}
  ascend.routine @forward(%y: !ascend.buffer<16xf32, hbm>) attributes {layout = @residuals} {
    %w = ascend.global @w : <16xf32, hbm>
    %x = ascend.slot 0 : <16xf32, hbm>
    ascend.launch "aclnnAdd"(%w, %w) -> (%x) {} cell "add" : (!ascend.buffer<16xf32, hbm>, !ascend.buffer<16xf32, hbm>) -> !ascend.buffer<16xf32, hbm>
    ascend.launch "aclnnAdd"(%x, %w) -> (%y) {} cell "add" : (!ascend.buffer<16xf32, hbm>, !ascend.buffer<16xf32, hbm>) -> !ascend.buffer<16xf32, hbm>
  }
  ascend.routine @backward(%dy: !ascend.buffer<16xf32, hbm>) attributes {layout = @residuals} {
    %w = ascend.global @w : <16xf32, hbm>
    %x = ascend.slot 0 : <16xf32, hbm>
    ascend.launch "aclnnAdd"(%x, %dy) -> (%dy) {} cell "add" : (!ascend.buffer<16xf32, hbm>, !ascend.buffer<16xf32, hbm>) -> !ascend.buffer<16xf32, hbm>
    ascend.launch "aclnnAdd"(%dy, %w) -> (%w) {} cell "add" : (!ascend.buffer<16xf32, hbm>, !ascend.buffer<16xf32, hbm>) -> !ascend.buffer<16xf32, hbm>
  }
  ascend.step {
    %f0 = ascend.frame @residuals micro_batch 0 at 64 host at 0 : <@residuals>
    %f1 = ascend.frame @residuals micro_batch 1 at 128 host at 0 : <@residuals>
    %y0 = ascend.message at 192 : <16xf32, hbm>
    %y1 = ascend.message at 256 : <16xf32, hbm>
    %dy0 = ascend.message at 320 : <16xf32, hbm>
    %dy1 = ascend.message at 384 : <16xf32, hbm>
    ascend.call @forward(%y0) frame %f0 : !ascend.frame<@residuals> micro_batch 0 : (!ascend.buffer<16xf32, hbm>) -> ()
    %y0.ready = ascend.record @compute
    ascend.send %y0 to <pp = 1> channel "forward" on @send after %y0.ready : <16xf32, hbm>
    ascend.call @forward(%y1) frame %f1 : !ascend.frame<@residuals> micro_batch 1 : (!ascend.buffer<16xf32, hbm>) -> ()
    %y1.ready = ascend.record @compute
    ascend.send %y1 to <pp = 1> channel "forward" on @send after %y1.ready : <16xf32, hbm>
    %dy0.here = ascend.receive %dy0 from <pp = 1> channel "backward" on @receive : <16xf32, hbm> -> !ascend.event
    ascend.call @backward(%dy0) frame %f0 : !ascend.frame<@residuals> micro_batch 0 after %dy0.here : (!ascend.buffer<16xf32, hbm>) -> ()
    %dy1.here = ascend.receive %dy1 from <pp = 1> channel "backward" on @receive : <16xf32, hbm> -> !ascend.event
    ascend.call @backward(%dy1) frame %f1 : !ascend.frame<@residuals> micro_batch 1 after %dy1.here : (!ascend.buffer<16xf32, hbm>) -> ()
  }
}
ascend.program @stage1 stage 1 attributes {
    micro_batches = 2 : i64, micro_batch_size = 1 : i64, sequence_length = 4 : i64,
    vocab_size = 16 : i64, pad_token_id = -1 : i64, ignore_index = -100 : i64,
    arena_bytes = 512 : i64, host_bytes = 0 : i64} {
  ascend.stream @compute compute
  ascend.stream @send communication
  ascend.stream @receive communication
  ascend.static @w parameter of "w" : !ascend.buffer<16xf32, hbm> at 0
  ascend.frame_layout @residuals [!ascend.buffer<16xf32, hbm>] of ["x"] at [0] {bytes = 64 : i64, host_bytes = 0 : i64}
  ascend.routine @forward(%y: !ascend.buffer<16xf32, hbm>) attributes {layout = @residuals} {
    %w = ascend.global @w : <16xf32, hbm>
    %x = ascend.slot 0 : <16xf32, hbm>
    ascend.launch "aclnnAdd"(%y, %y) -> (%x) {} cell "add" : (!ascend.buffer<16xf32, hbm>, !ascend.buffer<16xf32, hbm>) -> !ascend.buffer<16xf32, hbm>
    ascend.launch "aclnnAdd"(%x, %w) -> (%x) {} cell "add" : (!ascend.buffer<16xf32, hbm>, !ascend.buffer<16xf32, hbm>) -> !ascend.buffer<16xf32, hbm>
    ascend.launch "aclnnAdd"(%x, %w) -> (%x) {} cell "add" : (!ascend.buffer<16xf32, hbm>, !ascend.buffer<16xf32, hbm>) -> !ascend.buffer<16xf32, hbm>
    ascend.launch "aclnnAdd"(%x, %w) -> (%x) {} cell "add" : (!ascend.buffer<16xf32, hbm>, !ascend.buffer<16xf32, hbm>) -> !ascend.buffer<16xf32, hbm>
  }
  ascend.routine @backward(%dy: !ascend.buffer<16xf32, hbm>) attributes {layout = @residuals} {
    %w = ascend.global @w : <16xf32, hbm>
    %x = ascend.slot 0 : <16xf32, hbm>
    ascend.launch "aclnnAdd"(%x, %w) -> (%dy) {} cell "add" : (!ascend.buffer<16xf32, hbm>, !ascend.buffer<16xf32, hbm>) -> !ascend.buffer<16xf32, hbm>
    ascend.launch "aclnnAdd"(%dy, %dy) -> (%dy) {} cell "add" : (!ascend.buffer<16xf32, hbm>, !ascend.buffer<16xf32, hbm>) -> !ascend.buffer<16xf32, hbm>
    ascend.launch "aclnnAdd"(%dy, %dy) -> (%dy) {} cell "add" : (!ascend.buffer<16xf32, hbm>, !ascend.buffer<16xf32, hbm>) -> !ascend.buffer<16xf32, hbm>
    ascend.launch "aclnnAdd"(%dy, %w) -> (%w) {} cell "add" : (!ascend.buffer<16xf32, hbm>, !ascend.buffer<16xf32, hbm>) -> !ascend.buffer<16xf32, hbm>
  }
  ascend.step {
    %f0 = ascend.frame @residuals micro_batch 0 at 64 host at 0 : <@residuals>
    %f1 = ascend.frame @residuals micro_batch 1 at 128 host at 0 : <@residuals>
    %y0 = ascend.message at 192 : <16xf32, hbm>
    %y1 = ascend.message at 256 : <16xf32, hbm>
    %dy0 = ascend.message at 320 : <16xf32, hbm>
    %dy1 = ascend.message at 384 : <16xf32, hbm>
    %y0.here = ascend.receive %y0 from <pp = 0> channel "forward" on @receive : <16xf32, hbm> -> !ascend.event
    ascend.call @forward(%y0) frame %f0 : !ascend.frame<@residuals> micro_batch 0 after %y0.here : (!ascend.buffer<16xf32, hbm>) -> ()
    ascend.call @backward(%dy0) frame %f0 : !ascend.frame<@residuals> micro_batch 0 : (!ascend.buffer<16xf32, hbm>) -> ()
    %dy0.ready = ascend.record @compute
    ascend.send %dy0 to <pp = 0> channel "backward" on @send after %dy0.ready : <16xf32, hbm>
    %y1.here = ascend.receive %y1 from <pp = 0> channel "forward" on @receive : <16xf32, hbm> -> !ascend.event
    ascend.call @forward(%y1) frame %f1 : !ascend.frame<@residuals> micro_batch 1 after %y1.here : (!ascend.buffer<16xf32, hbm>) -> ()
    ascend.call @backward(%dy1) frame %f1 : !ascend.frame<@residuals> micro_batch 1 : (!ascend.buffer<16xf32, hbm>) -> ()
    %dy1.ready = ascend.record @compute
    ascend.send %dy1 to <pp = 0> channel "backward" on @send after %dy1.ready : <16xf32, hbm>
  }
}
