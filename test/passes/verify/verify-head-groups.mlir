// Fewer heads of keys than ranks: neighbours have the same head of keys, and each some of the queries that see it. Their
// gradients of the keys add up.
// RUN: %variants %s | %roundtrip --ascend-verify-program --split-input-file --verify-diagnostics

// Over those with other keys.
module attributes {mf.mesh = #mf.mesh<pp = 1, mp_kv = 2, mp_copy = 2>} {
ascend.program @stage0 stage 0 attributes {micro_batches = 1, micro_batch_size = 1, sequence_length = 4, vocab_size = 16, pad_token_id = -1, ignore_index = -100, arena_bytes = 4096, host_bytes = 64} {
  ascend.stream @compute compute
  ascend.stream @mp communication
  ascend.static @q constant : !ascend.buffer<1x2x4x4xf32, hbm> slice <[1, 8, 4, 4] over [[], [mp_kv, mp_copy], [], []]> at 0
  ascend.static @k constant : !ascend.buffer<1x1x4x4xf32, hbm> slice <[1, 2, 4, 4] over [[], [mp_kv], [], []]> at 128
  ascend.static @v constant : !ascend.buffer<1x1x4x4xf32, hbm> slice <[1, 2, 4, 4] over [[], [mp_kv], [], []]> at 192
  ascend.static @dk gradient of "wk" : !ascend.buffer<1x1x4x4xf32, hbm> slice <[1, 2, 4, 4] over [[], [mp_kv], [], []]> at 256
  ascend.routine @layer() {
    %dk = ascend.global @dk : !ascend.buffer<1x1x4x4xf32, hbm>
    %m = ascend.alloc in scratch at 0 : !ascend.buffer<1x2x4xf32, hbm>
    %s = ascend.alloc in scratch at 64 : !ascend.buffer<1x2x4xf32, hbm>
    %y = ascend.alloc in scratch at 128 : !ascend.buffer<1x2x4x4xf32, hbm>
    ascend.launch "aclnnFlashAttentionScore"(%q, %k, %v) -> (%m, %s, %y) {scale = 0.5} cell "attention" : (!ascend.buffer<1x2x4x4xf32, hbm>, !ascend.buffer<1x1x4x4xf32, hbm>, !ascend.buffer<1x1x4x4xf32, hbm>) -> (!ascend.buffer<1x2x4xf32, hbm>, !ascend.buffer<1x2x4xf32, hbm>, !ascend.buffer<1x2x4x4xf32, hbm>)
    %dq = ascend.alloc in scratch at 256 : !ascend.buffer<1x2x4x4xf32, hbm>
    %dv = ascend.alloc in scratch at 384 : !ascend.buffer<1x1x4x4xf32, hbm>
    ascend.launch "aclnnFlashAttentionScoreGrad"(%q, %k, %v, %y, %m, %s, %y) -> (%dq, %dk, %dv) {scale = 0.5} cell "attention.grad" : (!ascend.buffer<1x2x4x4xf32, hbm>, !ascend.buffer<1x1x4x4xf32, hbm>, !ascend.buffer<1x1x4x4xf32, hbm>, !ascend.buffer<1x2x4x4xf32, hbm>, !ascend.buffer<1x2x4xf32, hbm>, !ascend.buffer<1x2x4xf32, hbm>, !ascend.buffer<1x2x4x4xf32, hbm>) -> (!ascend.buffer<1x2x4x4xf32, hbm>, !ascend.buffer<1x1x4x4xf32, hbm>, !ascend.buffer<1x1x4x4xf32, hbm>)
    %ready = ascend.record @compute
    // expected-error@+1 {{all_reduce ('wk', channel 'mp', task 'layer', stream 'mp') takes gradient 'wk', which over 'mp_kv' is a part of a whole: expected a summand: the sum would be of something else}}
    %done = ascend.collective all_reduce %dk to %dk over <mp_kv> channel "mp" cell "wk" on @mp after %ready : !ascend.buffer<1x1x4x4xf32, hbm> to !ascend.buffer<1x1x4x4xf32, hbm> -> !ascend.event
    ascend.wait @compute for %done
  }
  ascend.step {
    ascend.call @layer() scratch at 2048 : () -> ()
  }
}
}

