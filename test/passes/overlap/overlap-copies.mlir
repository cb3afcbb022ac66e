// The second copy's product runs beside the first one's sum; a chunk of one copy stays as it is.
// RUN: %variants %S/../Inputs/training.mlir %s | %roundtrip --pass-pipeline='builtin.module(mf.model(mf.chunk(mf-overlap-copies)))' -split-input-file | FileCheck %s
// RUN: %variants %S/../Inputs/training.mlir %s | %roundtrip --pass-pipeline='builtin.module(mf.model(mf.chunk(mf-overlap-copies{print-plan=true})))' -split-input-file -o %t 2>&1 | FileCheck %s --check-prefix=PLAN
// RUN: %variants %S/../Inputs/training.mlir %s | %roundtrip --pass-pipeline='builtin.module(mf.model(mf.chunk(mf-overlap-copies)))' -split-input-file --remarks-filter-passed=overlap -o %t 2>&1 | FileCheck %s --check-prefix=REMARK

#training = #mf.training<parallel = <stages = 1, interleave = 1, micro_batches = 1, copies = 2>,
  optimizer = #adamw, lr_schedule = #constant, loss_scale = 1.0, max_device_memory = 0>

// CHECK-LABEL: mf.model @model
// CHECK: %[[P0:.*]] = mf.matmul %[[X0:.*]], %[[W:.*]]
// CHECK-NEXT: %[[S0:.*]] = mf.all_reduce %[[P0]]
// CHECK-NEXT: %[[P1:.*]] = mf.matmul
// CHECK-NEXT: %[[S1:.*]] = mf.all_reduce %[[P1]]
// CHECK-NEXT: mf.add %{{.*}}, %[[S0]]
// CHECK-NEXT: mf.add %{{.*}}, %[[S1]]
// CHECK-NEXT: mf.cut
// CHECK-NEXT: mf.matmul
// CHECK-NEXT: %[[T0:.*]] = mf.all_reduce
// CHECK-NEXT: mf.matmul
// CHECK-NEXT: mf.neg %[[T0]]
// PLAN:      chunk0 forward
// PLAN-NEXT:   mf.get_param
// PLAN-NEXT:   mf.matmul{{ *$}}
// PLAN-NEXT:   mf.all_reduce communicates
// PLAN-NEXT:   mf.matmul{{ *$}}
// PLAN-NEXT:   mf.all_reduce communicates
// PLAN-NEXT:   mf.add{{ *$}}
// PLAN-NEXT:   mf.add{{ *$}}
// PLAN-NEXT: chunk0 backward
// PLAN-NEXT:   mf.matmul w.grad
// PLAN-NEXT:   mf.all_reduce w.grad communicates
// PLAN-NEXT:   mf.matmul w.grad
// PLAN-NEXT:   mf.neg neg
// REMARK: Remark="copies compute while others communicate in forward", collectives=2, operators beside them=3
// REMARK: Remark="copies compute while others communicate in backward", collectives=1, operators beside them=1
module attributes {mf.mesh = #mf.mesh<pp = 1, mp = 2>} {
mf.model @model attributes {training = #training, micro_batch_size = 2 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  mf.param @w : tensor<4x4xf32> init <ones>
  mf.chunk @chunk0 (%x0: tensor<4x4xf32>, %x1: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>)
      attributes {placement = #mf.placement<stage = 0, chunk = 0>, inputs = [], input_indices = [], gradients = []} {
    %w = mf.get_param @w : tensor<4x4xf32>
    %p0 = mf.matmul %x0, %w : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %s0 = mf.all_reduce %p0 over ["mp"] : tensor<4x4xf32> -> tensor<4x4xf32>
    %y0 = mf.add %x0, %s0 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %p1 = mf.matmul %x1, %w : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %s1 = mf.all_reduce %p1 over ["mp"] : tensor<4x4xf32> -> tensor<4x4xf32>
    %y1 = mf.add %x1, %s1 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %d:2 = mf.cut %y0, %y1 : tensor<4x4xf32>, tensor<4x4xf32>
    %g0 = mf.matmul %d#0, %w {name = "w.grad", transpose_b = true} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %t0 = mf.all_reduce %g0 over ["mp"] {name = "w.grad"} : tensor<4x4xf32> -> tensor<4x4xf32>
    %n0 = mf.neg %t0 {name = "neg"} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %g1 = mf.matmul %d#1, %w {name = "w.grad", transpose_b = true} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    mf.return %n0, %g1 : tensor<4x4xf32>, tensor<4x4xf32>
  }
}
}

// CHECK-LABEL: mf.model @one_copy
// CHECK: mf.all_reduce
// CHECK-NEXT: mf.add
// CHECK-NEXT: mf.matmul
= mf.model @one_copy attributes {training = #one_stage, micro_batch_size = 2 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {

// If all operators read a collective, the older collective is complete first. What depends on parameters alone stays with its reader.
// CHECK-LABEL: mf.model @order
// CHECK: %[[P:.*]] = mf.matmul
// CHECK-NEXT: %[[OLD:.*]] = mf.all_reduce %[[P]]
// CHECK-NEXT: %[[NEW:.*]] = mf.all_reduce %[[P]]
// CHECK-NEXT: %[[Y:.*]] = mf.exp %[[OLD]]
// CHECK-NEXT: %[[X:.*]] = mf.neg %[[NEW]]
// CHECK-NEXT: %[[V:.*]] = mf.get_param @v
// CHECK-NEXT: %[[C:.*]] = mf.neg %[[V]]
// CHECK-NEXT: mf.matmul %[[X]], %[[C]]
module attributes {mf.mesh = #mf.mesh<pp = 1, mp = 2>} {
mf.model @order attributes {training = #training, micro_batch_size = 2 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  mf.param @w : tensor<4x4xf32> init <ones>
  mf.param @v : tensor<4x4xf32> init <ones>
  mf.chunk @chunk0 (%x: tensor<4x4xf32>) -> (tensor<4x4xf32>)
      attributes {placement = #mf.placement<stage = 0, chunk = 0>, inputs = [], input_indices = [], gradients = []} {
    %w = mf.get_param @w : tensor<4x4xf32>
    %p = mf.matmul %x, %w {name = "w"} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %old = mf.all_reduce %p over ["mp"] {name = "w"} : tensor<4x4xf32> -> tensor<4x4xf32>
    %new = mf.all_reduce %p over ["mp"] {name = "w"} : tensor<4x4xf32> -> tensor<4x4xf32>
    %a = mf.neg %new {name = "a"} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %b = mf.exp %old {name = "b"} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %v = mf.get_param @v : tensor<4x4xf32>
    %c = mf.neg %v {name = "c"} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %m = mf.matmul %a, %c {name = "m"} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %y = mf.add %m, %b {name = "y"} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %d = mf.cut %y : tensor<4x4xf32>
    mf.return %d : tensor<4x4xf32>
  }
}
}
