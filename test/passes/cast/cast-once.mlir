// A parameter that routines convert several times in a step is converted by its begin.
// RUN: %variants %s > %t.mlir
// RUN: %roundtrip --pass-pipeline='builtin.module(ascend.program(ascend-cast-once))' %t.mlir | FileCheck %s
// RUN: %roundtrip --pass-pipeline='builtin.module(ascend.program(ascend-cast-once))' --remarks-filter-passed=cast %t.mlir -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: %roundtrip --pass-pipeline='builtin.module(ascend.program(ascend-cast-once{apply=false}))' --remarks-filter-missed=cast %t.mlir 2>&1 | FileCheck %s --check-prefixes=MISSED --implicit-check-not=gathered
// Parameters and a gradient take 3584 bytes, a conversion and what is computed of it 1024 more. There is room for one copy of 512, or for none.
// RUN: %roundtrip --pass-pipeline='builtin.module(ascend.program(ascend-cast-once{hbm=5300B print-plan=true}))' --remarks-filter-passed=cast %t.mlir -o /dev/null 2>&1 | FileCheck %s --check-prefix=ROOM
// RUN: %roundtrip --pass-pipeline='builtin.module(ascend.program(ascend-cast-once{hbm=5000B}))' --remarks-filter-missed=cast %t.mlir 2>&1 | FileCheck %s --check-prefix=NONE

