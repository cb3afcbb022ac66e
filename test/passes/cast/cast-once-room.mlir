// Where copies do not all fit: what saves most per byte comes first, of equals the first; what does not fit leaves its room to the next.
// Parameters take 19456 bytes, the largest conversion 8192 more. There is room for one copy of 512.
// RUN: %variants %s > %t.mlir
// RUN: %roundtrip --pass-pipeline='builtin.module(ascend.program(ascend-cast-once{hbm=28700B print-plan=true}))' --remarks-filter-passed=cast %t.mlir -o /dev/null 2>&1 | FileCheck %s

// CHECK: seldom: 2 conversions, no room for a copy of 512 bytes
// CHECK-NEXT: large: 3 conversions, no room for a copy of 8192 bytes
// CHECK-NEXT: first: 3 conversions, once with a copy of 512 bytes
// CHECK-NEXT: second: 3 conversions, no room for a copy of 512 bytes
// CHECK: bytes kept=512, bytes not moved=3072, conversions saved=2, parameters=1, parameters without room=3
ascend.program @step stage 0 attributes {
    micro_batches = 1 : i64, micro_batch_size = 1 : i64, sequence_length = 8 : i64,
    vocab_size = 16 : i64, pad_token_id = -1 : i64, ignore_index = -100 : i64} {
  ascend.stream @compute compute
  ascend.static @seldom parameter of "seldom" : !ascend.buffer<256xf32, hbm>
  ascend.static @large parameter of "large" : !ascend.buffer<4096xf32, hbm>
  ascend.static @first parameter of "first" : !ascend.buffer<256xf32, hbm>
  ascend.static @second parameter of "second" : !ascend.buffer<256xf32, hbm>
  ascend.routine @seldomReader() {
    %w = ascend.global @seldom : !ascend.buffer<256xf32, hbm>
    ascend.launch "aclnnCast" (%w) -> (%a) {} cell "seldom.cast" : (!ascend.buffer<256xf32, hbm>) -> !ascend.buffer<256xbf16, hbm>
  }
  ascend.routine @largeReader() {
    %w = ascend.global @large : !ascend.buffer<4096xf32, hbm>
    ascend.launch "aclnnCast" (%w) -> (%a) {} cell "large.cast" : (!ascend.buffer<4096xf32, hbm>) -> !ascend.buffer<4096xbf16, hbm>
  }
  ascend.routine @firstReader() {
    %w = ascend.global @first : !ascend.buffer<256xf32, hbm>
    ascend.launch "aclnnCast" (%w) -> (%a) {} cell "first.cast" : (!ascend.buffer<256xf32, hbm>) -> !ascend.buffer<256xbf16, hbm>
  }
  ascend.routine @secondReader() {
    %w = ascend.global @second : !ascend.buffer<256xf32, hbm>
    ascend.launch "aclnnCast" (%w) -> (%a) {} cell "second.cast" : (!ascend.buffer<256xf32, hbm>) -> !ascend.buffer<256xbf16, hbm>
  }
  ascend.step {
    ascend.call @seldomReader() : () -> ()
    ascend.call @seldomReader() : () -> ()
    ascend.call @largeReader() : () -> ()
    ascend.call @largeReader() : () -> ()
    ascend.call @largeReader() : () -> ()
    ascend.call @firstReader() : () -> ()
    ascend.call @firstReader() : () -> ()
    ascend.call @firstReader() : () -> ()
    ascend.call @secondReader() : () -> ()
    ascend.call @secondReader() : () -> ()
    ascend.call @secondReader() : () -> ()
  }
}
