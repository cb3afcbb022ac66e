// What planned programs spend memory on, stage by stage; the module stays as it is.
// RUN: %roundtrip --ascend-print-memory %s -o %t 2> %t.text
// RUN: FileCheck %s --match-full-lines --strict-whitespace < %t.text
// RUN: %roundtrip %s | cmp - %t

//      CHECK:stage 0: arena 8192 bytes, max-live 7680 bytes, pinned host 64 bytes, parameters per rank 512, rank 0
// CHECK-NEXT:  parameter                         1536
// CHECK-NEXT:  gradient                          1024
// CHECK-NEXT:  chunk0.residuals of one micro-batch
// CHECK-NEXT:    layers.0                        1280
// CHECK-NEXT:    layers.1                        1024
// CHECK-NEXT:    total                           2304
// CHECK-NEXT:  chunk0.residuals swapped out of one micro-batch
// CHECK-NEXT:    layers.1                        2048
// CHECK-NEXT:    total                           2048
// CHECK-NEXT:stage 1: arena 512 bytes, max-live 512 bytes, pinned host 0 bytes, parameters per rank 0, rank 1
//  CHECK-NOT:{{.}}
ascend.program @stage0 stage 0 attributes {
    micro_batches = 1 : i64, micro_batch_size = 1 : i64, sequence_length = 8 : i64,
    vocab_size = 16 : i64, pad_token_id = -1 : i64, ignore_index = -100 : i64,
    arena_bytes = 8192 : i64, host_bytes = 64 : i64, max_live_bytes = 7680 : i64} {
  ascend.static @w parameter of "w" : !ascend.buffer<256xf32, hbm> at 0
  ascend.static @gradient.w gradient of "w" : !ascend.buffer<256xf32, hbm> at 1536
  ascend.static @v parameter of "v" : !ascend.buffer<256xbf16, hbm> at 1024
  ascend.static @tokens tokens : !ascend.buffer<16xi32, host> at 0
  ascend.frame_layout @chunk0.residuals [!ascend.buffer<256xf32, hbm>, !ascend.buffer<256xf32, hbm>, !ascend.buffer<64xf32, hbm>, !ascend.buffer<512xf32, host>]
    of ["layers.0.attention_norm", "layers.1.attention_norm", "layers.0.feed_forward.mul", "layers.1.feed_forward.mul"] at [0, 1024, 2048, 0] {bytes = 2560 : i64, host_bytes = 2048 : i64}
}
ascend.program @stage1 stage 1 attributes {
    micro_batches = 1 : i64, micro_batch_size = 1 : i64, sequence_length = 8 : i64,
    vocab_size = 16 : i64, pad_token_id = -1 : i64, ignore_index = -100 : i64,
    arena_bytes = 512 : i64, host_bytes = 0 : i64, max_live_bytes = 512 : i64} {
}
