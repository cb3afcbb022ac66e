// The memory of an offloaded value is given to another one while the copy to the host still reads it.
// hyper-parallel #894: only a local variable refers to the buffer of an asynchronous copy, so that the allocator may give it away.
// RUN: %roundtrip --ascend-verify-program --split-input-file --verify-diagnostics %s
// The correction is accepted.
// RUN: sed 's|// Correct: .*|ascend.wait @compute for %%out|' %s > %t.mlir
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
  ascend.routine @next() {
    %w = ascend.global @w : !ascend.buffer<4xf32, hbm>
    %t = ascend.alloc in scratch at 0 : !ascend.buffer<4xf32, hbm>
    // expected-error@+1 {{aclnnSilu ('next', task 'next', stream 'compute') writes result of 'next', but no event orders this after copy (stream 'd2h'), which reads message 0 in its memory}}
    ascend.launch "aclnnSilu"(%w) -> (%t) {} cell "next" : (!ascend.buffer<4xf32, hbm>) -> !ascend.buffer<4xf32, hbm>
  }
  ascend.step {
    %x = ascend.message at 64 : !ascend.buffer<4xf32, hbm>
    %host = ascend.global @host.x : !ascend.buffer<4xf32, host>
    ascend.call @forward(%x) scratch at 256 : (!ascend.buffer<4xf32, hbm>) -> ()
    %ready = ascend.record @compute
    // expected-note@+1 {{that is here}}
    %out = ascend.copy %x to %host on @d2h after %ready : !ascend.buffer<4xf32, hbm> to !ascend.buffer<4xf32, host> -> !ascend.event
    // Correct: `ascend.wait @compute for %out` here.
    ascend.call @next() scratch at 64 : () -> ()
  }
}
