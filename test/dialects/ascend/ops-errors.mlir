// RUN: %roundtrip -allow-unregistered-dialect -verify-diagnostics -split-input-file %s

// expected-error @below {{expected hbm or host}}
"test.buffer"() : () -> !ascend.buffer<4xf32, cache>

// -----

// expected-error @below {{expected integer or float elements, but got 'index'}}
"test.buffer"() : () -> !ascend.buffer<4xindex, hbm>

// -----

// expected-error @below {{expected static shape}}
"test.buffer"() : () -> !ascend.buffer<?xf32, hbm>

// -----

// Sizes that no memory has are refused before anything computes with them.
// expected-error @below {{a buffer of 'tensor<4611686018427387904x4xf32>' is too large; expected at most 2^48 bytes}}
"test.buffer"() : () -> !ascend.buffer<4611686018427387904x4xf32, hbm>

// -----

ascend.program @p stage 0 attributes {
    micro_batches = 1 : i64, micro_batch_size = 1 : i64, sequence_length = 8 : i64,
    vocab_size = 16 : i64, pad_token_id = -1 : i64, ignore_index = -100 : i64} {
  // expected-error @below {{expected one name and, once planned, one offset for each of its 1 slots}}
  ascend.frame_layout @layout [!ascend.buffer<4xf32, hbm>] of ["a", "b"]
}

// -----

ascend.program @p stage 0 attributes {
    micro_batches = 1 : i64, micro_batch_size = 1 : i64, sequence_length = 8 : i64,
    vocab_size = 16 : i64, pad_token_id = -1 : i64, ignore_index = -100 : i64} {
  // expected-error @below {{expected one name and, once planned, one offset for each of its 1 slots}}
  ascend.frame_layout @layout [!ascend.buffer<4xf32, hbm>] of ["a"] at [0, 512]
}

// -----

ascend.program @p stage 0 attributes {
    micro_batches = 1 : i64, micro_batch_size = 1 : i64, sequence_length = 8 : i64,
    vocab_size = 16 : i64, pad_token_id = -1 : i64, ignore_index = -100 : i64} {
  ascend.routine @r() {
    // expected-error @below {{expected a static buffer, but got 'w'}}
    %w = ascend.global @w : !ascend.buffer<4xf32, hbm>
  }
}

// -----

ascend.program @p stage 0 attributes {
    micro_batches = 1 : i64, micro_batch_size = 1 : i64, sequence_length = 8 : i64,
    vocab_size = 16 : i64, pad_token_id = -1 : i64, ignore_index = -100 : i64} {
  // expected-note @below {{buffer is here}}
  ascend.static @w parameter : !ascend.buffer<4xf32, hbm>
  ascend.routine @r() {
    // expected-error @below {{has type '!ascend.buffer<8xf32, hbm>', but the buffer is '!ascend.buffer<4xf32, hbm>'}}
    %w = ascend.global @w : !ascend.buffer<8xf32, hbm>
  }
}

// -----

// A view lies within its source.
ascend.program @p stage 0 attributes {
    micro_batches = 1 : i64, micro_batch_size = 1 : i64, sequence_length = 8 : i64,
    vocab_size = 16 : i64, pad_token_id = -1 : i64, ignore_index = -100 : i64} {
  ascend.routine @r(%x: !ascend.buffer<4xf32, hbm>) {
    // expected-error @below {{takes 16 bytes from byte 4 of '!ascend.buffer<4xf32, hbm>', which has 16}}
    %view = ascend.view %x {byte_offset = 4 : i64} : !ascend.buffer<4xf32, hbm> to !ascend.buffer<4xf32, hbm>
  }
}

// -----

ascend.program @p stage 0 attributes {
    micro_batches = 1 : i64, micro_batch_size = 1 : i64, sequence_length = 8 : i64,
    vocab_size = 16 : i64, pad_token_id = -1 : i64, ignore_index = -100 : i64} {
  ascend.routine @r(%x: !ascend.buffer<4xf32, hbm>) {
    // expected-error @below {{takes 4 bytes from byte -4 of '!ascend.buffer<4xf32, hbm>', which has 16}}
    %view = ascend.view %x {byte_offset = -4 : i64} : !ascend.buffer<4xf32, hbm> to !ascend.buffer<1xf32, hbm>
  }
}

// -----

// A view stays in the memory of its source.
ascend.program @p stage 0 attributes {
    micro_batches = 1 : i64, micro_batch_size = 1 : i64, sequence_length = 8 : i64,
    vocab_size = 16 : i64, pad_token_id = -1 : i64, ignore_index = -100 : i64} {
  ascend.routine @r(%x: !ascend.buffer<4xf32, hbm>) {
    // expected-error @below {{expected a view in hbm, as its source, but got host}}
    %view = ascend.view %x : !ascend.buffer<4xf32, hbm> to !ascend.buffer<4xf32, host>
  }
}

// -----

