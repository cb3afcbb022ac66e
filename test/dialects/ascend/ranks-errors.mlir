// RUN: %variants %s | %roundtrip -allow-unregistered-dialect -verify-diagnostics -split-input-file

// expected-error @below {{expected elements of one type, but got 'f32' and 'bf16'}}
ascend.collective all_reduce %x to %y over <mp> channel "mp" on @mp : !ascend.buffer<4xf32, hbm> to !ascend.buffer<4xbf16, hbm>

// expected-error @below {{expected an input and an output of one size, but got 4 and 8 elements}}
ascend.collective broadcast %x to %y over <mp> channel "mp" on @mp : !ascend.buffer<4xf32, hbm> to !ascend.buffer<8xf32, hbm>

// expected-error @below {{expected another buffer as output: all_gather does not work in place}}
ascend.collective all_gather %x to %x over <mp> channel "mp" on @mp : !ascend.buffer<4xf32, hbm> to !ascend.buffer<4xf32, hbm>

// expected-error @below {{expected another buffer as output: reduce_scatter does not work in place}}
ascend.collective reduce_scatter %x to %x over <mp> channel "mp" on @mp : !ascend.buffer<4xf32, hbm> to !ascend.buffer<4xf32, hbm>

// expected-error @below {{expected another buffer as output: all_to_all does not work in place}}
ascend.collective all_to_all %x to %x over <mp> channel "mp" on @mp : !ascend.buffer<4xf32, hbm> to !ascend.buffer<4xf32, hbm>

