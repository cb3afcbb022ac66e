// RUN: %variants %s | %roundtrip --pass-pipeline='builtin.module(mf.model(mf-insert-adapters))' --split-input-file --verify-diagnostics

// expected-error @below {{no linear layer of the model has a name that '.*wqq|wx' matches; did you mean 'wq'? (linear layers are wq)}}
mf.model @misspelt attributes {lora = #mf.lora<rank = 2, alpha = 8.0, dropout = 0.0, target = ".*wqq|wx", name_a = "a", name_b = "b">, micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  mf.param @model.layers.0.wq.weight : tensor<8x8xf32> init <zeros>
  mf.layer @layers.0 body (%x: tensor<1x4x8xf32>) -> tensor<1x4x8xf32> {
    %w = mf.get_param @model.layers.0.wq.weight : tensor<8x8xf32>
    %y = mf.matmul %x, %w {name = "wq.matmul", transpose_b = true} : (tensor<1x4x8xf32>, tensor<8x8xf32>) -> tensor<1x4x8xf32>
    mf.return %y : tensor<1x4x8xf32>
  }
}

// expected-error @below {{'w(' is not a regular expression}}
mf.model @no_regex attributes {lora = #mf.lora<rank = 2, alpha = 8.0, dropout = 0.0, target = "w(", name_a = "a", name_b = "b">, micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
}

// expected-error @below {{'[a' is no glob}}
mf.model @no_glob attributes {lora = #mf.lora<rank = 2, alpha = 8.0, dropout = 0.0, target = "w", name_a = "a", name_b = "b", freeze_exclude = ["[a"]>, micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
}

// expected-error @below {{matches (it has none that can get adapters)}}
mf.model @nothing attributes {lora = #mf.lora<rank = 2, alpha = 8.0, dropout = 0.0, target = "w", name_a = "a", name_b = "b">, micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
}