ascend.program @p stage 0 attributes {
    micro_batches = 1 : i64, micro_batch_size = 1 : i64, sequence_length = 8 : i64,
    vocab_size = 16 : i64, pad_token_id = -1 : i64, ignore_index = -100 : i64} {
  ascend.stream @h2d h2d
  ascend.static @host tokens : !ascend.buffer<8xi32, host>
  ascend.step {
    %host = ascend.global @host : !ascend.buffer<8xi32, host>
    %device = ascend.message : !ascend.buffer<4xi32, hbm>
    // expected-error @below {{expected buffers of one size, but got 32 and 16 bytes}}
    ascend.copy %host to %device on @h2d : !ascend.buffer<8xi32, host> to !ascend.buffer<4xi32, hbm>
  }
}

// -----

ascend.program @p stage 0 attributes {
    micro_batches = 1 : i64, micro_batch_size = 1 : i64, sequence_length = 8 : i64,
    vocab_size = 16 : i64, pad_token_id = -1 : i64, ignore_index = -100 : i64} {
  ascend.step {
    // expected-error @below {{expected a routine, but got 'r'}}
    ascend.call @r() : () -> ()
  }
}

// -----

ascend.program @p stage 0 attributes {
    micro_batches = 1 : i64, micro_batch_size = 1 : i64, sequence_length = 8 : i64,
    vocab_size = 16 : i64, pad_token_id = -1 : i64, ignore_index = -100 : i64} {
  // expected-note @below {{routine is here}}
  ascend.routine @r(%x: !ascend.buffer<4xf32, hbm>) {
  }
  ascend.step {
    %x = ascend.message : !ascend.buffer<8xf32, hbm>
    // expected-error @below {{passes ('!ascend.buffer<8xf32, hbm>'), but the routine takes ('!ascend.buffer<4xf32, hbm>')}}
    ascend.call @r(%x) : (!ascend.buffer<8xf32, hbm>) -> ()
  }
}

// -----

ascend.program @p stage 0 attributes {
    micro_batches = 1 : i64, micro_batch_size = 1 : i64, sequence_length = 8 : i64,
    vocab_size = 16 : i64, pad_token_id = -1 : i64, ignore_index = -100 : i64} {
  ascend.frame_layout @layout [] of []
  ascend.routine @r() attributes {layout = @layout} {
  }
  ascend.step {
    // expected-error @below {{expected a frame of 'layout'}}
    ascend.call @r() : () -> ()
  }
}

// -----

ascend.program @p stage 0 attributes {
    micro_batches = 1 : i64, micro_batch_size = 1 : i64, sequence_length = 8 : i64,
    vocab_size = 16 : i64, pad_token_id = -1 : i64, ignore_index = -100 : i64} {
  ascend.frame_layout @layout [] of []
  ascend.routine @r() {
  }
  ascend.step {
    %frame = ascend.frame @layout micro_batch 0 : !ascend.frame<@layout>
    // expected-error @below {{expected no frame}}
    ascend.call @r() frame %frame : !ascend.frame<@layout> : () -> ()
  }
}

// -----

ascend.program @p stage 0 attributes {
    micro_batches = 1 : i64, micro_batch_size = 1 : i64, sequence_length = 8 : i64,
    vocab_size = 16 : i64, pad_token_id = -1 : i64, ignore_index = -100 : i64} {
  // expected-error @below {{expected buffers as slots, but got 'i32'}}
  ascend.frame_layout @layout [i32] of ["norm"]
}

// -----

ascend.program @p stage 0 attributes {
    micro_batches = 1 : i64, micro_batch_size = 1 : i64, sequence_length = 8 : i64,
    vocab_size = 16 : i64, pad_token_id = -1 : i64, ignore_index = -100 : i64} {
  ascend.frame_layout @layout [] of []
  ascend.step {
    // expected-error @below {{expected integer value}}
    %frame = ascend.frame @layout micro_batch 0 at [0, : !ascend.frame<@layout>
  }
}

// -----

ascend.program @p stage 0 attributes {
    micro_batches = 1 : i64, micro_batch_size = 1 : i64, sequence_length = 8 : i64,
    vocab_size = 16 : i64, pad_token_id = -1 : i64, ignore_index = -100 : i64} {
  ascend.frame_layout @layout [] of []
  ascend.step {
    // expected-error @below {{expected ']'}}
    %frame = ascend.frame @layout micro_batch 0 at [0 512] : !ascend.frame<@layout>
  }
}

// -----

ascend.program @p stage 0 attributes {
    micro_batches = 1 : i64, micro_batch_size = 1 : i64, sequence_length = 8 : i64,
    vocab_size = 16 : i64, pad_token_id = -1 : i64, ignore_index = -100 : i64} {
  ascend.frame_layout @layout [] of []
  ascend.step {
    // expected-error @below {{expected integer value}}
    %frame = ascend.frame @layout micro_batch 0 at here : !ascend.frame<@layout>
  }
}
