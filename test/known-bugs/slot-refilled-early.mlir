// Two prefetched values share a slot, and the second is copied in before the first was read.
// vLLM #54975: the target of a refill is chosen by an index that belongs to another slot of the ring.
// RUN: %roundtrip --ascend-verify-program --split-input-file --verify-diagnostics %s
ascend.program @stage0 stage 0 attributes {micro_batches = 1, micro_batch_size = 1, sequence_length = 4, vocab_size = 16, pad_token_id = -1, ignore_index = -100, arena_bytes = 1024, host_bytes = 128} {
  ascend.stream @compute compute
  ascend.stream @d2h d2h
  ascend.stream @h2d h2d
  ascend.static @w parameter of "w" : !ascend.buffer<4xf32, hbm> at 0
  ascend.static @host.x constant : !ascend.buffer<4xf32, host> at 0
  ascend.static @host.y constant : !ascend.buffer<4xf32, host> at 64
  ascend.routine @layer(%x: !ascend.buffer<4xf32, hbm>) {
    %w = ascend.global @w : !ascend.buffer<4xf32, hbm>
    // expected-error@+1 {{aclnnSilu ('layer', task 'layer', stream 'compute') reads message 0, but copy (stream 'h2d') wrote message 1 to the same memory before}}
    ascend.launch "aclnnSilu"(%x) -> (%w) {} cell "layer" : (!ascend.buffer<4xf32, hbm>) -> !ascend.buffer<4xf32, hbm>
  }
  ascend.step {
    %first = ascend.message at 64 : !ascend.buffer<4xf32, hbm>
    %second = ascend.message at 64 : !ascend.buffer<4xf32, hbm>
    %x = ascend.global @host.x : !ascend.buffer<4xf32, host>
    %y = ascend.global @host.y : !ascend.buffer<4xf32, host>
    ascend.copy %x to %first on @h2d : !ascend.buffer<4xf32, host> to !ascend.buffer<4xf32, hbm>
    // Correct: after the call that reads %first.
    // expected-note@+1 {{that is here}}
    %in = ascend.copy %y to %second on @h2d : !ascend.buffer<4xf32, host> to !ascend.buffer<4xf32, hbm> -> !ascend.event
    ascend.wait @compute for %in
    ascend.call @layer(%first) scratch at 256 : (!ascend.buffer<4xf32, hbm>) -> ()
  }
}
