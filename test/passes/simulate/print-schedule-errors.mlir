// What the simulation says about programs that have no schedule.
// RUN: %roundtrip --ascend-print-schedule --split-input-file --verify-diagnostics %s

// Memory is not planned.
// expected-error@+1 {{has no arena_bytes: its memory is not planned; run mf-opt --ascend-plan-memory on it}}
ascend.program @stage0 stage 0 attributes {micro_batches = 1, micro_batch_size = 1, sequence_length = 4, vocab_size = 16, pad_token_id = -1, ignore_index = -100} {
  ascend.stream @compute compute
  ascend.step {
  }
}

// -----

// Each stage waits for what the other sends then.
ascend.program @stage0 stage 0 attributes {micro_batches = 1, micro_batch_size = 1, sequence_length = 4, vocab_size = 16, pad_token_id = -1, ignore_index = -100, arena_bytes = 256, host_bytes = 0} {
  ascend.stream @compute compute
  ascend.stream @send communication
  ascend.stream @receive communication
  ascend.step {
    %m = ascend.message at 0 : <16xf32, hbm>
    %n = ascend.message at 64 : <16xf32, hbm>
    %here = ascend.receive %m from <pp = 1> channel "from 1" on @receive : <16xf32, hbm> -> !ascend.event
    // expected-error@+1 {{deadlock: stage 0: send (channel 'from 0', stream 'send') waits for stage 0: receive (channel 'from 1', stream 'receive'), stage 0: receive (channel 'from 1', stream 'receive') waits for stage 1: send (channel 'from 1', stream 'send')}}
    ascend.send %n to <pp = 1> channel "from 0" on @send after %here : <16xf32, hbm>
  }
}
ascend.program @stage1 stage 1 attributes {micro_batches = 1, micro_batch_size = 1, sequence_length = 4, vocab_size = 16, pad_token_id = -1, ignore_index = -100, arena_bytes = 256, host_bytes = 0} {
  ascend.stream @compute compute
  ascend.stream @send communication
  ascend.stream @receive communication
  ascend.step {
    %m = ascend.message at 0 : <16xf32, hbm>
    %n = ascend.message at 64 : <16xf32, hbm>
    %here = ascend.receive %m from <pp = 0> channel "from 0" on @receive : <16xf32, hbm> -> !ascend.event
    ascend.send %n to <pp = 0> channel "from 1" on @send after %here : <16xf32, hbm>
  }
}

// -----

// A frame with more than three runs.
ascend.program @stage0 stage 0 attributes {micro_batches = 1, micro_batch_size = 1, sequence_length = 4, vocab_size = 16, pad_token_id = -1, ignore_index = -100, arena_bytes = 256, host_bytes = 0} {
  ascend.stream @compute compute
  ascend.frame_layout @residuals [!ascend.buffer<16xf32, hbm>] of ["x"] at [0] {bytes = 64 : i64, host_bytes = 0 : i64}
  ascend.routine @forward() attributes {layout = @residuals} {
  }
  ascend.step {
    // expected-error@+1 {{a frame of 'residuals' is used by 4 calls, expected a forward, and a backward or its two halves}}
    %f = ascend.frame @residuals micro_batch 0 at 0 host at 0 : <@residuals>
    ascend.call @forward() frame %f : !ascend.frame<@residuals> micro_batch 0 : () -> ()
    ascend.call @forward() frame %f : !ascend.frame<@residuals> micro_batch 0 : () -> ()
    ascend.call @forward() frame %f : !ascend.frame<@residuals> micro_batch 0 : () -> ()
    ascend.call @forward() frame %f : !ascend.frame<@residuals> micro_batch 0 : () -> ()
  }
}
