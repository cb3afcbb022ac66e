// RUN: %roundtrip --pass-pipeline='builtin.module(mf.model(mf-mark-memory))' %s | FileCheck %s

// Counts are of the layers that are placed on a stage, wherever offset and mf-partition would have them.
#recompute = #mf.recompute_config<recompute = [1, 2], select = false, select_comm = false, select_exclude = false, select_comm_exclude = false, parallel_optimizer_comm = false, mp_comm = true, slice_activation = false>
#swap = #mf.swap_config<swap = false, default_prefetch = 1>
#adamw = #mf.optimizer<type = "AdamW", beta1 = 0.9, beta2 = 0.95, eps = 1.0e-8, weight_decay = 0.1, bias_correction = true>
#constant = #mf.lr_schedule<type = "ConstantWarmUpLR", parameters = {learning_rate = 1.0e-3 : f64}>

// As mf-partition places them: the first layer of stage 0, both of stage 1.
// CHECK-LABEL: mf.model @placed
mf.model @placed attributes {
    micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64,
    training = #mf.training<parallel = <stages = 2, interleave = 1, micro_batches = 4, offset = 0>, recompute = #recompute,
      swap = #swap, optimizer = #adamw, lr_schedule = #constant, loss_scale = 1.0, max_device_memory = 0>} {
  // CHECK: mf.layer @layers.0 body
  // CHECK-NEXT: name = "feed_forward.mul", recompute = #mf.recompute<full>}
  mf.layer @layers.0 body (%x: tensor<4x4xf32>) -> tensor<4x4xf32>
      attributes {placement = #mf.placement<stage = 0, chunk = 0>} {
    %a = mf.neg %x {name = "feed_forward.mul"} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %y = mf.neg %a {name = "add"} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    mf.return %y : tensor<4x4xf32>
  }
  // CHECK: mf.layer @layers.1 body
  // CHECK-NEXT: name = "feed_forward.mul"}
  mf.layer @layers.1 body (%x: tensor<4x4xf32>) -> tensor<4x4xf32>
      attributes {placement = #mf.placement<stage = 0, chunk = 0>} {
    %a = mf.neg %x {name = "feed_forward.mul"} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %y = mf.neg %a {name = "add"} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    mf.return %y : tensor<4x4xf32>
  }
  // CHECK: mf.layer @layers.2 body
  // CHECK-NEXT: name = "feed_forward.mul", recompute = #mf.recompute<full>}
  mf.layer @layers.2 body (%x: tensor<4x4xf32>) -> tensor<4x4xf32>
      attributes {placement = #mf.placement<stage = 1, chunk = 0>} {
    %a = mf.neg %x {name = "feed_forward.mul"} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %y = mf.neg %a {name = "add"} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    mf.return %y : tensor<4x4xf32>
  }
  // CHECK: mf.layer @layers.3 body
  // CHECK-NEXT: name = "feed_forward.mul", recompute = #mf.recompute<full>}
  mf.layer @layers.3 body (%x: tensor<4x4xf32>) -> tensor<4x4xf32>
      attributes {placement = #mf.placement<stage = 1, chunk = 0>} {
    %a = mf.neg %x {name = "feed_forward.mul"} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %y = mf.neg %a {name = "add"} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    mf.return %y : tensor<4x4xf32>
  }
}

// The third layer moved to stage 0: it is no longer one of the first of its stage.
// CHECK-LABEL: mf.model @moved
mf.model @moved attributes {
    micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64,
    training = #mf.training<parallel = <stages = 2, interleave = 1, micro_batches = 4, offset = 0>, recompute = #recompute,
      swap = #swap, optimizer = #adamw, lr_schedule = #constant, loss_scale = 1.0, max_device_memory = 0>} {
  // CHECK: mf.layer @layers.0 body
  // CHECK-NEXT: name = "feed_forward.mul", recompute = #mf.recompute<full>}
  mf.layer @layers.0 body (%x: tensor<4x4xf32>) -> tensor<4x4xf32>
      attributes {placement = #mf.placement<stage = 0, chunk = 0>} {
    %a = mf.neg %x {name = "feed_forward.mul"} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %y = mf.neg %a {name = "add"} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    mf.return %y : tensor<4x4xf32>
  }
  // CHECK: mf.layer @layers.1 body
  // CHECK-NEXT: name = "feed_forward.mul"}
  mf.layer @layers.1 body (%x: tensor<4x4xf32>) -> tensor<4x4xf32>
      attributes {placement = #mf.placement<stage = 0, chunk = 0>} {
    %a = mf.neg %x {name = "feed_forward.mul"} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %y = mf.neg %a {name = "add"} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    mf.return %y : tensor<4x4xf32>
  }
  // CHECK: mf.layer @layers.2 body
  // CHECK-NEXT: name = "feed_forward.mul"}
  mf.layer @layers.2 body (%x: tensor<4x4xf32>) -> tensor<4x4xf32>
      attributes {placement = #mf.placement<stage = 0, chunk = 0>} {
    %a = mf.neg %x {name = "feed_forward.mul"} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %y = mf.neg %a {name = "add"} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    mf.return %y : tensor<4x4xf32>
  }
  // CHECK: mf.layer @layers.3 body
  // CHECK-NEXT: name = "feed_forward.mul", recompute = #mf.recompute<full>}
  mf.layer @layers.3 body (%x: tensor<4x4xf32>) -> tensor<4x4xf32>
      attributes {placement = #mf.placement<stage = 1, chunk = 0>} {
    %a = mf.neg %x {name = "feed_forward.mul"} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %y = mf.neg %a {name = "add"} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    mf.return %y : tensor<4x4xf32>
  }
}

