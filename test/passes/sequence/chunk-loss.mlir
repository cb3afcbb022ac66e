// RUN: %roundtrip --pass-pipeline='builtin.module(mf.model(mf-chunk-loss{chunks=4}))' %s | FileCheck %s
// RUN: %roundtrip --pass-pipeline='builtin.module(mf.model(mf-chunk-loss{chunks=4}))' --remarks-filter=sequence %s -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// Ten tokens are pieces of 2, 2, 2 and 4. Each is divided by what counts of all of them, and the losses are added in their order.
// CHECK-LABEL: mf.layer @head
// CHECK: %[[LABELS:.*]] = mf.reshape %arg1 {name = "reshape"} : (tensor<2x10xi32>) -> tensor<20xi32>
// CHECK-NEXT: %[[L:.*]]:4 = mf.split %{{.*}} {axis = 1 : i64, name = "loss.split"} : (tensor<2x10x8xbf16>) -> (tensor<2x2x8xbf16>, tensor<2x2x8xbf16>, tensor<2x2x8xbf16>, tensor<2x4x8xbf16>)
// CHECK-NEXT: %[[F:.*]] = mf.cast %[[L]]#0 {name = "loss.cast", recompute = #mf.recompute<preset>} : (tensor<2x2x8xbf16>) -> tensor<2x2x8xf32>
// CHECK-NEXT: %[[R:.*]] = mf.reshape %[[F]] {name = "loss.reshape"} : (tensor<2x2x8xf32>) -> tensor<4x8xf32>
// CHECK-NEXT: %[[PIECE:.*]] = mf.slice %arg1 {name = "loss.labels", sizes = array<i64: 2, 2>, starts = array<i64: 0, 0>}
// CHECK-NEXT: %[[ROWS:.*]] = mf.reshape %[[PIECE]] {name = "loss.labels"} : (tensor<2x2xi32>) -> tensor<4xi32>
// CHECK-NEXT: %[[LOSS0:.*]], %{{.*}}, %{{.*}} = mf.cross_entropy %[[R]], %[[ROWS]] of %[[LABELS]] {name = "loss"}
// CHECK: mf.cross_entropy
// CHECK-NEXT: %[[SUM:.*]] = mf.add %[[LOSS0]], %{{.*}} {name = "loss.add"} : (tensor<f32>, tensor<f32>) -> tensor<f32>
// CHECK: mf.slice %arg1 {name = "loss.labels", sizes = array<i64: 2, 4>, starts = array<i64: 0, 6>}
// What counts has a multiple of the last piece's labels: those behind the sequence do not count.
// CHECK: %[[PADDED:.*]] = mf.pad %arg1 {high = array<i64: 0, 2>, low = array<i64: 0, 0>, name = "loss.labels", value = -100 : i64} : (tensor<2x10xi32>) -> tensor<2x12xi32>
// CHECK-NEXT: %[[ALL:.*]] = mf.reshape %[[PADDED]]
// CHECK-NEXT: mf.cross_entropy %{{.*}}, %{{.*}} of %[[ALL]]
// CHECK-NEXT: %[[LAST:.*]] = mf.add
// CHECK-NEXT: mf.return %[[LAST]]
// REMARK: [Passed] ChunkLoss | Category:sequence | Function=head | Remark="'loss' is the sum of those of 4 pieces of the sequence", bytes of logits in fp32=256, bytes of logits in fp32 before=640

// Depths of one head have slices of the same logits in fp32: each gets its own before the cast. Its three tokens are three pieces.
// CHECK-LABEL: mf.layer @depths
// CHECK-NOT: tensor<1x6x8xf32>
// CHECK: mf.slice %{{.*}} {name = "slice", sizes = array<i64: 1, 3, 8>, starts = array<i64: 0, 3, 0>} : (tensor<1x6x8xbf16>) -> tensor<1x3x8xbf16>
// CHECK-NEXT: mf.split %{{.*}} : (tensor<1x3x8xbf16>) -> (tensor<1x1x8xbf16>, tensor<1x1x8xbf16>, tensor<1x1x8xbf16>)

