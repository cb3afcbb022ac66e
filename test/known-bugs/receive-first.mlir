// Both stages post the receive of what the other sends later on the same stream: none of them gets to its send.
// PyTorch #172668 and #188833: the lowered order puts a receive ahead of sends that are ready. There it costs a bubble; with blocking messages it never ends.
// RUN: %roundtrip --ascend-verify-program --split-input-file --verify-diagnostics %s
module attributes {mf.mesh = #mf.mesh<pp = 2>} {
ascend.program @stage0 stage 0 attributes {micro_batches = 1, micro_batch_size = 1, sequence_length = 4, vocab_size = 16, pad_token_id = -1, ignore_index = -100, arena_bytes = 1024, host_bytes = 64} {
  ascend.stream @compute compute
  ascend.stream @pp communication
  ascend.static @w parameter of "w" : !ascend.buffer<4xf32, hbm> at 0
  ascend.step {
    %w = ascend.global @w : !ascend.buffer<4xf32, hbm>
    %m = ascend.message at 64 : !ascend.buffer<4xf32, hbm>
    // Correct on one of the stages: the send first.
    // expected-error@+1 {{receive (channel 'to 0', stream 'pp') never comes to its end: streams wait for each other}}
    ascend.receive %m from <pp = 1> channel "to 0" on @pp : !ascend.buffer<4xf32, hbm>
    ascend.send %w to <pp = 1> channel "to 1" on @pp : !ascend.buffer<4xf32, hbm>
  }
}

ascend.program @stage1 stage 1 attributes {micro_batches = 1, micro_batch_size = 1, sequence_length = 4, vocab_size = 16, pad_token_id = -1, ignore_index = -100, arena_bytes = 1024, host_bytes = 64} {
  ascend.stream @compute compute
  ascend.stream @pp communication
  ascend.static @w parameter of "w" : !ascend.buffer<4xf32, hbm> at 0
  ascend.step {
    %w = ascend.global @w : !ascend.buffer<4xf32, hbm>
    %m = ascend.message at 64 : !ascend.buffer<4xf32, hbm>
    // Correct on one of the stages: the send first.
    // expected-note@+1 {{stage 1: receive (channel 'to 1', stream 'pp') waits too}}
    ascend.receive %m from <pp = 0> channel "to 1" on @pp : !ascend.buffer<4xf32, hbm>
    ascend.send %w to <pp = 0> channel "to 0" on @pp : !ascend.buffer<4xf32, hbm>
  }
}
}
