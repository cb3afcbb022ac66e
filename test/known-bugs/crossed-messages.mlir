// Two stages have one peer for both directions. One of them takes the activation for what it expects next.
// Megatron-LM #1450 and #5271: with two stages next and previous rank are the same, and messages without tags pair in the order in which they are posted.
// RUN: %roundtrip --ascend-verify-program --split-input-file --verify-diagnostics %s
module attributes {mf.mesh = #mf.mesh<pp = 2>} {
ascend.program @stage0 stage 0 attributes {micro_batches = 1, micro_batch_size = 1, sequence_length = 4, vocab_size = 16, pad_token_id = -1, ignore_index = -100, arena_bytes = 1024, host_bytes = 64} {
  ascend.stream @compute compute
  ascend.stream @pp communication
  ascend.static @w parameter of "w" : !ascend.buffer<4xf32, hbm> at 0
  ascend.static @v parameter of "v" : !ascend.buffer<8xf32, hbm> at 64
  ascend.step {
    %w = ascend.global @w : !ascend.buffer<4xf32, hbm>
    %v = ascend.global @v : !ascend.buffer<8xf32, hbm>
    // expected-note@+1 {{the other is here}}
    ascend.send %w to <pp = 1> channel "pp" on @pp : !ascend.buffer<4xf32, hbm>
    ascend.send %v to <pp = 1> channel "pp" on @pp : !ascend.buffer<8xf32, hbm>
  }
}

ascend.program @stage1 stage 1 attributes {micro_batches = 1, micro_batch_size = 1, sequence_length = 4, vocab_size = 16, pad_token_id = -1, ignore_index = -100, arena_bytes = 1024, host_bytes = 64} {
  ascend.stream @compute compute
  ascend.stream @pp communication
  ascend.step {
    %m = ascend.message at 0 : !ascend.buffer<4xf32, hbm>
    %n = ascend.message at 64 : !ascend.buffer<8xf32, hbm>
    // Correct: %m first. In a lowered step each direction has a channel of its own.
    // expected-error@+1 {{channel 'pp': 32 bytes of f32 on stage 1 do not match 16 bytes of f32 on stage 0}}
    ascend.receive %n from <pp = 0> channel "pp" on @pp : !ascend.buffer<8xf32, hbm>
    ascend.receive %m from <pp = 0> channel "pp" on @pp : !ascend.buffer<4xf32, hbm>
  }
}
}
