// Where each rank has one row, rows and what a row consists of end at the same place in memory: what is made of parts
// by summing up within rows may be a part or a summand, and what follows has to agree with one of them.
// RUN: %variants %s | %roundtrip --ascend-verify-program --split-input-file --verify-diagnostics

// The program that those below put statics and launches into.
module attributes {mf.mesh = #mf.mesh<pp = 1, dp = 2>} {
ascend.program @stage0 stage 0 attributes {micro_batches = 1, micro_batch_size = 1, sequence_length = 4, vocab_size = 16, pad_token_id = -1, ignore_index = -100, arena_bytes = 2048, host_bytes = 64} {
  ascend.stream @compute compute
  ascend.routine @layer() {
  }
  ascend.step {
    ascend.call @layer() scratch at 1024 : () -> ()
  }
}
}

// Rows are cut: the square of a row's sum is a part, and only the sum over rows is one over ranks.
@ ascend.stream
+ ascend.stream @dp communication
+ ascend.static @x constant : !ascend.buffer<1x4x8xf32, hbm> slice <[2, 4, 8] over [[dp], [], []]> at 0
+ ascend.static @g gradient of "w" : !ascend.buffer<f32, hbm> at 128
@ ascend.routine
+ %s = ascend.alloc in scratch at 0 : !ascend.buffer<1x8xf32, hbm>
+ ascend.launch "aclnnReduceSum"(%x) -> (%s) {axes = array<i64: 1>} cell "rows" : (!ascend.buffer<1x4x8xf32, hbm>) -> !ascend.buffer<1x8xf32, hbm>
+ %q = ascend.alloc in scratch at 64 : !ascend.buffer<1x8xf32, hbm>
+ ascend.launch "aclnnMul"(%s, %s) -> (%q) {} cell "square" : (!ascend.buffer<1x8xf32, hbm>, !ascend.buffer<1x8xf32, hbm>) -> !ascend.buffer<1x8xf32, hbm>
+ ascend.launch "aclnnReduceSum"(%q) -> (%g) {axes = array<i64: 0, 1>} cell "sum" : (!ascend.buffer<1x8xf32, hbm>) -> !ascend.buffer<f32, hbm>
+ %ready = ascend.record @compute
+ %done = ascend.collective all_reduce %g to %g over <dp> channel "dp" cell "sum" on @dp after %ready : !ascend.buffer<f32, hbm> to !ascend.buffer<f32, hbm> -> !ascend.event
+ ascend.wait @compute for %done

// What a row consists of is cut: the sum over ranks comes first.
^
= ascend.static @x constant : !ascend.buffer<1x4x8xf32, hbm> slice <[1, 8, 8] over [[], [dp], []]> at 0
@ ascend.launch "aclnnReduceSum"(%x)
+ %ready = ascend.record @compute
+ %done = ascend.collective all_reduce %s to %s over <dp> channel "dp" cell "rows" on @dp after %ready : !ascend.buffer<1x8xf32, hbm> to !ascend.buffer<1x8xf32, hbm> -> !ascend.event
+ ascend.wait @compute for %done
- %ready
- ...
- ascend.wait

// A part, since it was squared, and a summand at once.
@ ascend.stream
+ ascend.stream @dp communication
+ ascend.static @x constant : !ascend.buffer<1x4x8xf32, hbm> slice <[2, 4, 8] over [[dp], [], []]> at 0
+ ascend.static @g gradient of "w" : !ascend.buffer<1x8xf32, hbm> at 128
@ ascend.routine
+ %s = ascend.alloc in scratch at 0 : !ascend.buffer<1x8xf32, hbm>
+ ascend.launch "aclnnReduceSum"(%x) -> (%s) {axes = array<i64: 1>} cell "rows" : (!ascend.buffer<1x4x8xf32, hbm>) -> !ascend.buffer<1x8xf32, hbm>
+ ascend.launch "aclnnMul"(%s, %s) -> (%g) {} cell "square" : (!ascend.buffer<1x8xf32, hbm>, !ascend.buffer<1x8xf32, hbm>) -> !ascend.buffer<1x8xf32, hbm>
+ %ready = ascend.record @compute
+ // expected-error@+1 {{all_reduce ('square', channel 'dp', task 'layer', stream 'dp') takes gradient 'w', which over 'dp' is a part of a whole: expected a summand: the sum would be of something else}}
+ %done = ascend.collective all_reduce %g to %g over <dp> channel "dp" cell "square" on @dp after %ready : !ascend.buffer<1x8xf32, hbm> to !ascend.buffer<1x8xf32, hbm> -> !ascend.event
+ ascend.wait @compute for %done

