// RUN: %variants %s | %roundtrip -allow-unregistered-dialect -verify-diagnostics -split-input-file

// A program without errors.
ascend.program @p stage 0 attributes {
    micro_batches = 1 : i64, micro_batch_size = 1 : i64, sequence_length = 8 : i64,
    vocab_size = 16 : i64, pad_token_id = -1 : i64, ignore_index = -100 : i64} {
  ascend.stream @h2d h2d
  ascend.static @w parameter : !ascend.buffer<4xf32, hbm>
  ascend.static @host tokens : !ascend.buffer<8xi32, host>
  ascend.frame_layout @layout [] of []
  ascend.routine @r(%x: !ascend.buffer<4xf32, hbm>) {
    %w = ascend.global @w : !ascend.buffer<4xf32, hbm>
  }
  ascend.routine @of_layout() attributes {layout = @layout} {
  }
  ascend.step {
    %x = ascend.message : !ascend.buffer<4xf32, hbm>
    %frame = ascend.frame @layout micro_batch 0 : !ascend.frame<@layout>
    ascend.call @r(%x) : (!ascend.buffer<4xf32, hbm>) -> ()
    ascend.call @of_layout() frame %frame : !ascend.frame<@layout> : () -> ()
  }
}

// expected-error @below {{expected hbm or host}}
"test.buffer"() : () -> !ascend.buffer<4xf32, cache>

// expected-error @below {{expected integer or float elements, but got 'index'}}
"test.buffer"() : () -> !ascend.buffer<4xindex, hbm>

// expected-error @below {{expected static shape}}
"test.buffer"() : () -> !ascend.buffer<?xf32, hbm>

// Sizes that no memory has are refused before anything computes with them.
// expected-error @below {{a buffer of 'tensor<4611686018427387904x4xf32>' is too large; expected at most 2^48 bytes}}
"test.buffer"() : () -> !ascend.buffer<4611686018427387904x4xf32, hbm>

@ ascend.frame_layout
+ // expected-error @below {{expected one name and, once planned, one offset for each of its 1 slots}}
+ ascend.frame_layout @other [!ascend.buffer<4xf32, hbm>] of ["a", "b"]

@ ascend.frame_layout
+ // expected-error @below {{expected one name and, once planned, one offset for each of its 1 slots}}
+ ascend.frame_layout @other [!ascend.buffer<4xf32, hbm>] of ["a"] at [0, 512]

@ %w = ascend.global
+ // expected-error @below {{expected a static buffer, but got 'v'}}
+ %v = ascend.global @v : !ascend.buffer<4xf32, hbm>

// expected-note @below {{buffer is here}}
= ascend.static @w parameter : !ascend.buffer<4xf32, hbm>
// expected-error @below {{has type '!ascend.buffer<8xf32, hbm>', but the buffer is '!ascend.buffer<4xf32, hbm>'}}
= %w = ascend.global @w : !ascend.buffer<8xf32, hbm>

// A view lies within its source.
@ %w = ascend.global
+ // expected-error @below {{takes 16 bytes from byte 4 of '!ascend.buffer<4xf32, hbm>', which has 16}}
+ %view = ascend.view %x {byte_offset = 4 : i64} : !ascend.buffer<4xf32, hbm> to !ascend.buffer<4xf32, hbm>

@ %w = ascend.global
+ // expected-error @below {{takes 4 bytes from byte -4 of '!ascend.buffer<4xf32, hbm>', which has 16}}
+ %view = ascend.view %x {byte_offset = -4 : i64} : !ascend.buffer<4xf32, hbm> to !ascend.buffer<1xf32, hbm>

// A view stays in the memory of its source.
@ %w = ascend.global
+ // expected-error @below {{expected a view in hbm, as its source, but got host}}
+ %view = ascend.view %x : !ascend.buffer<4xf32, hbm> to !ascend.buffer<4xf32, host>

@ %x = ascend.message
+ // expected-error @below {{expected buffers of one size, but got 32 and 16 bytes}}
+ ascend.copy %host to %x on @h2d : !ascend.buffer<8xi32, host> to !ascend.buffer<4xf32, hbm>

@ %x = ascend.message
+ // expected-error @below {{expected a routine, but got 's'}}
+ ascend.call @s() : () -> ()

// expected-note @below {{routine is here}}
= ascend.routine @r(%x: !ascend.buffer<4xf32, hbm>) {
= %x = ascend.message : !ascend.buffer<8xf32, hbm>
// expected-error @below {{passes ('!ascend.buffer<8xf32, hbm>'), but the routine takes ('!ascend.buffer<4xf32, hbm>')}}
= ascend.call @r(%x) : (!ascend.buffer<8xf32, hbm>) -> ()

// expected-error @below {{expected a frame of 'layout'}}
= ascend.call @of_layout() : () -> ()

// expected-error @below {{expected no frame}}
= ascend.call @r(%x) frame %frame : !ascend.frame<@layout> : (!ascend.buffer<4xf32, hbm>) -> ()

@ ascend.frame_layout
+ // expected-error @below {{expected buffers as slots, but got 'i32'}}
+ ascend.frame_layout @other [i32] of ["norm"]

// expected-error @below {{expected integer value}}
= %frame = ascend.frame @layout micro_batch 0 at [0, : !ascend.frame<@layout>

// expected-error @below {{expected ']'}}
= %frame = ascend.frame @layout micro_batch 0 at [0 512] : !ascend.frame<@layout>

// expected-error @below {{expected integer value}}
= %frame = ascend.frame @layout micro_batch 0 at here : !ascend.frame<@layout>
