// Two axes cut groups of rows in two ways: one cuts groups, and the other one the rows of a group. Where groups are put side by
// side, rows stay parts of each group.
// RUN: %variants %s | %roundtrip --ascend-verify-program --split-input-file --verify-diagnostics

// The program that those below put statics and launches into. A rank has some groups of each of two samples.
module attributes {mf.mesh = #mf.mesh<pp = 1, cp = 2, mp = 2>} {
ascend.program @stage0 stage 0 attributes {micro_batches = 1, micro_batch_size = 2, sequence_length = 8, vocab_size = 16, pad_token_id = -1, ignore_index = -100, arena_bytes = 4096, host_bytes = 64} {
  ascend.stream @compute compute
  ascend.stream @c communication
  ascend.routine @layer() {
  }
  ascend.step {
    ascend.call @layer() scratch at 2048 : () -> ()
  }
}
}

// Of its rows of each sample, which it has by cp, a rank takes those of its place in mp. These lie inside of those of cp.
@ ascend.stream @compute
+ ascend.static @x constant : !ascend.buffer<2x4x4xf32, hbm> slice <[2, 8, 4] over [[], [cp], []]> at 0
+ ascend.static @y constant : !ascend.buffer<2x2x2x4xf32, hbm> slice <[2, 2, 4, 4] over [[], [], [mp], []]> at 128
+ ascend.static @rank table : !ascend.buffer<1xi32, hbm> slice <[2] over [[mp]]> at 256 {init = #mf.init<coordinate, value = 1.0>}
@ ascend.routine
+ %all = ascend.global @x : !ascend.buffer<2x4x4xf32, hbm>
+ %halves = ascend.view %all : !ascend.buffer<2x4x4xf32, hbm> to !ascend.buffer<2x2x8xf32, hbm>
+ %own = ascend.alloc in scratch at 0 : !ascend.buffer<2x8xf32, hbm>
+ ascend.launch "mfOwnPart"(%halves, %rank) -> (%own) {} cell "own" : (!ascend.buffer<2x2x8xf32, hbm>, !ascend.buffer<1xi32, hbm>) -> !ascend.buffer<2x8xf32, hbm>
+ %x = ascend.view %own : !ascend.buffer<2x8xf32, hbm> to !ascend.buffer<2x1x2x4xf32, hbm>
+ %gathered = ascend.alloc in scratch at 64 : !ascend.buffer<2x2x8xf32, hbm>
+ %ready = ascend.record @compute
+ %done = ascend.collective all_gather %x to %gathered over <cp> channel "c" cell "gather" on @c after %ready : !ascend.buffer<2x1x2x4xf32, hbm> to !ascend.buffer<2x2x8xf32, hbm> -> !ascend.event
+ ascend.wait @compute for %done
+ %turned = ascend.alloc in scratch at 192 : !ascend.buffer<2x2x8xf32, hbm>
+ ascend.launch "aclnnPermute"(%gathered) -> (%turned) {perm = array<i64: 1, 0, 2>} cell "turn" : (!ascend.buffer<2x2x8xf32, hbm>) -> !ascend.buffer<2x2x8xf32, hbm>
+ %groups = ascend.view %turned : !ascend.buffer<2x2x8xf32, hbm> to !ascend.buffer<2x2x2x4xf32, hbm>
+ %sum = ascend.alloc in scratch at 320 : !ascend.buffer<2x2x2x4xf32, hbm>
+ ascend.launch "aclnnAdd"(%groups, %y) -> (%sum) {} cell "add" : (!ascend.buffer<2x2x2x4xf32, hbm>, !ascend.buffer<2x2x2x4xf32, hbm>) -> !ascend.buffer<2x2x2x4xf32, hbm>

// They are not parts of the numbers of groups.
^
= ascend.static @y constant : !ascend.buffer<2x2x2x4xf32, hbm> slice <[2, 4, 2, 4] over [[], [mp], [], []]> at 128
@ %sum
+ // expected-error@+1 {{aclnnAdd ('add', task 'layer', stream 'compute') takes result of 'turn', which over 'mp' is a part of a whole: expected the whole, or operands that are cut alike in a dimension that may be}}

// A rank has one group, and one row of it, which ends at the same place in memory. Dimensions tell them apart.
@ ascend.stream @compute
+ ascend.static @x constant : !ascend.buffer<2x1x1x4xf32, hbm> slice <[2, 2, 2, 4] over [[], [cp], [mp], []]> at 0
+ ascend.static @y constant : !ascend.buffer<2x2x1x4xf32, hbm> slice <[2, 2, 2, 4] over [[], [], [mp], []]> at 128
@ ascend.routine
+ %all = ascend.global @x : !ascend.buffer<2x1x1x4xf32, hbm>
+ %x = ascend.alloc in scratch at 0 : !ascend.buffer<2x1x1x4xf32, hbm>
+ ascend.launch "aclnnNeg"(%all) -> (%x) {} cell "minus" : (!ascend.buffer<2x1x1x4xf32, hbm>) -> !ascend.buffer<2x1x1x4xf32, hbm>
+ %gathered = ascend.alloc in scratch at 64 : !ascend.buffer<2x2x4xf32, hbm>
+ %ready = ascend.record @compute
+ %done = ascend.collective all_gather %x to %gathered over <cp> channel "c" cell "gather" on @c after %ready : !ascend.buffer<2x1x1x4xf32, hbm> to !ascend.buffer<2x2x4xf32, hbm> -> !ascend.event
+ ascend.wait @compute for %done
+ %turned = ascend.alloc in scratch at 192 : !ascend.buffer<2x2x4xf32, hbm>
+ ascend.launch "aclnnPermute"(%gathered) -> (%turned) {perm = array<i64: 1, 0, 2>} cell "turn" : (!ascend.buffer<2x2x4xf32, hbm>) -> !ascend.buffer<2x2x4xf32, hbm>
+ %groups = ascend.view %turned : !ascend.buffer<2x2x4xf32, hbm> to !ascend.buffer<2x2x1x4xf32, hbm>
+ %sum = ascend.alloc in scratch at 320 : !ascend.buffer<2x2x1x4xf32, hbm>
+ ascend.launch "aclnnAdd"(%groups, %y) -> (%sum) {} cell "add" : (!ascend.buffer<2x2x1x4xf32, hbm>, !ascend.buffer<2x2x1x4xf32, hbm>) -> !ascend.buffer<2x2x1x4xf32, hbm>

// The same with rows that are parts of the number of groups.
^
= ascend.static @y constant : !ascend.buffer<2x2x1x4xf32, hbm> slice <[2, 4, 1, 4] over [[], [mp], [], []]> at 128
@ %sum
+ // expected-error@+1 {{aclnnAdd ('add', task 'layer', stream 'compute') takes result of 'turn', which over 'mp' is a part of a whole: expected the whole, or operands that are cut alike in a dimension that may be}}
