// What the verifier says about programs with one thing broken.
// RUN: %variants %s | %roundtrip --ascend-verify-program --split-input-file --verify-diagnostics

// Nobody writes what is read.
ascend.program @stage0 stage 0 attributes {micro_batches = 1, micro_batch_size = 1, sequence_length = 4, vocab_size = 16, pad_token_id = -1, ignore_index = -100, arena_bytes = 1024, host_bytes = 64} {
  ascend.stream @compute compute
  ascend.stream @h2d h2d
  ascend.static @x constant : !ascend.buffer<4xf32, host> at 0
  ascend.static @w parameter of "w" : !ascend.buffer<4xf32, hbm> at 0
  ascend.routine @layer(%x: !ascend.buffer<4xf32, hbm>) {
    %w = ascend.global @w : !ascend.buffer<4xf32, hbm>
    %t = ascend.alloc in scratch at 0 : !ascend.buffer<4xf32, hbm>
    // expected-error@+1 {{aclnnAdd ('down', task 'layer' of micro-batch 3, stream 'compute') reads temporary 0, but nothing wrote its bytes 0 to 16 before}}
    ascend.launch "aclnnAdd"(%w, %t) -> (%w) {} cell "down" : (!ascend.buffer<4xf32, hbm>, !ascend.buffer<4xf32, hbm>) -> !ascend.buffer<4xf32, hbm>
  }
  ascend.step {
    %h = ascend.global @x : !ascend.buffer<4xf32, host>
    %m = ascend.message at 64 : !ascend.buffer<4xf32, hbm>
    ascend.copy %h to %m on @h2d : !ascend.buffer<4xf32, host> to !ascend.buffer<4xf32, hbm>
    %e = ascend.record @h2d
    ascend.wait @compute for %e
    ascend.call @layer(%m) micro_batch 3 scratch at 256 : (!ascend.buffer<4xf32, hbm>) -> ()
  }
}

// The compute stream does not wait for the copy.
= // expected-error@+1 {{aclnnAdd ('up', task 'layer' of micro-batch 3, stream 'compute') reads message 0, but no event orders this after copy (stream 'h2d'), which writes it}}
+ ascend.launch "aclnnAdd"(%x, %x) -> (%t) {} cell "up" : (!ascend.buffer<4xf32, hbm>, !ascend.buffer<4xf32, hbm>) -> !ascend.buffer<4xf32, hbm>
@ %m =
+ // expected-note@+1 {{that is here}}
- ascend.wait

// Two temporaries that live together share their memory.
- // expected-error@+1
+ %u = ascend.alloc in scratch at 0 : !ascend.buffer<4xf32, hbm>
+ // expected-note@+2 {{that is here}}
= ascend.launch "aclnnAdd"(%x, %x) -> (%t) {} cell "up" : (!ascend.buffer<4xf32, hbm>, !ascend.buffer<4xf32, hbm>) -> !ascend.buffer<4xf32, hbm>
+ ascend.launch "aclnnAdd"(%x, %w) -> (%u) {} cell "gate" : (!ascend.buffer<4xf32, hbm>, !ascend.buffer<4xf32, hbm>) -> !ascend.buffer<4xf32, hbm>
+ // expected-error@+1 {{aclnnAdd ('down', task 'layer' of micro-batch 3, stream 'compute') reads result of 'up', but aclnnAdd ('gate', task 'layer' of micro-batch 3, stream 'compute') wrote result of 'gate' to the same memory before}}
+ ascend.launch "aclnnAdd"(%t, %u) -> (%w) {} cell "down" : (!ascend.buffer<4xf32, hbm>, !ascend.buffer<4xf32, hbm>) -> !ascend.buffer<4xf32, hbm>

// A message lies where a parameter is.
- // expected-error@+1
+ ascend.launch "aclnnAdd"(%x, %x) -> (%t) {} cell "up" : (!ascend.buffer<4xf32, hbm>, !ascend.buffer<4xf32, hbm>) -> !ascend.buffer<4xf32, hbm>
+ // expected-error@+1 {{aclnnAdd ('down', task 'layer' of micro-batch 3, stream 'compute') reads parameter 'w', but copy (stream 'h2d') wrote message 0 to the same memory before}}
= %m = ascend.message at 0 : !ascend.buffer<4xf32, hbm>
+ // expected-note@+1 {{that is here}}

// The memory is not planned.
// expected-error@+1 {{has no arena_bytes: its memory is not planned; run mf-opt --ascend-plan-memory on it}}
= ascend.program @stage0 stage 0 attributes {micro_batches = 1, micro_batch_size = 1, sequence_length = 4, vocab_size = 16, pad_token_id = -1, ignore_index = -100} {
- %w =
- ...
- ascend.launch

// The learning rate on the device is that of the step before.
ascend.program @stage0 stage 0 attributes {micro_batches = 1, micro_batch_size = 1, sequence_length = 4, vocab_size = 16, pad_token_id = -1, ignore_index = -100, arena_bytes = 1024, host_bytes = 64} {
  ascend.stream @compute compute
  ascend.stream @h2d h2d
  ascend.static @host.rate learning_rate : !ascend.buffer<f32, host> at 0
  ascend.static @rate learning_rate : !ascend.buffer<f32, hbm> at 0
  ascend.static @w parameter of "w" : !ascend.buffer<f32, hbm> at 64
  ascend.step {
    // Correct: a copy of host.rate to rate, and a wait for it.
    // expected-error@+1 {{reads learning_rate 'rate', but nothing wrote its bytes 0 to 4 before}}
    ascend.launch "aclnnMul"(%w, %rate) -> (%w) {} : (!ascend.buffer<f32, hbm>, !ascend.buffer<f32, hbm>) -> !ascend.buffer<f32, hbm>
  }
}
