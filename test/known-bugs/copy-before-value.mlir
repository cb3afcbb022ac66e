// A copy to the host that starts before the kernel which computes its value has ended.
// TRL #7195: the clone of a saved tensor is enqueued behind the wait that should order the copy after it.
// RUN: %roundtrip --ascend-verify-program --split-input-file --verify-diagnostics %s
ascend.program @stage0 stage 0 attributes {micro_batches = 1, micro_batch_size = 1, sequence_length = 4, vocab_size = 16, pad_token_id = -1, ignore_index = -100, arena_bytes = 1024, host_bytes = 64} {
  ascend.stream @compute compute
  ascend.stream @d2h d2h
  ascend.stream @h2d h2d
  ascend.static @w parameter of "w" : !ascend.buffer<4xf32, hbm> at 0
  ascend.static @host.x constant : !ascend.buffer<4xf32, host> at 0
  ascend.routine @forward(%x: !ascend.buffer<4xf32, hbm>) {
    %w = ascend.global @w : !ascend.buffer<4xf32, hbm>
    // expected-note@+1 {{that is here}}
    ascend.launch "aclnnSilu"(%w) -> (%x) {} cell "mlp" : (!ascend.buffer<4xf32, hbm>) -> !ascend.buffer<4xf32, hbm>
  }
  ascend.step {
    %x = ascend.message at 64 : !ascend.buffer<4xf32, hbm>
    %host = ascend.global @host.x : !ascend.buffer<4xf32, host>
    %early = ascend.record @compute
    ascend.call @forward(%x) scratch at 256 : (!ascend.buffer<4xf32, hbm>) -> ()
    // Correct: the event is recorded behind the call.
    // expected-error@+1 {{copy (stream 'd2h') reads message 0, but no event orders this after aclnnSilu ('mlp', task 'forward', stream 'compute'), which writes it}}
    ascend.copy %x to %host on @d2h after %early : !ascend.buffer<4xf32, hbm> to !ascend.buffer<4xf32, host>
  }
}
