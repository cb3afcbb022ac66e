// RUN: %roundtrip --pass-pipeline='builtin.module(mf.model(mf-certify-update))' -verify-diagnostics %s

// Terms are those of operators that compute something.
mf.model @m attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  mf.param @w : tensor<8x8xf32> init <normal, value = 0.02>
  mf.update @update0 (%lr: tensor<f32>, %step: tensor<f32>) attributes {stage = 0 : i64} {
    // expected-error @below {{has no term: expected a tensor operator or one on parameters; run mf-certify-update right after mf-insert-optimizer}}
    %c = mf.offload %lr {distance = 1 : i64, name = "lr"} : tensor<f32>
    mf.return
  }
}
