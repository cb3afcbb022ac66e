// What the verifier says of exchanges whose sizes are data: their counts are read like any buffer, and ranks have to hold
// rows and counts of their own. The first program is fine.
// RUN: %variants %s | %roundtrip --ascend-verify-program --split-input-file --verify-diagnostics

// Each rank sends rows of its own, as counts of its own say.
module attributes {mf.mesh = #mf.mesh<pp = 1, dp = 2, ep = 2>} {
ascend.program @stage0 stage 0 attributes {micro_batches = 1, micro_batch_size = 1, sequence_length = 4, vocab_size = 16, pad_token_id = -1, ignore_index = -100, arena_bytes = 1024, host_bytes = 64} {
  ascend.stream @compute compute
  ascend.stream @ep communication
  ascend.static @rows constant : !ascend.buffer<1x6x2xf32, hbm> slice <[4, 6, 2] over [[dp, ep], [], []]> at 0
  ascend.static @send constant : !ascend.buffer<1x2x2xf32, hbm> slice <[4, 2, 2] over [[dp, ep], [], []]> at 64
  ascend.static @result constant : !ascend.buffer<1x8x2xf32, hbm> slice <[4, 8, 2] over [[dp, ep], [], []]> at 128
  ascend.routine @layer() {
    %result = ascend.global @result : !ascend.buffer<1x8x2xf32, hbm>
    %receive = ascend.alloc in scratch at 0 : !ascend.buffer<1x2x2xf32, hbm>
    %counted = ascend.collective all_to_all %send to %receive over <ep> channel "ep" cell "counts" on @ep : !ascend.buffer<1x2x2xf32, hbm> to !ascend.buffer<1x2x2xf32, hbm> -> !ascend.event
    %done = ascend.collective all_to_all_v %rows to %result counts %send, %receive over <ep> channel "ep" cell "dispatch" on @ep after %counted : !ascend.buffer<1x6x2xf32, hbm> to !ascend.buffer<1x8x2xf32, hbm> counts !ascend.buffer<1x2x2xf32, hbm>, !ascend.buffer<1x2x2xf32, hbm> -> !ascend.event
    ascend.wait @compute for %done
  }
  ascend.step {
    ascend.call @layer() scratch at 256 : () -> ()
  }
}
}

// Nobody has told what is to be received.
- %counted
+ // expected-error@+1 {{all_to_all_v ('dispatch', channel 'ep', task 'layer', stream 'ep') reads temporary 0, but nothing wrote its bytes 0 to 16 before}}
= %done = ascend.collective all_to_all_v %rows to %result counts %send, %receive over <ep> channel "ep" cell "dispatch" on @ep : !ascend.buffer<1x6x2xf32, hbm> to !ascend.buffer<1x8x2xf32, hbm> counts !ascend.buffer<1x2x2xf32, hbm>, !ascend.buffer<1x2x2xf32, hbm> -> !ascend.event

// The counts change while rows are sent.
@ %done
+ // expected-note@-1 {{that is here}}
+ // expected-error@+1 {{aclnnNeg ('again', task 'layer', stream 'compute') writes result of 'counts', but no event orders this after all_to_all_v ('dispatch', channel 'ep', task 'layer', stream 'ep'), which reads it}}
+ ascend.launch "aclnnNeg"(%send) -> (%receive) {} cell "again" : (!ascend.buffer<1x2x2xf32, hbm>) -> !ascend.buffer<1x2x2xf32, hbm>

// The counts come from a kernel that may still run.
- %counted
+ // expected-note@+1 {{that is here}}
+ ascend.launch "aclnnNeg"(%send) -> (%receive) {} cell "counts" : (!ascend.buffer<1x2x2xf32, hbm>) -> !ascend.buffer<1x2x2xf32, hbm>
+ // expected-error@+1 {{all_to_all_v ('dispatch', channel 'ep', task 'layer', stream 'ep') reads result of 'counts', but no event orders this after aclnnNeg ('counts', task 'layer', stream 'compute'), which writes it}}
= %done = ascend.collective all_to_all_v %rows to %result counts %send, %receive over <ep> channel "ep" cell "dispatch" on @ep : !ascend.buffer<1x6x2xf32, hbm> to !ascend.buffer<1x8x2xf32, hbm> counts !ascend.buffer<1x2x2xf32, hbm>, !ascend.buffer<1x2x2xf32, hbm> -> !ascend.event

