// If all operators read a collective, the older collective is complete first. What depends on parameters alone stays with its reader.
// RUN: %roundtrip --pass-pipeline='builtin.module(mf.model(mf.chunk(mf-overlap-copies)))' %s | FileCheck %s

// CHECK: %[[P:.*]] = mf.matmul
// CHECK-NEXT: %[[OLD:.*]] = mf.all_reduce %[[P]]
// CHECK-NEXT: %[[NEW:.*]] = mf.all_reduce %[[P]]
// CHECK-NEXT: %[[Y:.*]] = mf.exp %[[OLD]]
// CHECK-NEXT: %[[X:.*]] = mf.neg %[[NEW]]
// CHECK-NEXT: %[[V:.*]] = mf.get_param @v
// CHECK-NEXT: %[[C:.*]] = mf.neg %[[V]]
// CHECK-NEXT: mf.matmul %[[X]], %[[C]]
#training = #mf.training<parallel = <stages = 1, interleave = 1, micro_batches = 1, scheduler = "1f1b", copies = 2>,
  optimizer = <type = "AdamW", beta1 = 0.9, beta2 = 0.95, eps = 1.0e-8, weight_decay = 0.1, bias_correction = true>,
  lr_schedule = <type = "ConstantWarmUpLR", parameters = {learning_rate = 1.0e-3 : f64}>,
  loss_scale = 1.0, max_device_memory = 0>
module attributes {mf.mesh = #mf.mesh<pp = 1, mp = 2>} {
mf.model @model attributes {training = #training, micro_batch_size = 2 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
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
