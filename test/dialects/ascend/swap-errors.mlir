// Slots and events in the wrong place.
// RUN: %variants %s | %roundtrip -verify-diagnostics -split-input-file

ascend.program @stage0 stage 0 attributes {micro_batches = 1, micro_batch_size = 1, sequence_length = 4, vocab_size = 16, pad_token_id = -1, ignore_index = -100} {
  ascend.step {
    // expected-error @below {{expected the frame that it is a slot of}}
    %s = ascend.slot 1 : <4xf32, host>
  }
}

ascend.program @stage0 stage 0 attributes {micro_batches = 1, micro_batch_size = 1, sequence_length = 4, vocab_size = 16, pad_token_id = -1, ignore_index = -100} {
  ascend.routine @r() {
  }
  ascend.step {
    // expected-error @below {{records 2 events, but has 1 results}}
    %e = ascend.call @r() records [1, 2] : () -> (!ascend.event)
  }
}

^
= // expected-error @below {{expected rising numbers of launches in records, but got 2}}
- %e
+ %e:2 = ascend.call @r() records [2, 2] : () -> (!ascend.event, !ascend.event)

ascend.program @stage0 stage 0 attributes {micro_batches = 1, micro_batch_size = 1, sequence_length = 4, vocab_size = 16, pad_token_id = -1, ignore_index = -100} {
  // expected-note @below {{routine is here}}
  ascend.routine @r(%e: !ascend.event) {
  }
  ascend.step {
    // expected-error @below {{passes (), but the routine takes ('!ascend.event')}}
    ascend.call @r() : () -> ()
  }
}
