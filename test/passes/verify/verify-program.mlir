// A program whose accesses are all ordered stays as it is.
// RUN: %roundtrip --ascend-verify-program %s | FileCheck %s
// A lowered and planned step of a real model is proved, too.
// RUN: mf-opt --quiet --recompute-config=%examples/two_layers.yaml %examples/two_layers.mlir | mf-opt --ascend-verify-program -o %t

// CHECK: ascend.program @stage0
ascend.program @stage0 stage 0 attributes {micro_batches = 1, micro_batch_size = 1, sequence_length = 4, vocab_size = 16, pad_token_id = -1, ignore_index = -100, arena_bytes = 1024, host_bytes = 64} {
  ascend.stream @compute compute
  ascend.stream @h2d h2d
  ascend.static @x constant : !ascend.buffer<4xf32, host> at 0
  ascend.static @w parameter of "w" : !ascend.buffer<4xf32, hbm> at 0
  ascend.routine @layer(%x: !ascend.buffer<4xf32, hbm>) {
    %w = ascend.global @w : !ascend.buffer<4xf32, hbm>
    %t = ascend.alloc in scratch at 0 : !ascend.buffer<4xf32, hbm>
    ascend.launch "aclnnAdd"(%x, %x) -> (%t) {} cell "up" : (!ascend.buffer<4xf32, hbm>, !ascend.buffer<4xf32, hbm>) -> !ascend.buffer<4xf32, hbm>
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
