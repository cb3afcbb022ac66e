// Each rank has one head and half of the rows of queries, whose keys all ranks have: the shape of its part does not say
// whether rows or heads are cut. The values that it was made from do.
// RUN: %roundtrip --ascend-verify-program %s -o /dev/null

// The first row is that of other ranks: rows along cp would be taken for those of the first rank.
// RUN: sed 's/slice <\[2\] over \[\[cp\]\]>/slice <[2] over [[mp]]>/' %s > %t.axis.mlir
// RUN: not %roundtrip --ascend-verify-program %t.axis.mlir 2>&1 | FileCheck %s --check-prefix=ROWS
// RUN: sed 's/ slice <\[2\] over \[\[cp\]\]>//' %s > %t.first.mlir
// RUN: not %roundtrip --ascend-verify-program %t.first.mlir 2>&1 | FileCheck %s --check-prefix=ROWS
// ROWS: error: mfFlashAttentionPart ('attention', task 'layer', stream 'compute') takes {{.*}}, which over '{{cp|mp}}' is a part of a whole: expected the whole, or operands that are cut alike in a dimension that may be

// The first rows of ranks are 4 apart, as many as each has.
// RUN: sed 's/coordinate, value = 4.0/coordinate, value = 2.0/' %s > %t.step.mlir
// RUN: not %roundtrip --ascend-verify-program %t.step.mlir 2>&1 | FileCheck %s --check-prefix=STEP
// STEP: error: mfFlashAttentionPart ('attention', task 'layer', stream 'compute') takes table 'first', which over 'cp' is a part of a whole: expected the rank's coordinate times 4, but it is that times 2

// The last of more keys are those of the rows, so the table of first rows is not that of their positions.
// RUN: sed '/@[kv]\|@layer\|mfFlash\|%[kv] =/ s/1x1x8x4/1x1x16x4/g; /@[kv] constant/ s/1, 1, 8, 4/1, 1, 16, 4/; /@v constant/ s/at 192/at 448/' %s > %t.more.mlir
// RUN: not %roundtrip --ascend-verify-program %t.more.mlir 2>&1 | FileCheck %s --check-prefix=MORE
// MORE: error: mfFlashAttentionPart ('attention', task 'layer', stream 'compute') takes table 'first', which over 'cp' is a part of a whole: expected parts of 16 in all, but they are parts of 8

// Rows of keys that are never put together.
// RUN: sed '/@[kv] constant/ s/<\[1, 1, 8, 4\] over \[\[\], \[\], \[\]/<[1, 1, 16, 4] over [[], [], [cp]/' %t.first.mlir > %t.keys.mlir
// RUN: not %roundtrip --ascend-verify-program %t.keys.mlir 2>&1 | FileCheck %s --check-prefix=ROWS

module attributes {mf.mesh = #mf.mesh<pp = 1, cp = 2, mp = 2>} {
ascend.program @stage0 stage 0 attributes {micro_batches = 1, micro_batch_size = 1, sequence_length = 8, vocab_size = 16, pad_token_id = -1, ignore_index = -100, arena_bytes = 4096, host_bytes = 64} {
  ascend.stream @compute compute
  ascend.static @q constant : !ascend.buffer<1x1x4x4xf32, hbm> slice <[1, 2, 8, 4] over [[], [mp], [cp], []]> at 0
  ascend.static @k constant : !ascend.buffer<1x1x8x4xf32, hbm> slice <[1, 1, 8, 4] over [[], [], [], []]> at 64
  ascend.static @v constant : !ascend.buffer<1x1x8x4xf32, hbm> slice <[1, 1, 8, 4] over [[], [], [], []]> at 192
  ascend.static @cos constant : !ascend.buffer<4x4xf32, hbm> slice <[8, 4] over [[cp], []]> at 320
  ascend.static @first table : !ascend.buffer<1xi32, hbm> slice <[2] over [[cp]]> at 384 {init = #mf.init<coordinate, value = 4.0>}
  ascend.routine @layer() {
    %q = ascend.global @q : !ascend.buffer<1x1x4x4xf32, hbm>
    %k = ascend.global @k : !ascend.buffer<1x1x8x4xf32, hbm>
    %v = ascend.global @v : !ascend.buffer<1x1x8x4xf32, hbm>
    %cos = ascend.global @cos : !ascend.buffer<4x4xf32, hbm>
    %first = ascend.global @first : !ascend.buffer<1xi32, hbm>
    %turned = ascend.alloc in scratch at 0 : !ascend.buffer<1x1x4x4xf32, hbm>
    ascend.launch "aclnnMul"(%q, %cos) -> (%turned) {} cell "rotary" : (!ascend.buffer<1x1x4x4xf32, hbm>, !ascend.buffer<4x4xf32, hbm>) -> !ascend.buffer<1x1x4x4xf32, hbm>
    %m = ascend.alloc in scratch at 64 : !ascend.buffer<1x1x4xf32, hbm>
    %s = ascend.alloc in scratch at 128 : !ascend.buffer<1x1x4xf32, hbm>
    %y = ascend.alloc in scratch at 192 : !ascend.buffer<1x1x4x4xf32, hbm>
    ascend.launch "mfFlashAttentionPart"(%turned, %k, %v, %first) -> (%m, %s, %y) {scale = 0.5} cell "attention" : (!ascend.buffer<1x1x4x4xf32, hbm>, !ascend.buffer<1x1x8x4xf32, hbm>, !ascend.buffer<1x1x8x4xf32, hbm>, !ascend.buffer<1xi32, hbm>) -> (!ascend.buffer<1x1x4xf32, hbm>, !ascend.buffer<1x1x4xf32, hbm>, !ascend.buffer<1x1x4x4xf32, hbm>)
  }
  ascend.step {
    ascend.call @layer() scratch at 1024 : () -> ()
  }
}
}