// Labels of rows that are no batch of sequences.
// CHECK-LABEL: mf.layer @rows
// CHECK-NOT: mf.split
// REMARK: [Missed] ChunkLoss | Category:sequence | Function=rows | Remark="'loss' stays whole: its logits are not of a batch of sequences whose labels lie alike"
mf.model @losses attributes {micro_batch_size = 2 : i64, sequence_length = 10 : i64, vocab_size = 8 : i64} {
  mf.param @w : tensor<8x4xbf16> init <zeros>
  mf.layer @head head (%x: tensor<2x10x4xbf16>, %labels: tensor<2x10xi32>) -> tensor<f32> attributes {input_indices = [1], inputs = [#mf<input_kind labels>]} {
    %w = mf.get_param @w : tensor<8x4xbf16>
    %l = mf.matmul %x, %w {name = "matmul", transpose_b = true} : (tensor<2x10x4xbf16>, tensor<8x4xbf16>) -> tensor<2x10x8xbf16>
    %f = mf.cast %l {name = "cast"} : (tensor<2x10x8xbf16>) -> tensor<2x10x8xf32>
    %r = mf.reshape %f {name = "reshape"} : (tensor<2x10x8xf32>) -> tensor<20x8xf32>
    %y = mf.reshape %labels {name = "reshape"} : (tensor<2x10xi32>) -> tensor<20xi32>
    %loss, %logsumexp, %count = mf.cross_entropy %r, %y {name = "loss"} : (tensor<20x8xf32>, tensor<20xi32>) -> (tensor<f32>, tensor<20xf32>, tensor<f32>)
    mf.return %loss : tensor<f32>
  }
}

mf.model @joined_depths attributes {micro_batch_size = 1 : i64, sequence_length = 3 : i64, vocab_size = 8 : i64} {
  mf.param @w : tensor<8x4xbf16> init <zeros>
  mf.layer @depths head (%x: tensor<1x6x4xbf16>, %labels: tensor<1x3xi32>) -> tensor<f32> attributes {input_indices = [1], inputs = [#mf<input_kind labels>]} {
    %w = mf.get_param @w : tensor<8x4xbf16>
    %l = mf.matmul %x, %w {name = "matmul", transpose_b = true} : (tensor<1x6x4xbf16>, tensor<8x4xbf16>) -> tensor<1x6x8xbf16>
    %f = mf.cast %l {name = "cast"} : (tensor<1x6x8xbf16>) -> tensor<1x6x8xf32>
    %s = mf.slice %f {name = "slice", sizes = array<i64: 1, 3, 8>, starts = array<i64: 0, 3, 0>} : (tensor<1x6x8xf32>) -> tensor<1x3x8xf32>
    %r = mf.reshape %s {name = "reshape"} : (tensor<1x3x8xf32>) -> tensor<3x8xf32>
    %y = mf.reshape %labels {name = "reshape"} : (tensor<1x3xi32>) -> tensor<3xi32>
    %loss, %logsumexp, %count = mf.cross_entropy %r, %y {name = "loss"} : (tensor<3x8xf32>, tensor<3xi32>) -> (tensor<f32>, tensor<3xf32>, tensor<f32>)
    mf.return %loss : tensor<f32>
  }
}

mf.model @rows_of_no_sequence attributes {micro_batch_size = 1 : i64, sequence_length = 3 : i64, vocab_size = 8 : i64} {
  mf.layer @rows head (%x: tensor<3x8xf32>, %labels: tensor<1x3xi32>) -> tensor<f32> attributes {input_indices = [1], inputs = [#mf<input_kind labels>]} {
    %y = mf.reshape %labels {name = "reshape"} : (tensor<1x3xi32>) -> tensor<3xi32>
    %loss, %logsumexp, %count = mf.cross_entropy %x, %y {name = "loss"} : (tensor<3x8xf32>, tensor<3xi32>) -> (tensor<f32>, tensor<3xf32>, tensor<f32>)
    mf.return %loss : tensor<f32>
  }
}
