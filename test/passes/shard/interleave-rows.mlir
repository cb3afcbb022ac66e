// Layers of two blocks of rows: a split behind what mixes rows, a concatenation in front of it.
// RUN: %variants %s | %roundtrip --pass-pipeline='builtin.module(mf.model(mf-interleave-rows))' -split-input-file | FileCheck %s
// RUN: %variants %s | %roundtrip --pass-pipeline='builtin.module(mf.model(mf-interleave-rows{print-plan=true}))' -split-input-file -o %t 2>&1 | FileCheck %s --check-prefix=PLAN
// RUN: %variants %s | %roundtrip --pass-pipeline='builtin.module(mf.model(mf-interleave-rows))' --remarks-filter-passed=shard -split-input-file -o %t 2>&1 | FileCheck %s --check-prefix=REMARK

// PLAN:      2 blocks of 2 rows
// PLAN-NEXT: layers.0: takes rows, gives blocks
// PLAN-NEXT:   out
// PLAN-NEXT:   add
// PLAN-NEXT: layers.1: takes blocks, gives blocks
// PLAN-NEXT:   ffn_norm.norm
// PLAN-NEXT:   feed_forward.w1.matmul
// PLAN-NEXT:   out
// PLAN-NEXT:   add
// PLAN-NEXT: maps: takes blocks, gives blocks
// PLAN-NEXT:   flatten
// PLAN-NEXT:   silu
// PLAN-NEXT:   back
// PLAN-NEXT:   add
// PLAN-NEXT: tabled: takes blocks, gives blocks
// PLAN-NEXT:   add
// PLAN-NEXT: layers.2: takes blocks, gives rows
// PLAN-NEXT:   ffn_norm.norm
// PLAN-NEXT:   feed_forward.w1.matmul
// PLAN:      2 blocks of 2 rows

#training = #mf.training<parallel = <stages = 1, interleave = 1, micro_batches = 1, scheduler = "1f1b", row_blocks = 2>,
  optimizer = <type = "AdamW", beta1 = 0.9, beta2 = 0.95, eps = 1.0e-8, weight_decay = 0.1, bias_correction = true>,
  lr_schedule = <type = "ConstantWarmUpLR", parameters = {learning_rate = 1.0e-3 : f64}>,
  loss_scale = 1.0, max_device_memory = 0>

