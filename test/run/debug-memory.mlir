// What nobody wrote is NaN with --debug-memory: %t is read before it is written,
// where the step before left a value. The verifier would have refused it.
// RUN: mf-run %s --steps 2 --verify=false | FileCheck %s --check-prefix=PLAIN
// RUN: mf-run %s --steps 2 --verify=false --debug-memory | FileCheck %s --check-prefix=DEBUG
// RUN: not mf-run %s 2>&1 | FileCheck %s --check-prefix=VERIFY

// PLAIN: loss: 1.000
// PLAIN: loss: 2.000
// DEBUG: loss:   nan
// DEBUG: loss:   nan
// VERIFY: error: aclnnInplaceAdd ('update', task 'update', stream 'compute') reads result of 'copy', but nothing wrote its bytes 0 to 16 before
ascend.program @stage0 stage 0 attributes {micro_batches = 1, micro_batch_size = 1, sequence_length = 4, vocab_size = 16, pad_token_id = -1, ignore_index = -100, arena_bytes = 192, host_bytes = 64} {
  ascend.stream @compute compute
  ascend.stream @d2h d2h
  ascend.static @w parameter of "w" : !ascend.buffer<4xf32, hbm> at 0 {init = #mf.init<ones>}
  ascend.static @loss report of "loss" : !ascend.buffer<4xf32, host> at 0
  ascend.routine @update() attributes {updates_parameters} {
    %w = ascend.global @w : !ascend.buffer<4xf32, hbm>
    %t = ascend.alloc in scratch at 0 : !ascend.buffer<4xf32, hbm>
    ascend.launch "aclnnInplaceAdd"(%t) -> (%w) {} cell "update" : (!ascend.buffer<4xf32, hbm>) -> !ascend.buffer<4xf32, hbm>
    ascend.launch "aclnnInplaceCopy"(%w) -> (%t) {} cell "copy" : (!ascend.buffer<4xf32, hbm>) -> !ascend.buffer<4xf32, hbm>
  }
  ascend.step {
    %w = ascend.global @w : !ascend.buffer<4xf32, hbm>
    %loss = ascend.global @loss : !ascend.buffer<4xf32, host>
    ascend.call @update() scratch at 128 : () -> ()
    %done = ascend.record @compute
    ascend.wait @d2h for %done
    ascend.copy %w to %loss on @d2h : !ascend.buffer<4xf32, hbm> to !ascend.buffer<4xf32, host>
  }
}