// CHECK-LABEL: ascend.program @step
// CHECK: ascend.static @twice parameter of "twice" : !ascend.buffer<256xf32, hbm>
// CHECK-NEXT: ascend.static @cast.twice gathered of "twice" : !ascend.buffer<256xbf16, hbm>
// CHECK-NEXT: ascend.static @often parameter of "often"
// CHECK-NEXT: ascend.static @cast.often gathered of "often" : !ascend.buffer<256xbf16, hbm>
// CHECK-NEXT: ascend.static @once parameter of "once"
// CHECK-NEXT: ascend.static @gradient
// REMARK: Function=step | Remark="stage 0 converts parameters once per step", bytes kept=1024, bytes not moved=6144, conversions saved=4, parameters=2
// MISSED: Function=step | Remark="stage 0 converts parameters wherever they are read; cast-once would save", bytes kept=1024, bytes not moved=6144, conversions saved=4, parameters=2
// ROOM: twice: 2 conversions, no room for a copy of 512 bytes
// ROOM-NEXT: often: 4 conversions, once with a copy of 512 bytes
// ROOM-NEXT: once: 1 conversion
// ROOM: conversions saved=3, parameters=1, parameters without room=1
// NONE: stage 0 has no memory left for converted parameters
ascend.program @step stage 0 attributes {
    micro_batches = 2 : i64, micro_batch_size = 1 : i64, sequence_length = 8 : i64,
    vocab_size = 16 : i64, pad_token_id = -1 : i64, ignore_index = -100 : i64} {
  ascend.stream @compute compute
  ascend.static @twice parameter of "twice" : !ascend.buffer<256xf32, hbm>
  ascend.static @often parameter of "often" : !ascend.buffer<256xf32, hbm>
  ascend.static @once parameter of "once" : !ascend.buffer<256xf32, hbm>
  ascend.static @gradient gradient of "twice" : !ascend.buffer<f32, hbm>
  // CHECK: ascend.routine @forward()
  ascend.routine @forward() {
    // CHECK-NOT: "aclnnCast"
    // CHECK: %[[A:.*]] = ascend.global @cast.twice
    // CHECK: ascend.launch "aclnnNeg"(%[[A]])
    ascend.launch "aclnnCast" (%twice) -> (%a) {} cell "a.cast" : (!ascend.buffer<256xf32, hbm>) -> !ascend.buffer<256xbf16, hbm>
    ascend.launch "aclnnNeg" (%a) -> (%b) {} : (!ascend.buffer<256xbf16, hbm>) -> !ascend.buffer<256xbf16, hbm>
    // CHECK: %[[C:.*]] = ascend.global @cast.often
    // CHECK: ascend.launch "aclnnNeg"(%[[C]])
    ascend.launch "aclnnCast" (%often) -> (%c) {} cell "b.cast" : (!ascend.buffer<256xf32, hbm>) -> !ascend.buffer<256xbf16, hbm>
    ascend.launch "aclnnNeg" (%c) -> (%d) {} : (!ascend.buffer<256xbf16, hbm>) -> !ascend.buffer<256xbf16, hbm>
  }
  // CHECK: ascend.routine @backward()
  ascend.routine @backward() {
    // CHECK-NOT: "aclnnCast"
    // CHECK: %[[A:.*]] = ascend.global @cast.often
    // CHECK: ascend.launch "aclnnNeg"
    ascend.launch "aclnnCast" (%often) -> (%a) {} cell "b.cast" : (!ascend.buffer<256xf32, hbm>) -> !ascend.buffer<256xbf16, hbm>
    // A view of it is read, too.
    // CHECK: %[[VIEW:.*]] = ascend.view %[[A]]
    // CHECK: ascend.launch "aclnnNeg"(%[[VIEW]])
    ascend.launch "aclnnNeg" (%a) -> (%b) {} : (!ascend.buffer<256xbf16, hbm>) -> !ascend.buffer<256xbf16, hbm>
    %view = ascend.view %a : <256xbf16, hbm> to <16x16xbf16, hbm>
    ascend.launch "aclnnNeg" (%view) -> (%c) {} : (!ascend.buffer<16x16xbf16, hbm>) -> !ascend.buffer<16x16xbf16, hbm>
  }
  // What is updated, or converted once, stays.
  // CHECK: ascend.routine @update()
  ascend.routine @update() attributes {updates_parameters} {
    // CHECK-COUNT-2: "aclnnCast"
    ascend.launch "aclnnCast" (%once) -> (%a) {} : (!ascend.buffer<256xf32, hbm>) -> !ascend.buffer<256xbf16, hbm>
    ascend.launch "aclnnCast" (%often) -> (%b) {} : (!ascend.buffer<256xf32, hbm>) -> !ascend.buffer<256xbf16, hbm>
  }
  ascend.routine @head() {
    ascend.launch "aclnnCast" (%once) -> (%a) {} : (!ascend.buffer<256xf32, hbm>) -> !ascend.buffer<256xbf16, hbm>
  }
  // CHECK: ascend.routine @begin() {
  // CHECK-DAG: %[[TWICE:.*]] = ascend.global @twice :
  // CHECK-DAG: %[[COPY:.*]] = ascend.global @cast.twice :
  // CHECK: ascend.launch "aclnnCast"(%[[TWICE]]) -> (%[[COPY]]) {} cell "a.cast"
  // CHECK: ascend.launch "aclnnCast"({{.*}}) -> ({{.*}}) {} cell "b.cast"
  // CHECK: ascend.step
  // Events are recorded behind the launches that are left; of the first two one is enough.
  // CHECK-NEXT: ascend.call @begin()
  // CHECK-NEXT: %[[EVENTS:.*]]:2 = ascend.call @forward() records [1, 2]
  // CHECK-NEXT: ascend.wait @compute for %[[EVENTS]]#0
  // CHECK-NEXT: ascend.wait @compute for %[[EVENTS]]#0
  // CHECK-NEXT: ascend.wait @compute for %[[EVENTS]]#1
  ascend.step {
    %first:3 = ascend.call @forward() records [1, 2, 4] : () -> (!ascend.event, !ascend.event, !ascend.event)
    ascend.wait @compute for %first#0
    ascend.wait @compute for %first#1
    ascend.wait @compute for %first#2
    ascend.call @backward() : () -> ()
    ascend.call @forward() : () -> ()
    ascend.call @backward() : () -> ()
    ascend.call @head() : () -> ()
    ascend.call @update() : () -> ()
  }
}
