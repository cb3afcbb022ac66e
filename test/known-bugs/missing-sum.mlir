// Gradients of a parameter that all ranks hold, from the rows of one rank each, are used without their sum over ranks;
// and what is the same on all ranks is summed, so that it counts twice.
// Megatron-LM #7452 lists sums that parallel layouts miss or take twice, #6470 a norm that counts gradients of experts so.
// RUN: %roundtrip --ascend-verify-program --split-input-file --verify-diagnostics %s
module attributes {mf.mesh = #mf.mesh<pp = 1, dp = 2>} {
ascend.program @stage0 stage 0 attributes {micro_batches = 1, micro_batch_size = 1, sequence_length = 4, vocab_size = 16, pad_token_id = -1, ignore_index = -100, arena_bytes = 1024, host_bytes = 64} {
  ascend.stream @compute compute
  ascend.static @x constant : !ascend.buffer<2x4xf32, hbm> slice <[4, 4] over [[dp], []]> at 0
  // Correct: an all_reduce over dp behind the product, or a gradient that is stored in slices.
  // expected-error@+1 {{gradient 'w' is declared the same on all ranks over 'dp', but the step leaves in it a summand of a sum: its sum over 'dp' is missing}}
  ascend.static @gradient.w gradient of "w" : !ascend.buffer<4x4xf32, hbm> at 64
  ascend.routine @backward() {
    %x = ascend.global @x : !ascend.buffer<2x4xf32, hbm>
    %g = ascend.global @gradient.w : !ascend.buffer<4x4xf32, hbm>
    ascend.launch "aclnnMatmul"(%x, %x) -> (%g) {transpose_a = true} cell "w.grad" : (!ascend.buffer<2x4xf32, hbm>, !ascend.buffer<2x4xf32, hbm>) -> !ascend.buffer<4x4xf32, hbm>
  }
  ascend.step {
    ascend.call @backward() : () -> ()
  }
}
}

// -----

module attributes {mf.mesh = #mf.mesh<pp = 1, dp = 2>} {
ascend.program @stage0 stage 0 attributes {micro_batches = 1, micro_batch_size = 1, sequence_length = 4, vocab_size = 16, pad_token_id = -1, ignore_index = -100, arena_bytes = 1024, host_bytes = 64} {
  ascend.stream @compute compute
  ascend.stream @dp communication
  ascend.static @x constant : !ascend.buffer<4x4xf32, hbm> at 0
  ascend.static @gradient.w gradient of "w" : !ascend.buffer<4x4xf32, hbm> at 64
  ascend.routine @backward() {
    %x = ascend.global @x : !ascend.buffer<4x4xf32, hbm>
    %g = ascend.global @gradient.w : !ascend.buffer<4x4xf32, hbm>
    ascend.launch "aclnnMatmul"(%x, %x) -> (%g) {transpose_a = true} cell "w.grad" : (!ascend.buffer<4x4xf32, hbm>, !ascend.buffer<4x4xf32, hbm>) -> !ascend.buffer<4x4xf32, hbm>
    %ready = ascend.record @compute
    // Correct: no sum, as all ranks computed the same.
    // expected-error@+1 {{takes gradient 'w', which over 'dp' is the same on all ranks: expected a summand: the sum would be of something else}}
    ascend.collective all_reduce %g to %g over <dp> channel "dp" cell "w" on @dp after %ready : !ascend.buffer<4x4xf32, hbm> to !ascend.buffer<4x4xf32, hbm>
  }
  ascend.step {
    ascend.call @backward() : () -> ()
  }
}
}
