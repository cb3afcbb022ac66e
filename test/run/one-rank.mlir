// A program written by hand: each step adds half of w to itself, and reports it.
// RUN: mf-run %s --steps 3 | FileCheck %s
// RUN: mf-run %s --steps 3 --debug-memory --threads 1 | FileCheck %s
// RUN: mf-run %s --steps 3 --dump-gradients-every-step %t.gradients --quiet
// RUN: ls %t.gradients | FileCheck %s --check-prefix=DUMPS

// CHECK: loss: 1.500
// CHECK: loss: 2.250
// CHECK: loss: 3.375
// DUMPS:      step_000001.safetensors
// DUMPS-NEXT: step_000002.safetensors
// DUMPS-NEXT: step_000003.safetensors
ascend.program @stage0 stage 0 attributes {micro_batches = 1, micro_batch_size = 1, sequence_length = 4, vocab_size = 16, pad_token_id = -1, ignore_index = -100, arena_bytes = 192, host_bytes = 64} {
  ascend.stream @compute compute
  ascend.stream @d2h d2h
  ascend.static @w parameter of "w" : !ascend.buffer<4xf32, hbm> at 0 {init = #mf.init<ones>}
  ascend.static @g gradient of "w" : !ascend.buffer<4xf32, hbm> at 64
  ascend.static @loss report of "loss" : !ascend.buffer<4xf32, host> at 0
  ascend.routine @backward() {
    %w = ascend.global @w : !ascend.buffer<4xf32, hbm>
    %g = ascend.global @g : !ascend.buffer<4xf32, hbm>
    %t = ascend.alloc in scratch at 0 : !ascend.buffer<4xf32, hbm>
    ascend.launch "aclnnNeg"(%w) -> (%t) {} cell "neg" : (!ascend.buffer<4xf32, hbm>) -> !ascend.buffer<4xf32, hbm>
    ascend.launch "aclnnMuls"(%t) -> (%g) {value = -0.5} cell "scale" : (!ascend.buffer<4xf32, hbm>) -> !ascend.buffer<4xf32, hbm>
  }
  ascend.routine @update() attributes {updates_parameters} {
    %w = ascend.global @w : !ascend.buffer<4xf32, hbm>
    %g = ascend.global @g : !ascend.buffer<4xf32, hbm>
    ascend.launch "aclnnInplaceAdd"(%g) -> (%w) {} cell "update" : (!ascend.buffer<4xf32, hbm>) -> !ascend.buffer<4xf32, hbm>
  }
  ascend.step {
    %w = ascend.global @w : !ascend.buffer<4xf32, hbm>
    %loss = ascend.global @loss : !ascend.buffer<4xf32, host>
    ascend.call @backward() scratch at 128 : () -> ()
    ascend.call @update() : () -> ()
    %done = ascend.record @compute
    ascend.wait @d2h for %done
    ascend.copy %w to %loss on @d2h : !ascend.buffer<4xf32, hbm> to !ascend.buffer<4xf32, host>
  }
}
