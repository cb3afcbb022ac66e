// A frame that three routines use: what each slot needs is room from the routine that writes it to the one that reads it.
// RUN: %roundtrip --ascend-plan-memory --ascend-verify-program %s | FileCheck %s

// Each of the three lives through other routines, so the frame has three parts. The residual is dead where the kept
// value is born: they share 512 bytes of the arena.
// CHECK: ascend.program @stage0
// CHECK: ascend.frame_layout @chunk.residuals [!ascend.buffer<128xf32, hbm>, !ascend.buffer<128xf32, hbm>, !ascend.buffer<128xf32, hbm>] of ["first", "through", "kept"] at [0, 512, 1024] {bytes = 1536 : i64, parts = array<i64: 0, 512, 1024>}
// CHECK: ascend.frame @chunk.residuals micro_batch 0 at [1024, 512, 1024]
ascend.program @stage0 stage 0 attributes {micro_batches = 1, micro_batch_size = 1, sequence_length = 4, vocab_size = 16, pad_token_id = -1, ignore_index = -100} {
  ascend.stream @compute compute
  ascend.static @w parameter of "w" : !ascend.buffer<128xf32, hbm>
  ascend.frame_layout @chunk.residuals [!ascend.buffer<128xf32, hbm>, !ascend.buffer<128xf32, hbm>, !ascend.buffer<128xf32, hbm>] of ["first", "through", "kept"]
  ascend.routine @chunk.forward() attributes {layout = @chunk.residuals} {
    %w = ascend.global @w : !ascend.buffer<128xf32, hbm>
    %first = ascend.slot 0 : !ascend.buffer<128xf32, hbm>
    %through = ascend.slot 1 : !ascend.buffer<128xf32, hbm>
    ascend.launch "aclnnNeg"(%w) -> (%first) {} : (!ascend.buffer<128xf32, hbm>) -> !ascend.buffer<128xf32, hbm>
    ascend.launch "aclnnNeg"(%w) -> (%through) {} : (!ascend.buffer<128xf32, hbm>) -> !ascend.buffer<128xf32, hbm>
  }
  ascend.routine @chunk.backward() attributes {layout = @chunk.residuals} {
    %first = ascend.slot 0 : !ascend.buffer<128xf32, hbm>
    %kept = ascend.slot 2 : !ascend.buffer<128xf32, hbm>
    %t = ascend.alloc : !ascend.buffer<128xf32, hbm>
    ascend.launch "aclnnNeg"(%first) -> (%t) {} : (!ascend.buffer<128xf32, hbm>) -> !ascend.buffer<128xf32, hbm>
    ascend.launch "aclnnSilu"(%t) -> (%kept) {} : (!ascend.buffer<128xf32, hbm>) -> !ascend.buffer<128xf32, hbm>
  }
  ascend.routine @chunk.weights() attributes {layout = @chunk.residuals} {
    %w = ascend.global @w : !ascend.buffer<128xf32, hbm>
    %through = ascend.slot 1 : !ascend.buffer<128xf32, hbm>
    %kept = ascend.slot 2 : !ascend.buffer<128xf32, hbm>
    ascend.launch "aclnnMul"(%through, %kept) -> (%w) {} : (!ascend.buffer<128xf32, hbm>, !ascend.buffer<128xf32, hbm>) -> !ascend.buffer<128xf32, hbm>
  }
  ascend.step {
    %frame = ascend.frame @chunk.residuals micro_batch 0 : !ascend.frame<@chunk.residuals>
    ascend.call @chunk.forward() frame %frame : !ascend.frame<@chunk.residuals> micro_batch 0 : () -> ()
    ascend.call @chunk.backward() frame %frame : !ascend.frame<@chunk.residuals> micro_batch 0 : () -> ()
    ascend.call @chunk.weights() frame %frame : !ascend.frame<@chunk.residuals> micro_batch 0 : () -> ()
  }
}
