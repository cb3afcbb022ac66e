// What the verifier says where ranks together do not compute what one would: each program has one thing wrong with who
// holds what. A static without a slice is the same on all ranks.
// RUN: %variants %s | %roundtrip --ascend-verify-program --split-input-file --verify-diagnostics

// The program that most of those below put statics and launches into.
module attributes {mf.mesh = #mf.mesh<pp = 1, mp = 2>} {
ascend.program @stage0 stage 0 attributes {micro_batches = 1, micro_batch_size = 1, sequence_length = 4, vocab_size = 16, pad_token_id = -1, ignore_index = -100, arena_bytes = 2048, host_bytes = 64} {
  ascend.stream @compute compute
  ascend.routine @layer() {
  }
  ascend.step {
    ascend.call @layer() scratch at 1024 : () -> ()
  }
}
}

// A partial sum in what is not linear: each rank holds columns of x and rows of w.
= module attributes {mf.mesh = #mf.mesh<pp = 1, dp = 2, mp = 2>} {
@ ascend.stream
+ ascend.static @x constant : !ascend.buffer<4x2xf32, hbm> slice <[4, 4] over [[], [mp]]> at 0
+ ascend.static @w parameter of "w" : !ascend.buffer<2x4xf32, hbm> slice <[4, 4] over [[mp], []]> at 64
@ ascend.routine
+ %y = ascend.alloc in scratch at 0 : !ascend.buffer<4x4xf32, hbm>
+ ascend.launch "aclnnMatmul"(%x, %w) -> (%y) {} cell "w" : (!ascend.buffer<4x2xf32, hbm>, !ascend.buffer<2x4xf32, hbm>) -> !ascend.buffer<4x4xf32, hbm>
+ %z = ascend.alloc in scratch at 64 : !ascend.buffer<4x4xf32, hbm>
+ // expected-error@+1 {{aclnnSilu ('silu', task 'layer', stream 'compute') takes result of 'w', which over 'mp' is a summand of a sum: the kernel is not linear in it: expected an all_reduce or reduce_scatter over it before}}
+ ascend.launch "aclnnSilu"(%y) -> (%z) {} cell "silu" : (!ascend.buffer<4x4xf32, hbm>) -> !ascend.buffer<4x4xf32, hbm>

// The sum over the wrong axis: along dp all ranks have the same.
^
@ ascend.stream
+ ascend.stream @dp communication
- %z
+ %ready = ascend.record @compute
= // expected-error@+1 {{all_reduce ('w', channel 'dp', task 'layer', stream 'dp') takes result of 'w', which over 'dp' is the same on all ranks: expected a summand: the sum would be of something else}}
- ascend.launch "aclnnSilu"(%y)
+ ascend.collective all_reduce %y to %y over <dp> channel "dp" cell "w" on @dp after %ready : !ascend.buffer<4x4xf32, hbm> to !ascend.buffer<4x4xf32, hbm>

// A gradient of rows that ranks share out, which is never summed over dp.
= module attributes {mf.mesh = #mf.mesh<pp = 1, dp = 2>} {
@ ascend.stream
+ ascend.static @x constant : !ascend.buffer<2x4xf32, hbm> slice <[4, 4] over [[dp], []]> at 0
+ // expected-error@+1 {{gradient 'w' is declared the same on all ranks over 'dp', but the step leaves in it a summand of a sum: its sum over 'dp' is missing}}
+ ascend.static @gradient.w gradient of "w" : !ascend.buffer<4x4xf32, hbm> at 64
@ ascend.routine
+ %g = ascend.global @gradient.w : !ascend.buffer<4x4xf32, hbm>
+ ascend.launch "aclnnMatmul"(%x, %x) -> (%g) {transpose_a = true} cell "w.grad" : (!ascend.buffer<2x4xf32, hbm>, !ascend.buffer<2x4xf32, hbm>) -> !ascend.buffer<4x4xf32, hbm>

// A rank's own part of what is its own part already.
@ ascend.stream
+ ascend.static @x constant : !ascend.buffer<1x4x2xf32, hbm> at 0
+ ascend.static @rank table : !ascend.buffer<1xi32, hbm> slice <[2] over [[mp]]> at 64 {init = #mf.init<coordinate, value = 1.0>}
@ ascend.routine
+ %half = ascend.alloc in scratch at 0 : !ascend.buffer<1x4xf32, hbm>
+ %view = ascend.view %x : !ascend.buffer<1x4x2xf32, hbm> to !ascend.buffer<1x2x4xf32, hbm>
+ ascend.launch "mfOwnPart"(%view, %rank) -> (%half) {} cell "half" : (!ascend.buffer<1x2x4xf32, hbm>, !ascend.buffer<1xi32, hbm>) -> !ascend.buffer<1x4xf32, hbm>
+ %again = ascend.view %half : !ascend.buffer<1x4xf32, hbm> to !ascend.buffer<1x2x2xf32, hbm>
+ %quarter = ascend.alloc in scratch at 64 : !ascend.buffer<1x2xf32, hbm>
+ // expected-error@+1 {{mfOwnPart ('quarter', task 'layer', stream 'compute') takes result of 'half', which over 'mp' is a part of a whole: expected the whole, of which each rank takes its own part}}
+ ascend.launch "mfOwnPart"(%again, %rank) -> (%quarter) {} cell "quarter" : (!ascend.buffer<1x2x2xf32, hbm>, !ascend.buffer<1xi32, hbm>) -> !ascend.buffer<1x2xf32, hbm>

// A parameter declared as columns, of which the step keeps rows.
= module attributes {mf.mesh = #mf.mesh<pp = 1, dp = 2>} {
@ ascend.stream
+ ascend.static @rows constant : !ascend.buffer<4x4xf32, hbm> slice <[8, 4] over [[dp], []]> at 0
+ // expected-error@+1 {{parameter 'w' is declared a part of a whole over 'dp', but the step leaves in it a part of a whole, cut in another place}}
+ ascend.static @w parameter of "w" : !ascend.buffer<4x4xf32, hbm> slice <[4, 8] over [[], [dp]]> at 64
@ ascend.routine
+ %x = ascend.global @rows : !ascend.buffer<4x4xf32, hbm>
+ ascend.launch "aclnnInplaceCopy"(%x) -> (%w) {} cell "w" : (!ascend.buffer<4x4xf32, hbm>) -> !ascend.buffer<4x4xf32, hbm>

// Rows of one operand and columns of the other over the same axis.
@ ascend.stream
+ ascend.static @x constant : !ascend.buffer<2x4xf32, hbm> slice <[4, 4] over [[mp], []]> at 0
+ ascend.static @w parameter of "w" : !ascend.buffer<4x2xf32, hbm> slice <[4, 4] over [[], [mp]]> at 64
@ ascend.routine
+ %y = ascend.alloc in scratch at 0 : !ascend.buffer<2x2xf32, hbm>
+ // expected-error@+1 {{aclnnMatmul ('w', task 'layer', stream 'compute') takes constant 'x', which over 'mp' is a part of a whole: expected the whole, or operands that are cut alike in a dimension that may be}}
+ ascend.launch "aclnnMatmul"(%x, %w) -> (%y) {} cell "w" : (!ascend.buffer<2x4xf32, hbm>, !ascend.buffer<4x2xf32, hbm>) -> !ascend.buffer<2x2xf32, hbm>

// A gradient that a call still adds to once it is summed. What the call does on the stream of the sum comes behind it.
module attributes {mf.mesh = #mf.mesh<pp = 1, dp = 2>} {
ascend.program @stage0 stage 0 attributes {micro_batches = 2, micro_batch_size = 1, sequence_length = 4, vocab_size = 16, pad_token_id = -1, ignore_index = -100, arena_bytes = 1024, host_bytes = 64} {
  ascend.stream @compute compute
  ascend.stream @dp communication
  ascend.static @x constant : !ascend.buffer<2x4xf32, hbm> slice <[4, 4] over [[dp], []]> at 0
  ascend.static @gradient.w gradient of "w" : !ascend.buffer<4x4xf32, hbm> at 64
  ascend.routine @first() {
    %g = ascend.global @gradient.w : !ascend.buffer<4x4xf32, hbm>
    ascend.launch "aclnnMatmul"(%x, %x) -> (%g) {transpose_a = true} cell "w.grad" : (!ascend.buffer<2x4xf32, hbm>, !ascend.buffer<2x4xf32, hbm>) -> !ascend.buffer<4x4xf32, hbm>
  }
  ascend.routine @second() {
    %whole = ascend.alloc in scratch at 0 : !ascend.buffer<4x4xf32, hbm>
    %ready = ascend.record @compute
    %done = ascend.collective all_gather %x to %whole over <dp> channel "dp" cell "x" on @dp after %ready : !ascend.buffer<2x4xf32, hbm> to !ascend.buffer<4x4xf32, hbm> -> !ascend.event
    ascend.wait @compute for %done
    %more = ascend.alloc in scratch at 64 : !ascend.buffer<4x4xf32, hbm>
    ascend.launch "aclnnMatmul"(%x, %x) -> (%more) {transpose_a = true} cell "w.grad" : (!ascend.buffer<2x4xf32, hbm>, !ascend.buffer<2x4xf32, hbm>) -> !ascend.buffer<4x4xf32, hbm>
    %g = ascend.global @gradient.w : !ascend.buffer<4x4xf32, hbm>
    // expected-error@+1 {{aclnnInplaceAdd ('w.grad', task 'second', stream 'compute') takes}}
    ascend.launch "aclnnInplaceAdd"(%more) -> (%g) {} cell "w.grad" : (!ascend.buffer<4x4xf32, hbm>) -> !ascend.buffer<4x4xf32, hbm>
  }
  ascend.step {
    ascend.call @first() : () -> ()
    %g = ascend.global @gradient.w : !ascend.buffer<4x4xf32, hbm>
    %complete = ascend.record @compute
    ascend.collective all_reduce %g to %g over <dp> channel "dp" on @dp after %complete : !ascend.buffer<4x4xf32, hbm> to !ascend.buffer<4x4xf32, hbm>
    ascend.call @second() scratch at 256 : () -> ()
  }
}
}

// The kernels of a chain one after another: a summand stays one where it is scaled, and goes into nothing that is not
// linear.
= module attributes {mf.mesh = #mf.mesh<pp = 1, dp = 2, mp = 2>} {
@ ascend.stream
+ ascend.static @x constant : !ascend.buffer<4x2xf32, hbm> slice <[4, 4] over [[], [mp]]> at 0
+ ascend.static @w parameter of "w" : !ascend.buffer<2x4xf32, hbm> slice <[4, 4] over [[mp], []]> at 64
@ ascend.routine
+ %y = ascend.alloc in scratch at 0 : !ascend.buffer<4x4xf32, hbm>
+ ascend.launch "aclnnMatmul"(%x, %w) -> (%y) {} cell "w" : (!ascend.buffer<4x2xf32, hbm>, !ascend.buffer<2x4xf32, hbm>) -> !ascend.buffer<4x4xf32, hbm>
+ %z = ascend.alloc in scratch at 64 : !ascend.buffer<4x4xf32, hbm>
+ ascend.launch "mfChain"(%y) -> (%z) {steps = #ascend.steps<aclnnMuls(in0) {value = 2.0 : f64} : tensor<4x4xf32>, aclnnNeg(t0) : tensor<4x4xf32>>} cell "neg" : (!ascend.buffer<4x4xf32, hbm>) -> !ascend.buffer<4x4xf32, hbm>
+ // expected-error@+1 {{mfChain ('silu', task 'layer', stream 'compute') takes result of 'neg', which over 'mp' is a summand of a sum: the kernel is not linear in it: expected an all_reduce or reduce_scatter over it before}}
+ ascend.launch "mfChain"(%z) -> (%y) {steps = #ascend.steps<aclnnNeg(in0) : tensor<4x4xf32>, aclnnSilu(t0) : tensor<4x4xf32>>} cell "silu" : (!ascend.buffer<4x4xf32, hbm>) -> !ascend.buffer<4x4xf32, hbm>

// Rows of a table that are counted along mp and cp, and a table of first rows that counts them along cp and mp.
= module attributes {mf.mesh = #mf.mesh<pp = 1, cp = 2, mp = 2>} {
@ ascend.stream
+ ascend.static @w parameter of "w" : !ascend.buffer<4x4xf32, hbm> slice <[16, 4] over [[mp, cp], []]> at 0
+ ascend.static @tokens constant : !ascend.buffer<4xi32, hbm> at 64
+ ascend.static @first table : !ascend.buffer<1xi32, hbm> slice <[4] over [[cp, mp]]> at 128 {init = #mf.init<coordinate, value = 4.0>}
@ ascend.routine
+ %y = ascend.alloc in scratch at 0 : !ascend.buffer<4x4xf32, hbm>
+ // expected-error@+1 {{takes table 'first', which over 'cp' is a part of a whole: expected parts in the order of another operand, which is cut over the same axes the other way round}}
+ ascend.launch "mfEmbeddingPart"(%w, %tokens, %first) -> (%y) {} cell "embedding" : (!ascend.buffer<4x4xf32, hbm>, !ascend.buffer<4xi32, hbm>, !ascend.buffer<1xi32, hbm>) -> !ascend.buffer<4x4xf32, hbm>

// Parts are put side by side along dp and cp, but they are counted along cp and dp.
= module attributes {mf.mesh = #mf.mesh<pp = 1, dp = 2, cp = 2>} {
@ ascend.stream
+ ascend.stream @dp.cp communication
+ ascend.static @w parameter of "w" : !ascend.buffer<4x4xf32, hbm> slice <[16, 4] over [[cp, dp], []]> at 0
@ ascend.routine
+ %y = ascend.alloc in scratch at 0 : !ascend.buffer<16x4xf32, hbm>
+ %ready = ascend.record @compute
+ // expected-error@+1 {{which over 'cp' is a part of a whole: expected parts in the order of the mesh's axes, in which they are put side by side}}
+ %done = ascend.collective all_gather %w to %y over <dp, cp> channel "dp.cp" cell "w" on @dp.cp after %ready : <4x4xf32, hbm> to <16x4xf32, hbm> -> !ascend.event

// Parts along mp lie between those along dp and cp.
= module attributes {mf.mesh = #mf.mesh<pp = 1, dp = 2, cp = 2, mp = 2>} {
@ ascend.stream
+ ascend.stream @dp.cp communication
+ ascend.static @w parameter of "w" : !ascend.buffer<2x4xf32, hbm> slice <[16, 4] over [[dp, mp, cp], []]> at 0
@ ascend.routine
+ %y = ascend.alloc in scratch at 0 : !ascend.buffer<8x4xf32, hbm>
+ %ready = ascend.record @compute
+ // expected-error@+1 {{which over 'mp' is a part of a whole: expected parts that are neighbours: those of other ranks lie between the parts that are put side by side}}
+ %done = ascend.collective all_gather %w to %y over <dp, cp> channel "dp.cp" cell "w" on @dp.cp after %ready : !ascend.buffer<2x4xf32, hbm> to !ascend.buffer<8x4xf32, hbm> -> !ascend.event