module attributes {mf.mesh = #mf.mesh<pp = 1, mp = 2>} {
mf.model @model attributes {training = #training, micro_batch_size = 2 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  mf.param @norm : tensor<8xf32> init <ones>
  mf.param @query : tensor<8x8xf32> init <ones>
  mf.param @out : tensor<8x8xf32> init <ones>
  mf.param @table : tensor<4x8xf32> init <ones>
// The residual stream is split where its first block is read, and norm and query have all rows.
// CHECK-LABEL: mf.layer @layers.0
// CHECK-SAME: (%[[X:.*]]: tensor<2x4x8xf32>) -> (tensor<2x2x8xf32>, tensor<2x2x8xf32>)
// CHECK: mf.rms_norm %[[X]]
// CHECK: %[[A:.*]] = mf.matmul %{{.*}}name = "attention"
// CHECK-DAG: %[[AS:.*]]:2 = mf.split %[[A]] {axis = 1 : i64, name = "attention"} : (tensor<2x4x8xf32>) -> (tensor<2x2x8xf32>, tensor<2x2x8xf32>)
// CHECK-DAG: %[[XS:.*]]:2 = mf.split %[[X]] {axis = 1 : i64, name = "add"}
// CHECK: %[[O0:.*]] = mf.matmul %[[AS]]#0, %[[WO:.*]] {name = "out"} : (tensor<2x2x8xf32>, tensor<8x8xf32>) -> tensor<2x2x8xf32>
// CHECK-NEXT: %[[Y0:.*]] = mf.add %[[XS]]#0, %[[O0]]
// CHECK-NEXT: %[[O1:.*]] = mf.matmul %[[AS]]#1, %[[WO]] {name = "out"}
// CHECK-NEXT: %[[Y1:.*]] = mf.add %[[XS]]#1, %[[O1]]
// CHECK-NEXT: mf.return %[[Y0]], %[[Y1]]
// REMARK: remark: [Passed] RowBlocks | Category:shard | Function=layers.0 | Remark="operators run once per block of rows", blocks=2, operators=2, splits and concatenations=2
  mf.layer @layers.0 body (%x: tensor<2x4x8xf32>) -> tensor<2x4x8xf32> {
    %g = mf.get_param @norm : tensor<8xf32>
    %wq = mf.get_param @query : tensor<8x8xf32>
    %n, %r = mf.rms_norm %x, %g {epsilon = 1.0e-5 : f64, name = "ffn_norm.norm"} : (tensor<2x4x8xf32>, tensor<8xf32>) -> (tensor<2x4x8xf32>, tensor<2x4xf32>)
    %q = mf.matmul %n, %wq {name = "feed_forward.w1.matmul"} : (tensor<2x4x8xf32>, tensor<8x8xf32>) -> tensor<2x4x8xf32>
    %t = mf.silu %q {name = "turn"} : (tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
    %s = mf.matmul %t, %t {name = "scores", transpose_b = true} : (tensor<2x4x8xf32>, tensor<2x4x8xf32>) -> tensor<2x4x4xf32>
    %a = mf.matmul %s, %t {name = "attention"} : (tensor<2x4x4xf32>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
    %wo = mf.get_param @out : tensor<8x8xf32>
    %o = mf.matmul %a, %wo {name = "out"} : (tensor<2x4x8xf32>, tensor<8x8xf32>) -> tensor<2x4x8xf32>
    %y = mf.add %x, %o {name = "add"} : (tensor<2x4x8xf32>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
    mf.return %y : tensor<2x4x8xf32>
  }
// A concatenation is recomputed with what it puts together.
// CHECK-LABEL: mf.layer @layers.1
// CHECK-SAME: (%[[X0:.*]]: tensor<2x2x8xf32>, %[[X1:.*]]: tensor<2x2x8xf32>) -> (tensor<2x2x8xf32>, tensor<2x2x8xf32>)
// CHECK: %[[N0:.*]], %{{.*}} = mf.rms_norm %[[X0]]
// CHECK-NEXT: %[[Q0:.*]] = mf.matmul %[[N0]], %{{.*}} {name = "feed_forward.w1.matmul", recompute = #mf.recompute<select>}
// CHECK-NEXT: %[[N1:.*]], %{{.*}} = mf.rms_norm %[[X1]]
// CHECK-NEXT: %[[Q1:.*]] = mf.matmul %[[N1]]
// CHECK-NEXT: %[[Q:.*]] = mf.concat %[[Q0]], %[[Q1]] {axis = 1 : i64, name = "feed_forward.w1.matmul", recompute = #mf.recompute<select>}
// CHECK-NEXT: mf.silu %[[Q]]
// CHECK: mf.add %[[X0]]
// CHECK: mf.add %[[X1]]
// REMARK: Function=layers.1 {{.*}}, blocks=2, operators=4, splits and concatenations=2
  mf.layer @layers.1 body (%x: tensor<2x4x8xf32>) -> tensor<2x4x8xf32> {
    %g = mf.get_param @norm : tensor<8xf32>
    %wq = mf.get_param @query : tensor<8x8xf32>
    %n, %r = mf.rms_norm %x, %g {epsilon = 1.0e-5 : f64, name = "ffn_norm.norm"} : (tensor<2x4x8xf32>, tensor<8xf32>) -> (tensor<2x4x8xf32>, tensor<2x4xf32>)
    %q = mf.matmul %n, %wq {name = "feed_forward.w1.matmul", recompute = #mf.recompute<select>} : (tensor<2x4x8xf32>, tensor<8x8xf32>) -> tensor<2x4x8xf32>
    %t = mf.silu %q {name = "turn"} : (tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
    %s = mf.matmul %t, %t {name = "scores", transpose_b = true} : (tensor<2x4x8xf32>, tensor<2x4x8xf32>) -> tensor<2x4x4xf32>
    %a = mf.matmul %s, %t {name = "attention"} : (tensor<2x4x4xf32>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
    %wo = mf.get_param @out : tensor<8x8xf32>
    %o = mf.matmul %a, %wo {name = "out"} : (tensor<2x4x8xf32>, tensor<8x8xf32>) -> tensor<2x4x8xf32>
    %y = mf.add %x, %o {name = "add"} : (tensor<2x4x8xf32>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
    mf.return %y : tensor<2x4x8xf32>
  }
// All of a layer that mixes no rows runs in blocks, also what it reshapes,
// CHECK-LABEL: mf.layer @maps
// CHECK-COUNT-2: mf.reshape {{.*}} {name = "flatten"} : (tensor<2x2x8xf32>) -> tensor<4x8xf32>
  mf.layer @maps body (%x: tensor<2x4x8xf32>) -> tensor<2x4x8xf32> {
    %f = mf.reshape %x {name = "flatten"} : (tensor<2x4x8xf32>) -> tensor<8x8xf32>
    %s = mf.silu %f {name = "silu"} : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %r = mf.reshape %s {name = "back"} : (tensor<8x8xf32>) -> tensor<2x4x8xf32>
    %y = mf.add %x, %r {name = "add"} : (tensor<2x4x8xf32>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
    mf.return %y : tensor<2x4x8xf32>
  }
// but not what needs a table by row.
// CHECK-LABEL: mf.layer @tabled
// CHECK: mf.mul {{.*}} {name = "table"} : (tensor<2x4x8xf32>, tensor<4x8xf32>)
  mf.layer @tabled body (%x: tensor<2x4x8xf32>) -> tensor<2x4x8xf32> {
    %t = mf.get_param @table : tensor<4x8xf32>
    %m = mf.mul %x, %t {name = "table"} : (tensor<2x4x8xf32>, tensor<4x8xf32>) -> tensor<2x4x8xf32>
    %y = mf.add %x, %m {name = "add"} : (tensor<2x4x8xf32>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
    mf.return %y : tensor<2x4x8xf32>
  }
// CHECK-LABEL: mf.layer @layers.2
// CHECK-SAME: -> tensor<2x4x8xf32>
// CHECK: mf.matmul {{.*}} {name = "out"} : (tensor<2x4x8xf32>
// CHECK: %[[X:.*]] = mf.concat %arg0, %arg1 {axis = 1 : i64, name = "add"}
// CHECK-NEXT: mf.add %[[X]]
// REMARK: Function=layers.2
  mf.layer @layers.2 body (%x: tensor<2x4x8xf32>) -> tensor<2x4x8xf32> {
    %g = mf.get_param @norm : tensor<8xf32>
    %wq = mf.get_param @query : tensor<8x8xf32>
    %n, %r = mf.rms_norm %x, %g {epsilon = 1.0e-5 : f64, name = "ffn_norm.norm"} : (tensor<2x4x8xf32>, tensor<8xf32>) -> (tensor<2x4x8xf32>, tensor<2x4xf32>)
    %q = mf.matmul %n, %wq {name = "feed_forward.w1.matmul"} : (tensor<2x4x8xf32>, tensor<8x8xf32>) -> tensor<2x4x8xf32>
    %t = mf.silu %q {name = "turn"} : (tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
    %s = mf.matmul %t, %t {name = "scores", transpose_b = true} : (tensor<2x4x8xf32>, tensor<2x4x8xf32>) -> tensor<2x4x4xf32>
    %a = mf.matmul %s, %t {name = "attention"} : (tensor<2x4x4xf32>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
    %wo = mf.get_param @out : tensor<8x8xf32>
    %o = mf.matmul %a, %wo {name = "out"} : (tensor<2x4x8xf32>, tensor<8x8xf32>) -> tensor<2x4x8xf32>
    %y = mf.add %x, %o {name = "add"} : (tensor<2x4x8xf32>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
    mf.return %y : tensor<2x4x8xf32>
  }
}
}

// Ranks of context parallel training have rows of each block.
module attributes {mf.mesh = #mf.mesh<pp = 1, cp = 2>} {
mf.model @context attributes {training = #training, micro_batch_size = 2 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  mf.param @norm : tensor<8xf32> init <ones>
  mf.param @query : tensor<8x8xf32> init <ones>
  mf.param @out : tensor<8x8xf32> init <ones>
  mf.param @narrow : tensor<4x8xf32> init <ones>
// CHECK-LABEL: mf.model @context
// CHECK: %[[S:.*]] = mf.matmul {{.*}}name = "scores"
// CHECK: %[[RUNS:.*]] = mf.reshape %[[S]] {name = "scores"} : (tensor<2x4x4xf32>) -> tensor<2x2x2x4xf32>
// CHECK-NEXT: %[[PARTS:.*]]:2 = mf.split %[[RUNS]] {axis = 2 : i64, name = "scores"} : (tensor<2x2x2x4xf32>) -> (tensor<2x2x1x4xf32>, tensor<2x2x1x4xf32>)
// CHECK-NEXT: mf.reshape %[[PARTS]]#0 {name = "scores"} : (tensor<2x2x1x4xf32>) -> tensor<2x2x4xf32>
// CHECK-NEXT: mf.reshape %[[PARTS]]#1
  mf.layer @layers.0 body (%x: tensor<2x4x8xf32>) -> tensor<2x4x8xf32> {
    %g = mf.get_param @norm : tensor<8xf32>
    %n, %r = mf.rms_norm %x, %g {epsilon = 1.0e-5 : f64, name = "ffn_norm.norm"} : (tensor<2x4x8xf32>, tensor<8xf32>) -> (tensor<2x4x8xf32>, tensor<2x4xf32>)
    %s = mf.matmul %n, %n {name = "scores", transpose_b = true} : (tensor<2x4x8xf32>, tensor<2x4x8xf32>) -> tensor<2x4x4xf32>
    %wo = mf.get_param @narrow : tensor<4x8xf32>
    %y = mf.matmul %s, %wo {name = "out"} : (tensor<2x4x4xf32>, tensor<4x8xf32>) -> tensor<2x4x8xf32>
    mf.return %y : tensor<2x4x8xf32>
  }
  mf.layer @layers.1 body (%x: tensor<2x4x8xf32>) -> tensor<2x4x8xf32> {
    %g = mf.get_param @norm : tensor<8xf32>
    %n, %r = mf.rms_norm %x, %g {epsilon = 1.0e-5 : f64, name = "ffn_norm.norm"} : (tensor<2x4x8xf32>, tensor<8xf32>) -> (tensor<2x4x8xf32>, tensor<2x4xf32>)
    %s = mf.matmul %n, %n {name = "scores", transpose_b = true} : (tensor<2x4x8xf32>, tensor<2x4x8xf32>) -> tensor<2x4x4xf32>
    %wo = mf.get_param @narrow : tensor<4x8xf32>
    %y = mf.matmul %s, %wo {name = "out"} : (tensor<2x4x4xf32>, tensor<4x8xf32>) -> tensor<2x4x8xf32>
    mf.return %y : tensor<2x4x8xf32>
  }
}
}