// In chunks that come back to the stages, a row of counts belongs to the stages in their order.
#per_chunk = #mf.recompute_config<recompute = [[1, 0], [0, 1]], select = false, select_comm = false, select_exclude = false, select_comm_exclude = false, parallel_optimizer_comm = false, mp_comm = true, slice_activation = false>
// CHECK-LABEL: mf.model @folded
mf.model @folded attributes {
    micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64,
    training = #mf.training<parallel = <stages = 2, interleave = 2, micro_batches = 4, offset = [[1, 0], [0, 1]]>, recompute = #per_chunk,
      swap = #swap, optimizer = #adamw, lr_schedule = #constant, loss_scale = 1.0, max_device_memory = 0>} {
  // CHECK: mf.layer @layers.0 body
  // CHECK-NEXT: name = "feed_forward.mul", recompute = #mf.recompute<full>}
  mf.layer @layers.0 body (%x: tensor<4x4xf32>) -> tensor<4x4xf32>
      attributes {placement = #mf.placement<stage = 0, chunk = 0>} {
    %a = mf.neg %x {name = "feed_forward.mul"} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %y = mf.neg %a {name = "add"} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    mf.return %y : tensor<4x4xf32>
  }
  // CHECK: mf.layer @layers.1 body
  // CHECK-NEXT: name = "feed_forward.mul"}
  mf.layer @layers.1 body (%x: tensor<4x4xf32>) -> tensor<4x4xf32>
      attributes {placement = #mf.placement<stage = 0, chunk = 0>} {
    %a = mf.neg %x {name = "feed_forward.mul"} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %y = mf.neg %a {name = "add"} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    mf.return %y : tensor<4x4xf32>
  }
  // CHECK: mf.layer @layers.2 body
  // CHECK-NEXT: name = "feed_forward.mul"}
  mf.layer @layers.2 body (%x: tensor<4x4xf32>) -> tensor<4x4xf32>
      attributes {placement = #mf.placement<stage = 1, chunk = 0>} {
    %a = mf.neg %x {name = "feed_forward.mul"} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %y = mf.neg %a {name = "add"} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    mf.return %y : tensor<4x4xf32>
  }
  // CHECK: mf.layer @layers.3 body
  // CHECK-NEXT: name = "feed_forward.mul", recompute = #mf.recompute<full>}
  mf.layer @layers.3 body (%x: tensor<4x4xf32>) -> tensor<4x4xf32>
      attributes {placement = #mf.placement<stage = 1, chunk = 1>} {
    %a = mf.neg %x {name = "feed_forward.mul"} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %y = mf.neg %a {name = "add"} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    mf.return %y : tensor<4x4xf32>
  }
  // CHECK: mf.layer @layers.4 body
  // CHECK-NEXT: name = "feed_forward.mul"}
  mf.layer @layers.4 body (%x: tensor<4x4xf32>) -> tensor<4x4xf32>
      attributes {placement = #mf.placement<stage = 1, chunk = 1>} {
    %a = mf.neg %x {name = "feed_forward.mul"} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %y = mf.neg %a {name = "add"} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    mf.return %y : tensor<4x4xf32>
  }
  // CHECK: mf.layer @layers.5 body
  // CHECK-NEXT: name = "feed_forward.mul"}
  mf.layer @layers.5 body (%x: tensor<4x4xf32>) -> tensor<4x4xf32>
      attributes {placement = #mf.placement<stage = 0, chunk = 1>} {
    %a = mf.neg %x {name = "feed_forward.mul"} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %y = mf.neg %a {name = "add"} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    mf.return %y : tensor<4x4xf32>
  }
}
