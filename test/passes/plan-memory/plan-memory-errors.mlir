// RUN: %roundtrip --pass-pipeline='builtin.module(ascend.program(ascend-plan-memory))' -verify-diagnostics -split-input-file %s

// A step that does not fit: by how much, when, what it is spent on, and the largest live values.
// expected-error @below {{stage 1 needs 4608 bytes of device memory, but 4096 bytes are allowed}}
// expected-note @below {{the peak is at task forward, micro-batch 0, operator layers.0.feed_forward.w1}}
// expected-note @below {{parameter: 1024 bytes}}
// expected-note @below {{gradient: 512 bytes}}
// expected-note @below {{residual: 1024 bytes}}
// expected-note @below {{temporary: 2048 bytes}}
// expected-note @below {{live: 2048 bytes, temporary layers.0.feed_forward.w1}}
// expected-note @below {{live: 1024 bytes, parameter w}}
// expected-note @below {{live: 1024 bytes, residual layers.0.attention_norm}}
// expected-note @below {{live: 512 bytes, gradient gradient.w}}
// expected-note @below {{of the peak, layer 0 would save 1024 bytes by recompute, up to 1024 bytes by swap}}
// expected-note @below {{by estimate, recompute of all layers of this stage would not be enough: about 4608 bytes}}
// expected-note @below {{by estimate, swap of all layers of this stage would not be enough: about 4608 bytes}}
ascend.program @stage1 stage 1 attributes {
    micro_batches = 1 : i64, micro_batch_size = 1 : i64, sequence_length = 8 : i64,
    vocab_size = 16 : i64, pad_token_id = -1 : i64, ignore_index = -100 : i64, hbm_limit_bytes = 4096 : i64} {
  ascend.stream @compute compute
  ascend.static @w parameter of "w" : !ascend.buffer<256xf32, hbm>
  ascend.static @gradient.w gradient of "w" : !ascend.buffer<100xf32, hbm>
  ascend.frame_layout @residuals [!ascend.buffer<256xf32, hbm>] of ["layers.0.attention_norm"]
  ascend.routine @forward() attributes {layout = @residuals} {
    %w = ascend.global @w : !ascend.buffer<256xf32, hbm>
    %norm = ascend.slot 0 : !ascend.buffer<256xf32, hbm>
    ascend.launch "aclnnNeg" (%w) -> (%norm) {} cell "layers.0.attention_norm" : (!ascend.buffer<256xf32, hbm>) -> !ascend.buffer<256xf32, hbm>
    %product = ascend.alloc : !ascend.buffer<512xf32, hbm>
    ascend.launch "aclnnSilu" (%norm) -> (%product) {} cell "layers.0.feed_forward.w1" : (!ascend.buffer<256xf32, hbm>) -> !ascend.buffer<512xf32, hbm>
  }
  ascend.routine @backward() attributes {layout = @residuals} {
    %norm = ascend.slot 0 : !ascend.buffer<256xf32, hbm>
    %w = ascend.global @w : !ascend.buffer<256xf32, hbm>
    ascend.launch "aclnnNeg" (%norm) -> (%w) {} : (!ascend.buffer<256xf32, hbm>) -> !ascend.buffer<256xf32, hbm>
  }
  ascend.step {
    %frame = ascend.frame @residuals micro_batch 0 : !ascend.frame<@residuals>
    ascend.call @forward() frame %frame : !ascend.frame<@residuals> micro_batch 0 : () -> ()
    ascend.call @backward() frame %frame : !ascend.frame<@residuals> micro_batch 0 : () -> ()
  }
}

// -----

// expected-error @below {{expected one ascend.step}}
ascend.program @stage1 stage 1 attributes {
    micro_batches = 1 : i64, micro_batch_size = 1 : i64, sequence_length = 8 : i64,
    vocab_size = 16 : i64, pad_token_id = -1 : i64, ignore_index = -100 : i64} {
  ascend.stream @compute compute
}

// -----

// expected-error @below {{expected one ascend.step}}
ascend.program @stage1 stage 1 attributes {
    micro_batches = 1 : i64, micro_batch_size = 1 : i64, sequence_length = 8 : i64,
    vocab_size = 16 : i64, pad_token_id = -1 : i64, ignore_index = -100 : i64} {
  ascend.stream @compute compute
  ascend.step {
  }
  ascend.step {
  }
}

// -----

ascend.program @stage1 stage 1 attributes {
    micro_batches = 1 : i64, micro_batch_size = 1 : i64, sequence_length = 8 : i64,
    vocab_size = 16 : i64, pad_token_id = -1 : i64, ignore_index = -100 : i64} {
  ascend.stream @compute compute
  // A residual that nobody reads is a mistake of the program, not a plan with a hole.
  // expected-error @below {{expected slot 0 ('norm') to be written by one routine and read by a later one}}
  ascend.frame_layout @residuals [!ascend.buffer<256xf32, hbm>] of ["norm"]
  ascend.step {
  }
}
