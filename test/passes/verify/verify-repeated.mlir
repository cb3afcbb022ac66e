// A value that is repeated along a dimension is the same on all ranks. Where that dimension is cut, it is a part of what one rank
// would have: the gradient of a sum over a dimension that ranks share.
// RUN: %variants %s | %roundtrip --ascend-verify-program --split-input-file --verify-diagnostics

// The program that those below put statics and launches into.
module attributes {mf.mesh = #mf.mesh<pp = 1, mp = 2>} {
ascend.program @stage0 stage 0 attributes {micro_batches = 1, micro_batch_size = 1, sequence_length = 4, vocab_size = 16, pad_token_id = -1, ignore_index = -100, arena_bytes = 2048, host_bytes = 64} {
  ascend.stream @compute compute
  ascend.stream @c communication
  ascend.static @x constant : !ascend.buffer<2x1xf32, hbm> at 0
  ascend.routine @layer() {
    %r = ascend.alloc in scratch at 0 : !ascend.buffer<2x4xf32, hbm>
    ascend.launch "aclnnRepeatInterleaveIntWithDim"(%x) -> (%r) {axis = 1 : i64, repeats = 4 : i64} cell "repeat" : (!ascend.buffer<2x1xf32, hbm>) -> !ascend.buffer<2x4xf32, hbm>
  }
  ascend.step {
    ascend.call @layer() scratch at 1024 : () -> ()
  }
}
}

// Beside a part that is cut there it is a part, too, also behind kernels that see only it.
@ ascend.static @x
+ ascend.static @y constant : !ascend.buffer<2x4xf32, hbm> slice <[2, 8] over [[], [mp]]> at 64
+ ascend.static @g gradient of "w" : !ascend.buffer<2x4xf32, hbm> slice <[2, 8] over [[], [mp]]> at 128
@ ascend.launch "aclnnRepeat
+ %n = ascend.alloc in scratch at 64 : !ascend.buffer<2x4xf32, hbm>
+ ascend.launch "aclnnNeg"(%r) -> (%n) {} cell "minus" : (!ascend.buffer<2x4xf32, hbm>) -> !ascend.buffer<2x4xf32, hbm>
+ ascend.launch "aclnnMul"(%n, %y) -> (%g) {} cell "scale" : (!ascend.buffer<2x4xf32, hbm>, !ascend.buffer<2x4xf32, hbm>) -> !ascend.buffer<2x4xf32, hbm>

// Another dimension, which has as many elements on each rank, is not repeated.
@ ascend.static @x
+ ascend.static @y constant : !ascend.buffer<2x4xf32, hbm> slice <[4, 4] over [[mp], []]> at 64
@ ascend.launch "aclnnRepeat
+ %g = ascend.alloc in scratch at 64 : !ascend.buffer<2x4xf32, hbm>
+ // expected-error@+1 {{aclnnMul ('scale', task 'layer', stream 'compute') takes constant 'y', which over 'mp' is a part of a whole: expected the whole, or operands that are cut alike in a dimension that may be}}
+ ascend.launch "aclnnMul"(%r, %y) -> (%g) {} cell "scale" : (!ascend.buffer<2x4xf32, hbm>, !ascend.buffer<2x4xf32, hbm>) -> !ascend.buffer<2x4xf32, hbm>

// Neither is a dimension of which each rank has two elements before: those of other ranks would be others.
= %r = ascend.alloc in scratch at 0 : !ascend.buffer<4x1xf32, hbm>
= ascend.launch "aclnnRepeatInterleaveIntWithDim"(%x) -> (%r) {axis = 0 : i64, repeats = 2 : i64} cell "repeat" : (!ascend.buffer<2x1xf32, hbm>) -> !ascend.buffer<4x1xf32, hbm>
+ %g = ascend.alloc in scratch at 64 : !ascend.buffer<4x1xf32, hbm>
+ // expected-error@+1 {{aclnnMul ('scale', task 'layer', stream 'compute') takes constant 'y', which over 'mp' is a part of a whole: expected the whole, or operands that are cut alike in a dimension that may be}}
+ ascend.launch "aclnnMul"(%r, %y) -> (%g) {} cell "scale" : (!ascend.buffer<4x1xf32, hbm>, !ascend.buffer<4x1xf32, hbm>) -> !ascend.buffer<4x1xf32, hbm>
@ ascend.static @x
+ ascend.static @y constant : !ascend.buffer<4x1xf32, hbm> slice <[8, 1] over [[mp], []]> at 64

// Its sum over the dimension is a summand, its largest element the same.
@ ascend.static @x
+ ascend.static @g gradient of "w" : !ascend.buffer<2xf32, hbm> at 128
+ ascend.static @h gradient of "v" : !ascend.buffer<2xf32, hbm> at 192
@ ascend.launch "aclnnRepeat
+ ascend.launch "aclnnReduceSum"(%r) -> (%g) {axes = array<i64: 1>} cell "sum" : (!ascend.buffer<2x4xf32, hbm>) -> !ascend.buffer<2xf32, hbm>
+ ascend.launch "aclnnAmax"(%r) -> (%h) {axes = array<i64: 1>} cell "largest" : (!ascend.buffer<2x4xf32, hbm>) -> !ascend.buffer<2xf32, hbm>
+ %ready = ascend.record @compute
+ %done = ascend.collective all_reduce %g to %g over <mp> channel "c" cell "sum" on @c after %ready : !ascend.buffer<2xf32, hbm> to !ascend.buffer<2xf32, hbm> -> !ascend.event
+ ascend.wait @compute for %done

