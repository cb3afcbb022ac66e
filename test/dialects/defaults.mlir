// What is not printed, because it is so without a word.
// RUN: %variants %s | %roundtrip -allow-unregistered-dialect -split-input-file | FileCheck %s

// CHECK: mf.matmul %{{.*}}, %{{.*}} : (tensor<2x2xf32>, tensor<2x2xf32>)
%y = mf.matmul %x, %x {transpose_a = false, transpose_b = false} : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>

// CHECK: mf.layer @a {{.*}} attributes {placement = #mf.placement<stage = 0, chunk = 0>}
// CHECK: %[[X:.*]] = mf.receive from 1 channel "forward.0" micro_batch 0 : tensor<4xf32>
mf.model @m attributes {micro_batch_size = 1 : i64, sequence_length = 8 : i64, vocab_size = 16 : i64} {
  mf.layer @a body (%x: tensor<4xf32>) -> tensor<4xf32> attributes {placement = #mf.placement<stage = 0, chunk = 0, piece = 0>} { mf.return %x : tensor<4xf32> }
  mf.schedule stage 0 {
    %x = mf.receive from 1 channel "forward.0" micro_batch 0 ahead 1 : tensor<4xf32>
  }
}

// CHECK: ascend.frame @residuals micro_batch 2 at 512 : <@residuals>
ascend.program @parts stage 0 attributes {micro_batches = 1 : i64, micro_batch_size = 1 : i64, sequence_length = 8 : i64, vocab_size = 16 : i64, pad_token_id = -1 : i64, ignore_index = -100 : i64} {
  ascend.frame_layout @residuals [!ascend.buffer<8xf32, hbm>] of ["norm"] at [0] {bytes = 512 : i64}
  ascend.step {
    %one = ascend.frame @residuals micro_batch 2 at [512] : !ascend.frame<@residuals>
  }
}
