// A buffer of gradients serves as the place where gathered parameters arrive, and is not zeroed before gradients are added.
// Megatron-LM #4609: with overlap of parameter gathers the gradients of a bucket begin with what was gathered.
// RUN: %roundtrip --ascend-verify-program --split-input-file --verify-diagnostics %s
// The correction is accepted.
// RUN: sed 's/scratch at 64/scratch at 256/; s|// Correct: .*|ascend.launch "aclnnInplaceZero"() -> (%%gradient) {} : () -> !ascend.buffer<4xf32, hbm>|' %s > %t.mlir
// RUN: %roundtrip --ascend-verify-program %t.mlir -o /dev/null
module attributes {mf.mesh = #mf.mesh<pp = 1, dp = 2>} {
ascend.program @stage0 stage 0 attributes {micro_batches = 1, micro_batch_size = 1, sequence_length = 4, vocab_size = 16, pad_token_id = -1, ignore_index = -100, arena_bytes = 1024, host_bytes = 64} {
  ascend.stream @compute compute
  ascend.stream @dp communication
  ascend.static @slice parameter of "w" : !ascend.buffer<2xf32, hbm> slice <[4] over [[dp]]> at 0
  ascend.static @gradient.w gradient of "w" : !ascend.buffer<4xf32, hbm> at 64
  ascend.routine @backward() {
    %slice = ascend.global @slice : !ascend.buffer<2xf32, hbm>
    %whole = ascend.alloc in scratch at 0 : !ascend.buffer<4xf32, hbm>
    %ready = ascend.record @compute
    // expected-note@+1 {{that is here}}
    %gathered = ascend.collective all_gather %slice to %whole over <dp> channel "dp" cell "w" on @dp after %ready : !ascend.buffer<2xf32, hbm> to !ascend.buffer<4xf32, hbm> -> !ascend.event
    ascend.wait @compute for %gathered
    %summand = ascend.alloc in scratch at 64 : !ascend.buffer<4xf32, hbm>
    ascend.launch "aclnnSilu"(%whole) -> (%summand) {} cell "w.grad" : (!ascend.buffer<4xf32, hbm>) -> !ascend.buffer<4xf32, hbm>
    %gradient = ascend.global @gradient.w : !ascend.buffer<4xf32, hbm>
    // Correct: the gathered parameter has memory of its own, or `aclnnInplaceZero` is launched on the gradient.
    // expected-error@+1 {{aclnnInplaceAdd (task 'backward', stream 'compute') reads gradient 'w', but all_gather ('w', channel 'dp', task 'backward', stream 'dp') wrote result of 'w' to the same memory before}}
    ascend.launch "aclnnInplaceAdd"(%summand) -> (%gradient) {} : (!ascend.buffer<4xf32, hbm>) -> !ascend.buffer<4xf32, hbm>
  }
  ascend.step {
    ascend.call @backward() scratch at 64 : () -> ()
  }
}
}