// The sum over the other dimension is repeated, too, and no summand.
@ ascend.static @x
+ ascend.static @g gradient of "w" : !ascend.buffer<4xf32, hbm> at 128
@ ascend.launch "aclnnRepeat
+ ascend.launch "aclnnReduceSum"(%r) -> (%g) {axes = array<i64: 0>} cell "sum" : (!ascend.buffer<2x4xf32, hbm>) -> !ascend.buffer<4xf32, hbm>
+ %ready = ascend.record @compute
+ // expected-error@+1 {{all_reduce ('sum', channel 'c', task 'layer', stream 'c') takes gradient 'w', which over 'mp' is the same on all ranks: expected a summand: the sum would be of something else}}
+ %done = ascend.collective all_reduce %g to %g over <mp> channel "c" cell "sum" on @c after %ready : !ascend.buffer<4xf32, hbm> to !ascend.buffer<4xf32, hbm> -> !ascend.event
+ ascend.wait @compute for %done

// Its parts are put side by side.
@ ascend.static @x
+ ascend.static @g gradient of "w" : !ascend.buffer<8xf32, hbm> at 128
@ ascend.launch "aclnnRepeat
+ %s = ascend.alloc in scratch at 64 : !ascend.buffer<4xf32, hbm>
+ ascend.launch "aclnnReduceSum"(%r) -> (%s) {axes = array<i64: 0>} cell "sum" : (!ascend.buffer<2x4xf32, hbm>) -> !ascend.buffer<4xf32, hbm>
+ %ready = ascend.record @compute
+ %done = ascend.collective all_gather %s to %g over <mp> channel "c" cell "sum" on @c after %ready : !ascend.buffer<4xf32, hbm> to !ascend.buffer<8xf32, hbm> -> !ascend.event
+ ascend.wait @compute for %done

// The norm of a cut gradient that repeats a value is that of a part.
@ ascend.static @x
+ ascend.static @g gradient of "w" : !ascend.buffer<2x4xf32, hbm> slice <[2, 8] over [[], [mp]]> at 128
+ ascend.static @norm gradient of "v" : !ascend.buffer<f32, hbm> at 192
@ ascend.launch "aclnnRepeat
+ ascend.launch "aclnnNeg"(%r) -> (%g) {} cell "minus" : (!ascend.buffer<2x4xf32, hbm>) -> !ascend.buffer<2x4xf32, hbm>
+ %n = ascend.alloc in scratch at 64 : !ascend.buffer<f32, hbm>
+ %k = ascend.alloc in scratch at 128 : !ascend.buffer<1xi32, hbm>
+ ascend.launch "aclnnForeachNorm"(%g) -> (%n) workspace(%k : !ascend.buffer<1xi32, hbm>) {} cell "norm" : (!ascend.buffer<2x4xf32, hbm>) -> !ascend.buffer<f32, hbm>
+ %q = ascend.global @norm : !ascend.buffer<f32, hbm>
+ ascend.launch "aclnnMul"(%n, %n) -> (%q) {} cell "square" : (!ascend.buffer<f32, hbm>, !ascend.buffer<f32, hbm>) -> !ascend.buffer<f32, hbm>
+ %ready = ascend.record @compute
+ %done = ascend.collective all_reduce %q to %q over <mp> channel "c" cell "square" on @c after %ready : !ascend.buffer<f32, hbm> to !ascend.buffer<f32, hbm> -> !ascend.event
+ ascend.wait @compute for %done

// What was read as a part is one for all that read it later: its sum over the dimension is a summand.
@ ascend.static @x
+ ascend.static @y constant : !ascend.buffer<2x4xf32, hbm> slice <[2, 8] over [[], [mp]]> at 64
+ ascend.static @g gradient of "w" : !ascend.buffer<2x4xf32, hbm> slice <[2, 8] over [[], [mp]]> at 128
+ // expected-error@+1 {{gradient 'v' is declared the same on all ranks over 'mp', but the step leaves in it a summand of a sum: its sum over 'mp' is missing}}
+ ascend.static @h gradient of "v" : !ascend.buffer<2xf32, hbm> at 192
@ ascend.launch "aclnnRepeat
+ ascend.launch "aclnnMul"(%r, %y) -> (%g) {} cell "scale" : (!ascend.buffer<2x4xf32, hbm>, !ascend.buffer<2x4xf32, hbm>) -> !ascend.buffer<2x4xf32, hbm>
+ ascend.launch "aclnnReduceSum"(%r) -> (%h) {axes = array<i64: 1>} cell "sum" : (!ascend.buffer<2x4xf32, hbm>) -> !ascend.buffer<2xf32, hbm>

// What was read as the whole is no part later.
@ ascend.static @x
+ ascend.static @y constant : !ascend.buffer<2x4xf32, hbm> at 64
+ ascend.static @g gradient of "w" : !ascend.buffer<2x8xf32, hbm> at 128
@ ascend.launch "aclnnRepeat
+ %s = ascend.alloc in scratch at 64 : !ascend.buffer<2x4xf32, hbm>
+ ascend.launch "aclnnMul"(%r, %y) -> (%s) {} cell "scale" : (!ascend.buffer<2x4xf32, hbm>, !ascend.buffer<2x4xf32, hbm>) -> !ascend.buffer<2x4xf32, hbm>
+ %ready = ascend.record @compute
+ // expected-error@+1 {{all_gather ('gather', channel 'c', task 'layer', stream 'c') takes result of 'repeat', which over 'mp' is the same on all ranks: expected a part of a whole: what is put side by side would be something else}}
+ %done = ascend.collective all_gather %r to %g over <mp> channel "c" cell "gather" on @c after %ready : !ascend.buffer<2x4xf32, hbm> to !ascend.buffer<2x8xf32, hbm> -> !ascend.event
+ ascend.wait @compute for %done