// Rows are read before they have come.
@ %done
+ // expected-note@-1 {{that is here}}
+ %y = ascend.alloc in scratch at 64 : !ascend.buffer<1x8x2xf32, hbm>
+ // expected-error@+1 {{aclnnNeg ('early', task 'layer', stream 'compute') reads constant 'result', but no event orders this after all_to_all_v}}
+ ascend.launch "aclnnNeg"(%result) -> (%y) {} cell "early" : (!ascend.buffer<1x8x2xf32, hbm>) -> !ascend.buffer<1x8x2xf32, hbm>

// What arrives would lie over the counts.
- %done
+ %over = ascend.alloc in scratch at 0 : !ascend.buffer<1x8x2xf32, hbm>
+ // expected-error@+1 {{all_to_all_v ('dispatch', channel 'ep', task 'layer', stream 'ep') writes result of 'dispatch', but it overlaps result of 'counts', which the same operation reads}}
+ %done = ascend.collective all_to_all_v %rows to %over counts %send, %receive over <ep> channel "ep" cell "dispatch" on @ep after %counted : !ascend.buffer<1x6x2xf32, hbm> to !ascend.buffer<1x8x2xf32, hbm> counts !ascend.buffer<1x2x2xf32, hbm>, !ascend.buffer<1x2x2xf32, hbm> -> !ascend.event

// All ranks of the group would send the same rows.
= ascend.static @rows constant : !ascend.buffer<1x6x2xf32, hbm> slice <[2, 6, 2] over [[dp], [], []]> at 0
@ %counted
+ // expected-error@+1 {{all_to_all_v ('dispatch', channel 'ep', task 'layer', stream 'ep') takes constant 'rows', which over 'ep' is the same on all ranks: expected a part of a whole: what is put side by side would be something else}}

// A rank has part of each row.
= ascend.static @rows constant : !ascend.buffer<1x6x2xf32, hbm> slice <[2, 6, 4] over [[dp], [], [ep]]> at 0
@ %counted
+ // expected-error@+1 {{all_to_all_v ('dispatch', channel 'ep', task 'layer', stream 'ep') takes constant 'rows', which over 'ep' is a part of a whole: expected a part that is cut above all of its rows: rows would be put side by side that are none}}

// Ranks have parts of the same rows, but counts of their own.
= ascend.static @rows constant : !ascend.buffer<1x6x2xf32, hbm> slice <[2, 6, 4] over [[ep], [], [dp]]> at 0
@ %counted
+ // expected-error@+1 {{all_to_all_v ('dispatch', channel 'ep', task 'layer', stream 'ep') takes constant 'rows', which over 'dp' is a part of a whole: expected a part that is cut above all of its rows: each has counts of its own}}

// Parts of each row go the way of the rows.
= ascend.static @rows constant : !ascend.buffer<1x6x2xf32, hbm> slice <[2, 6, 4] over [[ep], [], [dp]]> at 0
= ascend.static @send constant : !ascend.buffer<1x2x2xf32, hbm> slice <[2, 2, 2] over [[ep], [], []]> at 64
= ascend.static @result constant : !ascend.buffer<1x8x2xf32, hbm> slice <[2, 8, 4] over [[ep], [], [dp]]> at 128

// What ranks have the same of goes everywhere in the same way, and is no part then.
= ascend.static @rows constant : !ascend.buffer<1x6x2xf32, hbm> slice <[2, 6, 2] over [[ep], [], []]> at 0
= ascend.static @send constant : !ascend.buffer<1x2x2xf32, hbm> slice <[2, 2, 2] over [[ep], [], []]> at 64
= ascend.static @result constant : !ascend.buffer<1x8x2xf32, hbm> slice <[2, 8, 2] over [[ep], [], []]> at 128

// The result is declared the same over dp, but each has what its own counts say.
= ascend.static @rows constant : !ascend.buffer<1x6x2xf32, hbm> slice <[2, 6, 2] over [[ep], [], []]> at 0
// expected-error@+1 {{constant 'result' is declared the same on all ranks over 'dp', but the step leaves in it a part of a whole}}
= ascend.static @result constant : !ascend.buffer<1x8x2xf32, hbm> slice <[2, 8, 2] over [[ep], [], []]> at 128