// A part for the kernel that squares it, and a summand for what comes later.
^
- %s
= ascend.launch "aclnnReduceSum"(%x) -> (%g) {axes = array<i64: 1>} cell "rows" : (!ascend.buffer<1x4x8xf32, hbm>) -> !ascend.buffer<1x8xf32, hbm>
+ %q = ascend.alloc in scratch at 64 : !ascend.buffer<1x8xf32, hbm>
= ascend.launch "aclnnMul"(%g, %g) -> (%q) {} cell "square" : (!ascend.buffer<1x8xf32, hbm>, !ascend.buffer<1x8xf32, hbm>) -> !ascend.buffer<1x8xf32, hbm>
= // expected-error@+1 {{all_reduce ('sum', channel 'dp', task 'layer', stream 'dp') takes gradient 'w', which over 'dp' is a part of a whole: expected a summand: the sum would be of something else}}
= %done = ascend.collective all_reduce %g to %g over <dp> channel "dp" cell "sum" on @dp after %ready : !ascend.buffer<1x8xf32, hbm> to !ascend.buffer<1x8xf32, hbm> -> !ascend.event

// What may be a summand is one at the end: its sum is missing.
@ ascend.stream
+ ascend.static @x constant : !ascend.buffer<4x8xf32, hbm> slice <[8, 8] over [[dp], []]> at 0
+ // expected-error@+1 {{gradient 'w' is declared the same on all ranks over 'dp', but the step leaves in it a part of a whole}}
+ ascend.static @g gradient of "w" : !ascend.buffer<1x8xf32, hbm> at 128
@ ascend.routine
+ %rows = ascend.global @x : !ascend.buffer<4x8xf32, hbm>
+ %x = ascend.view %rows : !ascend.buffer<4x8xf32, hbm> to !ascend.buffer<1x4x8xf32, hbm>
+ ascend.launch "aclnnReduceSum"(%x) -> (%g) {axes = array<i64: 1>} cell "rows" : (!ascend.buffer<1x4x8xf32, hbm>) -> !ascend.buffer<1x8xf32, hbm>

// One number for all ranks beside one row of each: it is repeated for all rows.
@ ascend.stream
+ ascend.static @x constant : !ascend.buffer<1x8xf32, hbm> slice <[2, 8] over [[dp], []]> at 0
+ ascend.static @y constant : !ascend.buffer<1x8xf32, hbm> at 64
+ ascend.static @g gradient of "w" : !ascend.buffer<1x8xf32, hbm> slice <[2, 8] over [[dp], []]> at 128
@ ascend.routine
+ ascend.launch "aclnnMul"(%y, %x) -> (%g) {} cell "scale" : (!ascend.buffer<1x8xf32, hbm>, !ascend.buffer<1x8xf32, hbm>) -> !ascend.buffer<1x8xf32, hbm>

