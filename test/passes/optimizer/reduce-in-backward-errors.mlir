// RUN: %variants %s | %roundtrip --pass-pipeline='builtin.module(mf.model(mf-reduce-in-backward))' -split-input-file -verify-diagnostics

// expected-error @below {{has no training configuration; run mf-read-config first}}
mf.model @without_training attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
}

// A gradient that nobody sums up is refused where it is returned.
module attributes {mf.mesh = #mf.mesh<pp = 1, dp = 2, mp = 2>} {
mf.model @forgotten attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  // expected-note @below {{parameter is here}}
  mf.param @w : tensor<4xf32> init <zeros> layout <[[]], reduced = [dp, mp]> {reduced_in_backward}
  // expected-error @below {{returns a gradient of 'w' that is not summed over ["mp"], but the parameter is 'reduced_in_backward'; expected readers behind an mf.mirror or mf.all_gather over these axes}}
  mf.backward @chunk0.backward (%dy: tensor<4xf32>) -> tensor<4xf32> attributes {forward_arguments = [], gradients = [@w], placement = #mf.placement<stage = 0, chunk = 0>} {
    %0 = mf.all_reduce %dy over ["dp"] : tensor<4xf32> -> tensor<4xf32>
    %1 = mf.scale %0 {value = 2.0 : f64} : (tensor<4xf32>) -> tensor<4xf32>
    mf.return %1 : tensor<4xf32>
  }
}
}

// Where summands meet, all must be sums.
^
= module attributes {mf.mesh = #mf.mesh<pp = 1, dp = 2>} {
= mf.model @half_a_sum attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
= mf.param @w : tensor<4xf32> init <zeros> layout <[[]], reduced = [dp]> {reduced_in_backward}
= // expected-error @below {{that is not summed over ["dp"]}}
= %1 = mf.add %0, %dy : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>

module attributes {mf.mesh = #mf.mesh<pp = 1, dp = 2>} {
mf.model @twice attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  // expected-note @below {{parameter is here}}
  mf.param @w : tensor<4xf32> init <zeros> layout <[[]], reduced = [dp]> {reduced_in_backward}
  mf.update @update0 (%lr: tensor<f32>, %step: tensor<f32>) attributes {stage = 0 : i64} {
    // expected-error @below {{reduces the gradient of 'w', which backward has reduced already}}
    mf.reduce_gradient @w over ["dp"]
    mf.return
  }
}
}

module attributes {mf.mesh = #mf.mesh<pp = 1, dp = 2>} {
mf.model @gathered_once attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  // expected-error @below {{is gathered once in a step, so its gradient cannot be 'reduced_in_backward'}}
  mf.param @w : tensor<4xf32> init <zeros> layout <[[]], reduced = [dp]> stored <[[dp]]> {gathered = tensor<4xf32>, reduced_in_backward}
}
}
