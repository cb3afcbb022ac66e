// An activation is read back from host memory while the copy that fills it may still run: the reload waits for nothing.
// Megatron-LM #7398: the reload inside tensor_pop has no edge from the event of its offload. Gradients are silently wrong.
// RUN: %roundtrip --ascend-verify-program --split-input-file --verify-diagnostics %s
// The correction is accepted.
// RUN: sed 's/on @h2d :/on @h2d after %%out :/' %s > %t.mlir
// RUN: %roundtrip --ascend-verify-program %t.mlir -o /dev/null
ascend.program @stage0 stage 0 attributes {micro_batches = 1, micro_batch_size = 1, sequence_length = 4, vocab_size = 16, pad_token_id = -1, ignore_index = -100, arena_bytes = 1024, host_bytes = 64} {
  ascend.stream @compute compute
  ascend.stream @d2h d2h
  ascend.stream @h2d h2d
  ascend.static @w parameter of "w" : !ascend.buffer<4xf32, hbm> at 0
  ascend.static @host.x constant : !ascend.buffer<4xf32, host> at 0
  ascend.routine @forward(%x: !ascend.buffer<4xf32, hbm>) {
    %w = ascend.global @w : !ascend.buffer<4xf32, hbm>
    ascend.launch "aclnnSilu"(%w) -> (%x) {} cell "mlp" : (!ascend.buffer<4xf32, hbm>) -> !ascend.buffer<4xf32, hbm>
  }
  ascend.routine @backward(%x: !ascend.buffer<4xf32, hbm>) {
    %w = ascend.global @w : !ascend.buffer<4xf32, hbm>
    ascend.launch "aclnnSilu"(%x) -> (%w) {} cell "mlp.grad" : (!ascend.buffer<4xf32, hbm>) -> !ascend.buffer<4xf32, hbm>
  }
  ascend.step {
    %x = ascend.message at 64 : !ascend.buffer<4xf32, hbm>
    %back = ascend.message at 128 : !ascend.buffer<4xf32, hbm>
    %host = ascend.global @host.x : !ascend.buffer<4xf32, host>
    ascend.call @forward(%x) scratch at 256 : (!ascend.buffer<4xf32, hbm>) -> ()
    %ready = ascend.record @compute
    // expected-note@+1 {{that is here}}
    %out = ascend.copy %x to %host on @d2h after %ready : !ascend.buffer<4xf32, hbm> to !ascend.buffer<4xf32, host> -> !ascend.event
    // Correct: `on @h2d after %out`.
    // expected-error@+1 {{copy (stream 'h2d') reads constant 'host.x', but no event orders this after copy (stream 'd2h'), which writes it}}
    %in = ascend.copy %host to %back on @h2d : !ascend.buffer<4xf32, host> to !ascend.buffer<4xf32, hbm> -> !ascend.event
    ascend.wait @compute for %in
    ascend.call @backward(%back) scratch at 256 : (!ascend.buffer<4xf32, hbm>) -> ()
  }
}