// The sum over those with the same keys.
- // expected-error@+1
= %done = ascend.collective all_reduce %dk to %dk over <mp_copy> channel "mp" cell "wk" on @mp after %ready : !ascend.buffer<1x1x4x4xf32, hbm> to !ascend.buffer<1x1x4x4xf32, hbm> -> !ascend.event

// Without it.
@ ascend.static @v
+ // expected-error@+1 {{gradient 'wk' is declared the same on all ranks over 'mp_copy', but the step leaves in it a summand of a sum: its sum over 'mp_copy' is missing}}
- %ready
- ...
- ascend.wait

// Each has some of the queries of every head, but one of the heads of keys.
= ascend.static @q constant : !ascend.buffer<1x4x4x4xf32, hbm> slice <[1, 8, 4, 4] over [[], [mp_copy], [], []]> at 0
= ascend.static @k constant : !ascend.buffer<1x2x4x4xf32, hbm> slice <[1, 4, 4, 4] over [[], [mp_kv], [], []]> at 256
= ascend.static @v constant : !ascend.buffer<1x2x4x4xf32, hbm> slice <[1, 4, 4, 4] over [[], [mp_kv], [], []]> at 384
- ascend.static @dk
- %dk
= %m = ascend.alloc in scratch at 0 : !ascend.buffer<1x4x4xf32, hbm>
= %s = ascend.alloc in scratch at 64 : !ascend.buffer<1x4x4xf32, hbm>
= %y = ascend.alloc in scratch at 128 : !ascend.buffer<1x4x4x4xf32, hbm>
+ // expected-error@+1 {{aclnnFlashAttentionScore ('attention', task 'layer', stream 'compute') takes constant 'k', which over 'mp_kv' is a part of a whole: expected the whole, or operands that are cut alike in a dimension that may be}}
= ascend.launch "aclnnFlashAttentionScore"(%q, %k, %v) -> (%m, %s, %y) {scale = 0.5} cell "attention" : (!ascend.buffer<1x4x4x4xf32, hbm>, !ascend.buffer<1x2x4x4xf32, hbm>, !ascend.buffer<1x2x4x4xf32, hbm>) -> (!ascend.buffer<1x4x4xf32, hbm>, !ascend.buffer<1x4x4xf32, hbm>, !ascend.buffer<1x4x4x4xf32, hbm>)
- %dq
- ...
- ascend.wait

// Some of the rows of queries, which do not know where they stand: they would see other keys.
^
= module attributes {mf.mesh = #mf.mesh<pp = 1, cp = 2>} {
= ascend.static @q constant : !ascend.buffer<1x1x2x4xf32, hbm> slice <[1, 1, 4, 4] over [[], [], [cp], []]> at 0
= ascend.static @k constant : !ascend.buffer<1x1x4x4xf32, hbm> at 64
= ascend.static @v constant : !ascend.buffer<1x1x4x4xf32, hbm> at 128
= %m = ascend.alloc in scratch at 0 : !ascend.buffer<1x1x2xf32, hbm>
= %s = ascend.alloc in scratch at 64 : !ascend.buffer<1x1x2xf32, hbm>
= %y = ascend.alloc in scratch at 128 : !ascend.buffer<1x1x2x4xf32, hbm>
= // expected-error@+1 {{aclnnFlashAttentionScore ('attention', task 'layer', stream 'compute') takes constant 'q', which over 'cp' is a part of a whole: expected the whole, or operands that are cut alike in a dimension that may be}}
= ascend.launch "aclnnFlashAttentionScore"(%q, %k, %v) -> (%m, %s, %y) {scale = 0.5} cell "attention" : (!ascend.buffer<1x1x2x4xf32, hbm>, !ascend.buffer<1x1x4x4xf32, hbm>, !ascend.buffer<1x1x4x4xf32, hbm>) -> (!ascend.buffer<1x1x2xf32, hbm>, !ascend.buffer<1x1x2xf32, hbm>, !ascend.buffer<1x1x2x4xf32, hbm>)