// Counts that are not summed up yet.
@ %receive
+ %w = ascend.view %send : !ascend.buffer<1x2x2xf32, hbm> to !ascend.buffer<2x2xf32, hbm>
+ %c = ascend.alloc in scratch at 64 : !ascend.buffer<2x2xf32, hbm>
+ ascend.launch "aclnnMatmul"(%w, %w) -> (%c) {transpose_a = true} cell "sum" : (!ascend.buffer<2x2xf32, hbm>, !ascend.buffer<2x2xf32, hbm>) -> !ascend.buffer<2x2xf32, hbm>
+ %ready = ascend.record @compute
+ %sums = ascend.view %c : !ascend.buffer<2x2xf32, hbm> to !ascend.buffer<1x2x2xf32, hbm>
// expected-error@+1 {{all_to_all_v ('dispatch', channel 'ep', task 'layer', stream 'ep') takes result of 'sum', which over 'dp' is a summand of a sum: expected numbers of rows: other rows would be sent}}
= %done = ascend.collective all_to_all_v %rows to %result counts %sums, %receive over <ep> channel "ep" cell "dispatch" on @ep after %counted, %ready : !ascend.buffer<1x6x2xf32, hbm> to !ascend.buffer<1x8x2xf32, hbm> counts !ascend.buffer<1x2x2xf32, hbm>, !ascend.buffer<1x2x2xf32, hbm> -> !ascend.event

// Rows of summands are summands.
= ascend.static @rows constant : !ascend.buffer<1x6x2xf32, hbm> slice <[2, 6, 4] over [[ep], [], [dp]]> at 0
= ascend.static @send constant : !ascend.buffer<1x2x2xf32, hbm> slice <[2, 2, 2] over [[ep], [], []]> at 64
+ // expected-error@+1 {{constant 'result' is declared the same on all ranks over 'dp', but the step leaves in it a summand of a sum: its sum over 'dp' is missing}}
= ascend.static @result constant : !ascend.buffer<1x8x2xf32, hbm> slice <[2, 8, 2] over [[ep], [], []]> at 128
+ ascend.static @w constant : !ascend.buffer<2x2xf32, hbm> slice <[4, 2] over [[dp], []]> at 192
@ %receive
+ %x = ascend.view %rows : !ascend.buffer<1x6x2xf32, hbm> to !ascend.buffer<6x2xf32, hbm>
+ %c = ascend.alloc in scratch at 64 : !ascend.buffer<6x2xf32, hbm>
+ ascend.launch "aclnnMatmul"(%x, %w) -> (%c) {} cell "sum" : (!ascend.buffer<6x2xf32, hbm>, !ascend.buffer<2x2xf32, hbm>) -> !ascend.buffer<6x2xf32, hbm>
+ %ready = ascend.record @compute
+ %sums = ascend.view %c : !ascend.buffer<6x2xf32, hbm> to !ascend.buffer<1x6x2xf32, hbm>
= %done = ascend.collective all_to_all_v %sums to %result counts %send, %receive over <ep> channel "ep" cell "dispatch" on @ep after %counted, %ready : !ascend.buffer<1x6x2xf32, hbm> to !ascend.buffer<1x8x2xf32, hbm> counts !ascend.buffer<1x2x2xf32, hbm>, !ascend.buffer<1x2x2xf32, hbm> -> !ascend.event

// Summed up, what fills the output would not be what was asked for.
^
- // expected-error@+1
= %done = ascend.collective all_to_all_v %sums to %result counts %send, %receive over <ep> channel "ep" cell "dispatch" on @ep after %counted, %ready {fill = 1.0} : !ascend.buffer<1x6x2xf32, hbm> to !ascend.buffer<1x8x2xf32, hbm> counts !ascend.buffer<1x2x2xf32, hbm>, !ascend.buffer<1x2x2xf32, hbm> -> !ascend.event
+ // expected-error @above {{all_to_all_v ('dispatch', channel 'ep', task 'layer', stream 'ep') takes result of 'sum', which over 'dp' is a summand of a sum: expected the same or a part: all would fill the output up}}
