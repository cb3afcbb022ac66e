// Each rank divides the sum of its losses by the number of its own tokens, and the quotients are summed: ranks with few tokens count too much.
// Megatron-LM #7452: the loss of further tokens is normalized with the counts of a rank, and has a gradient of 14/3 in place of 4.
// RUN: %roundtrip --ascend-verify-program --verify-diagnostics %s
module attributes {mf.mesh = #mf.mesh<pp = 1, dp = 2>} {
ascend.program @stage0 stage 0 attributes {micro_batches = 1, micro_batch_size = 1, sequence_length = 4, vocab_size = 16, pad_token_id = -1, ignore_index = -100, arena_bytes = 1024, host_bytes = 64} {
  ascend.stream @compute compute
  ascend.stream @dp communication
  ascend.static @losses constant : !ascend.buffer<4xf32, hbm> slice <[8] over [[dp]]> at 0
  ascend.static @counted constant : !ascend.buffer<4xf32, hbm> slice <[8] over [[dp]]> at 64
  ascend.static @loss parameter of "loss" : !ascend.buffer<f32, hbm> at 128
  ascend.step {
    %losses = ascend.global @losses : !ascend.buffer<4xf32, hbm>
    %counted = ascend.global @counted : !ascend.buffer<4xf32, hbm>
    %loss = ascend.global @loss : !ascend.buffer<f32, hbm>
    %sum = ascend.message at 192 : !ascend.buffer<f32, hbm>
    %count = ascend.message at 256 : !ascend.buffer<f32, hbm>
    %share = ascend.message at 320 : !ascend.buffer<f32, hbm>
    %mean = ascend.message at 384 : !ascend.buffer<f32, hbm>
    ascend.launch "aclnnReduceSum"(%losses) -> (%sum) {axes = array<i64: 0>} : (!ascend.buffer<4xf32, hbm>) -> !ascend.buffer<f32, hbm>
    ascend.launch "aclnnReduceSum"(%counted) -> (%count) {axes = array<i64: 0>} : (!ascend.buffer<4xf32, hbm>) -> !ascend.buffer<f32, hbm>
    // Correct: an all_reduce of the sum and one of the count, and the quotient of both behind them.
    // expected-error@+1 {{takes message 1, which over 'dp' is a summand of a sum: the kernel is not linear in it: expected an all_reduce or reduce_scatter over it before}}
    ascend.launch "aclnnReciprocal"(%count) -> (%share) {} : (!ascend.buffer<f32, hbm>) -> !ascend.buffer<f32, hbm>
    ascend.launch "aclnnMul"(%sum, %share) -> (%mean) {} : (!ascend.buffer<f32, hbm>, !ascend.buffer<f32, hbm>) -> !ascend.buffer<f32, hbm>
    %done = ascend.record @compute
    ascend.collective all_reduce %mean to %loss over <dp> channel "dp" on @dp after %done : !ascend.buffer<f32, hbm> to !ascend.buffer<f32, hbm>
  }
}
}