// expected-error @below {{expected each axis once, but got 'mp' twice}}
"test.op"() {a = #ascend.group<mp, dp, mp>} : () -> ()

// expected-error @below {{expected different stages, but got 0}}
"test.op"() {a = #ascend.group<pp stages [0, 0]>} : () -> ()

// expected-error @below {{expected different stages, but got -1}}
"test.op"() {a = #ascend.group<pp stages [-1]>} : () -> ()

// expected-error @below {{lists stages, but 'pp' is not one of its axes}}
"test.op"() {a = #ascend.group<mp stages [0, 1]>} : () -> ()

// expected-error @below {{expected a list of axes for each of 2 dimensions, but got 1}}
"test.op"() {a = #ascend.slice<[8, 8] over [[mp]]>} : () -> ()

// expected-error @below {{is cut by "mp" twice}}
"test.op"() {a = #ascend.slice<[8, 8] over [[mp], [mp]]>} : () -> ()

ascend.program @p stage 0 attributes {micro_batches = 1 : i64, micro_batch_size = 1 : i64, sequence_length = 8 : i64, vocab_size = 16 : i64, pad_token_id = -1 : i64, ignore_index = -100 : i64} {
  // expected-error @below {{is a slice of 1 dimensions, but has 2}}
  ascend.static @w parameter : !ascend.buffer<4x8xf32, hbm> slice #ascend.slice<[8] over [[mp]]>
}

ascend.program @p stage 0 attributes {micro_batches = 1 : i64, micro_batch_size = 1 : i64, sequence_length = 8 : i64, vocab_size = 16 : i64, pad_token_id = -1 : i64, ignore_index = -100 : i64} {
  // expected-error @below {{expected an even part of dimension 0, which is 9 long and cut, but holds 4}}
  ascend.static @w parameter : !ascend.buffer<4x8xf32, hbm> slice #ascend.slice<[9, 8] over [[mp], []]>
}

ascend.program @p stage 0 attributes {micro_batches = 1 : i64, micro_batch_size = 1 : i64, sequence_length = 8 : i64, vocab_size = 16 : i64, pad_token_id = -1 : i64, ignore_index = -100 : i64} {
  // expected-error @below {{expected an even part of dimension 1, which is 16 long and not cut, but holds 8}}
  ascend.static @w parameter : !ascend.buffer<4x8xf32, hbm> slice #ascend.slice<[8, 16] over [[mp], []]>
}

// expected-error @below {{expected elements of one type, but got 'f32' and 'bf16'}}
ascend.collective all_to_all_v %x to %y counts %s, %r over <ep> channel "ep" on @ep : !ascend.buffer<1x6x8xf32, hbm> to !ascend.buffer<1x12x8xbf16, hbm> counts !ascend.buffer<2x3xf32, hbm>, !ascend.buffer<2x3xf32, hbm>

// expected-error @below {{expected rows of floating-point numbers, ..x1xTxC, as its input, but got 'tensor<6x8xi32>'}}
ascend.collective all_to_all_v %x to %y counts %s, %r over <ep> channel "ep" on @ep : !ascend.buffer<6x8xi32, hbm> to !ascend.buffer<6x8xi32, hbm> counts !ascend.buffer<2x3xf32, hbm>, !ascend.buffer<2x3xf32, hbm>

// expected-error @below {{expected rows of floating-point numbers, ..x1xTxC, as its input, but got 'tensor<48xf32>'}}
ascend.collective all_to_all_v %x to %y counts %s, %r over <ep> channel "ep" on @ep : !ascend.buffer<48xf32, hbm> to !ascend.buffer<1x12x8xf32, hbm> counts !ascend.buffer<2x3xf32, hbm>, !ascend.buffer<2x3xf32, hbm>

// expected-error @below {{expected rows of floating-point numbers, ..x1xTxC, as its output, but got 'tensor<2x6x8xf32>'}}
ascend.collective all_to_all_v %x to %y counts %s, %r over <ep> channel "ep" on @ep : !ascend.buffer<1x6x8xf32, hbm> to !ascend.buffer<2x6x8xf32, hbm> counts !ascend.buffer<2x3xf32, hbm>, !ascend.buffer<2x3xf32, hbm>

// expected-error @below {{expected rows of floating-point numbers, ..x1xTxC, as its output, but got 'tensor<12x0xf32>'}}
ascend.collective all_to_all_v %x to %y counts %s, %r over <ep> channel "ep" on @ep : !ascend.buffer<1x6x8xf32, hbm> to !ascend.buffer<12x0xf32, hbm> counts !ascend.buffer<2x3xf32, hbm>, !ascend.buffer<2x3xf32, hbm>

// expected-error @below {{expected rows of one size, but got 8 and 4 elements}}
ascend.collective all_to_all_v %x to %y counts %s, %r over <ep> channel "ep" on @ep : !ascend.buffer<1x6x8xf32, hbm> to !ascend.buffer<12x4xf32, hbm> counts !ascend.buffer<2x3xf32, hbm>, !ascend.buffer<2x3xf32, hbm>

// expected-error @below {{expected counts in f32, but got 'tensor<2x3xi32>'}}
ascend.collective all_to_all_v %x to %y counts %s, %r over <ep> channel "ep" on @ep : !ascend.buffer<1x6x8xf32, hbm> to !ascend.buffer<1x12x8xf32, hbm> counts !ascend.buffer<2x3xf32, hbm>, !ascend.buffer<2x3xi32, hbm>

// expected-error @below {{expected as many counts to receive as to send, but got 8 and 6}}
ascend.collective all_to_all_v %x to %y counts %s, %r over <ep> channel "ep" on @ep : !ascend.buffer<1x6x8xf32, hbm> to !ascend.buffer<1x12x8xf32, hbm> counts !ascend.buffer<2x3xf32, hbm>, !ascend.buffer<2x4xf32, hbm>

// expected-error @below {{expected as many counts to receive as to send, but got 0 and 0}}
ascend.collective all_to_all_v %x to %y counts %s, %r over <ep> channel "ep" on @ep : !ascend.buffer<1x6x8xf32, hbm> to !ascend.buffer<1x12x8xf32, hbm> counts !ascend.buffer<0xf32, hbm>, !ascend.buffer<0xf32, hbm>

// expected-error @below {{expected counts of the rows that it sends and receives}}
ascend.collective all_to_all_v %x to %y over <ep> channel "ep" on @ep : !ascend.buffer<1x6x8xf32, hbm> to !ascend.buffer<1x12x8xf32, hbm>

// expected-error @below {{expected another buffer as output: all_to_all_v does not work in place}}
ascend.collective all_to_all_v %x to %x counts %s, %r over <ep> channel "ep" on @ep : !ascend.buffer<1x6x8xf32, hbm> to !ascend.buffer<1x6x8xf32, hbm> counts !ascend.buffer<2x3xf32, hbm>, !ascend.buffer<2x3xf32, hbm>

// expected-error @below {{expected no counts and no fill: the sizes of all_to_all are those of its buffers}}
ascend.collective all_to_all %x to %y counts %s, %r over <ep> channel "ep" on @ep : !ascend.buffer<1x6x8xf32, hbm> to !ascend.buffer<1x6x8xf32, hbm> counts !ascend.buffer<2x3xf32, hbm>, !ascend.buffer<2x3xf32, hbm>

// expected-error @below {{expected no counts and no fill: the sizes of all_gather are those of its buffers}}
ascend.collective all_gather %x to %y over <ep> channel "ep" on @ep {fill = 1.0} : !ascend.buffer<1x6x8xf32, hbm> to !ascend.buffer<1x12x8xf32, hbm>
