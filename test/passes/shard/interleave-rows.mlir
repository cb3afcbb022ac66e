// Layers of two blocks of rows: a split behind what mixes rows, a concatenation in front of it.
// RUN: mf-opt --pass-pipeline='builtin.module(mf.model(mf-interleave-rows))' %s | FileCheck %s
// RUN: mf-opt --pass-pipeline='builtin.module(mf.model(mf-interleave-rows{print-plan=true}))' %s -o %t 2>&1 | FileCheck %s --check-prefix=PLAN
// RUN: mf-opt --pass-pipeline='builtin.module(mf.model(mf-interleave-rows))' --remarks-filter-passed=shard %s -o %t 2>&1 | FileCheck %s --check-prefix=REMARK

// PLAN:      2 blocks of 2 rows
// PLAN-NEXT: layers.0: takes rows, gives blocks
// PLAN-NEXT:   out
// PLAN-NEXT:   add
// PLAN-NEXT: layers.1: takes blocks, gives blocks
// PLAN-NEXT:   norm
// PLAN-NEXT:   query
// PLAN-NEXT:   out
// PLAN-NEXT:   add
// PLAN-NEXT: layers.2: takes blocks, gives rows
// PLAN-NEXT:   norm
// PLAN-NEXT:   query
// PLAN-NOT: {{.}}

#training = #mf.training<parallel = <stages = 1, interleave = 1, micro_batches = 1, scheduler = "1f1b", row_blocks = 2>,
  recompute = <recompute = false, select = false, select_comm = false, select_exclude = false,
  select_comm_exclude = false, parallel_optimizer_comm = false, mp_comm = true, slice_activation = false>,
  swap = <swap = false, default_prefetch = 1>,
  optimizer = <type = "AdamW", beta1 = 0.9, beta2 = 0.95, eps = 1.0e-8, weight_decay = 0.1, bias_correction = true>,
  lr_schedule = <type = "ConstantWarmUpLR", parameters = {learning_rate = 1.0e-3 : f64}>,
  loss_scale = 1.0, max_device_memory = 0>

module attributes {mf.mesh = #mf.mesh<pp = 1, mp = 2>} {
mf.model @model attributes {training = #training, micro_batch_size = 2 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  mf.param @norm : tensor<8xf32> init <ones>
  mf.param @query : tensor<8x8xf32> init <ones>
  mf.param @out : tensor<8x8xf32> init <ones>
  mf.layer @layers.0 body (%x: tensor<2x4x8xf32>) -> tensor<2x4x8xf32> {
    %g = mf.get_param @norm : tensor<8xf32>
    %n, %r = mf.rms_norm %x, %g {epsilon = 1.0e-5 : f64, name = "norm"} : (tensor<2x4x8xf32>, tensor<8xf32>) -> (tensor<2x4x8xf32>, tensor<2x4xf32>)
    %wq = mf.get_param @query : tensor<8x8xf32>
    %q = mf.matmul %n, %wq {name = "query"} : (tensor<2x4x8xf32>, tensor<8x8xf32>) -> tensor<2x4x8xf32>
    %t = mf.silu %q {name = "turn"} : (tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
    %s = mf.matmul %t, %t {name = "scores", transpose_b = true} : (tensor<2x4x8xf32>, tensor<2x4x8xf32>) -> tensor<2x4x4xf32>
    %a = mf.matmul %s, %t {name = "attention"} : (tensor<2x4x4xf32>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
    %wo = mf.get_param @out : tensor<8x8xf32>
    %o = mf.matmul %a, %wo {name = "out"} : (tensor<2x4x8xf32>, tensor<8x8xf32>) -> tensor<2x4x8xf32>
    %y = mf.add %x, %o {name = "add"} : (tensor<2x4x8xf32>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
    mf.return %y : tensor<2x4x8xf32>
  }
  mf.layer @layers.1 body (%x: tensor<2x4x8xf32>) -> tensor<2x4x8xf32> {
    %g = mf.get_param @norm : tensor<8xf32>
    %n, %r = mf.rms_norm %x, %g {epsilon = 1.0e-5 : f64, name = "norm"} : (tensor<2x4x8xf32>, tensor<8xf32>) -> (tensor<2x4x8xf32>, tensor<2x4xf32>)
    %wq = mf.get_param @query : tensor<8x8xf32>
    %q = mf.matmul %n, %wq {name = "query", recompute = #mf.recompute<select>} : (tensor<2x4x8xf32>, tensor<8x8xf32>) -> tensor<2x4x8xf32>
    %t = mf.silu %q {name = "turn"} : (tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
    %s = mf.matmul %t, %t {name = "scores", transpose_b = true} : (tensor<2x4x8xf32>, tensor<2x4x8xf32>) -> tensor<2x4x4xf32>
    %a = mf.matmul %s, %t {name = "attention"} : (tensor<2x4x4xf32>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
    %wo = mf.get_param @out : tensor<8x8xf32>
    %o = mf.matmul %a, %wo {name = "out"} : (tensor<2x4x8xf32>, tensor<8x8xf32>) -> tensor<2x4x8xf32>
    %y = mf.add %x, %o {name = "add"} : (tensor<2x4x8xf32>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
    mf.return %y : tensor<2x4x8xf32>
  }
  mf.layer @layers.2 body (%x: tensor<2x4x8xf32>) -> tensor<2x4x8xf32> {
    %g = mf.get_param @norm : tensor<8xf32>
    %n, %r = mf.rms_norm %x, %g {epsilon = 1.0e-5 : f64, name = "norm"} : (tensor<2x4x8xf32>, tensor<8xf32>) -> (tensor<2x4x8xf32>, tensor<2x4xf32>)
    %wq = mf.get_param @query : tensor<8x8xf32>
    %q = mf.matmul %n, %wq {name = "query"} : (tensor<2x4x8xf32>, tensor<8x8xf32>) -> tensor<2x4x8xf32>
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