// Rows of one axis inside of another's, which are gathered.
= module attributes {mf.mesh = #mf.mesh<pp = 1, mp = 2, cp = 2>} {
@ ascend.stream
+ ascend.stream @c communication
+ ascend.static @x constant : !ascend.buffer<1x1x8xf32, hbm> slice <[2, 2, 8] over [[mp], [cp], []]> at 0
+ ascend.static @y constant : !ascend.buffer<2x1x8xf32, hbm> slice <[2, 2, 8] over [[], [cp], []]> at 256
+ ascend.static @g gradient of "w" : !ascend.buffer<2x1x8xf32, hbm> slice <[2, 2, 8] over [[], [cp], []]> at 512
@ ascend.routine
+ %whole = ascend.alloc in scratch at 0 : !ascend.buffer<2x1x8xf32, hbm>
+ %ready = ascend.record @compute
+ %done = ascend.collective all_gather %x to %whole over <mp> channel "c" cell "rows" on @c after %ready : !ascend.buffer<1x1x8xf32, hbm> to !ascend.buffer<2x1x8xf32, hbm> -> !ascend.event
+ ascend.wait @compute for %done
+ ascend.launch "aclnnAdd"(%whole, %y) -> (%g) {} cell "add" : (!ascend.buffer<2x1x8xf32, hbm>, !ascend.buffer<2x1x8xf32, hbm>) -> !ascend.buffer<2x1x8xf32, hbm>

// And outside of them.
^
= ascend.static @x constant : !ascend.buffer<1x1x8xf32, hbm> slice <[2, 2, 8] over [[cp], [mp], []]> at 0
= ascend.static @y constant : !ascend.buffer<1x2x8xf32, hbm> slice <[2, 2, 8] over [[cp], [], []]> at 256
= ascend.static @g gradient of "w" : !ascend.buffer<1x2x8xf32, hbm> slice <[2, 2, 8] over [[cp], [], []]> at 512
= %whole = ascend.alloc in scratch at 0 : !ascend.buffer<1x2x8xf32, hbm>
= %done = ascend.collective all_gather %x to %whole over <mp> channel "c" cell "rows" on @c after %ready : !ascend.buffer<1x1x8xf32, hbm> to !ascend.buffer<1x2x8xf32, hbm> -> !ascend.event
= ascend.launch "aclnnAdd"(%whole, %y) -> (%g) {} cell "add" : (!ascend.buffer<1x2x8xf32, hbm>, !ascend.buffer<1x2x8xf32, hbm>) -> !ascend.buffer<1x2x8xf32, hbm>

// Columns are neither.
^
= ascend.static @x constant : !ascend.buffer<1x2x4xf32, hbm> slice <[2, 4, 4] over [[mp], [cp], []]> at 0
= ascend.static @y constant : !ascend.buffer<2x2x4xf32, hbm> slice <[2, 2, 8] over [[], [], [cp]]> at 256
= ascend.static @g gradient of "w" : !ascend.buffer<2x2x4xf32, hbm> slice <[2, 2, 8] over [[], [], [cp]]> at 512
= %whole = ascend.alloc in scratch at 0 : !ascend.buffer<2x2x4xf32, hbm>
= %done = ascend.collective all_gather %x to %whole over <mp> channel "c" cell "rows" on @c after %ready : !ascend.buffer<1x2x4xf32, hbm> to !ascend.buffer<2x2x4xf32, hbm> -> !ascend.event
= ascend.launch "aclnnAdd"(%whole, %y) -> (%g) {} cell "add" : (!ascend.buffer<2x2x4xf32, hbm>, !ascend.buffer<2x2x4xf32, hbm>) -> !ascend.buffer<2x2x4xf32, hbm>
+ // expected-error @above {{aclnnAdd ('add', task 'layer', stream 'compute') takes result of 'rows', which over 'cp' is a part of a whole: expected the whole, or operands that are cut alike in a dimension that may be}}

// Ranks exchange rows for a head each, of one sample: heads come first as they lie.
= module attributes {mf.mesh = #mf.mesh<pp = 1, dp = 2, cp = 2>} {
@ ascend.stream
+ ascend.stream @c communication
+ ascend.static @x constant : !ascend.buffer<1x2x2x4xf32, hbm> slice <[2, 2, 4, 4] over [[dp], [], [cp], []]> at 0
+ ascend.static @y constant : !ascend.buffer<1x1x4x4xf32, hbm> slice <[2, 2, 4, 4] over [[dp], [cp], [], []]> at 256
+ ascend.static @g gradient of "w" : !ascend.buffer<1x1x4x4xf32, hbm> slice <[2, 2, 4, 4] over [[dp], [cp], [], []]> at 512
@ ascend.routine
+ %whole = ascend.alloc in scratch at 0 : !ascend.buffer<1x1x4x4xf32, hbm>
+ %ready = ascend.record @compute
+ %done = ascend.collective all_to_all %x to %whole over <cp> channel "c" cell "rows" on @c after %ready : !ascend.buffer<1x2x2x4xf32, hbm> to !ascend.buffer<1x1x4x4xf32, hbm> -> !ascend.event
+ ascend.wait @compute for %done
+ ascend.launch "aclnnAdd"(%whole, %y) -> (%g) {} cell "add" : (!ascend.buffer<1x1x4x4xf32, hbm>, !ascend.buffer<1x1x4x4xf32, hbm>) -> !ascend.buffer<1x1x4x4xf32, hbm>

// They have no rows of their own any more.
^
= ascend.static @y constant : !ascend.buffer<1x1x4x4xf32, hbm> slice <[2, 1, 4, 8] over [[dp], [], [], [cp]]> at 256
= ascend.static @g gradient of "w" : !ascend.buffer<1x1x4x4xf32, hbm> slice <[2, 1, 4, 8] over [[dp], [], [], [cp]]> at 512
@ ascend.wait
+ // expected-error@+1 {{aclnnAdd ('add', task 'layer', stream 'compute') takes result of 'rows', which over 'cp' is a part of a whole: expected the whole, or operands that are cut alike in a dimension that may be}}
