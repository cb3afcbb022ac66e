// Operators may say by which kernel the trainer computes them.
// RUN: %variants %s | %roundtrip --split-input-file --verify-diagnostics | FileCheck %s

mf.model @kernels attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  mf.layer @layers.0 body (%x: tensor<4xf32>) -> tensor<4xf32> {
    // CHECK: mf.add {{.*}}mf.trainer_kernel = {backward = 8 : i64, forward = 0 : i64, keeps_operands, kept = 16 : i64, name = "sum"}
    %y = mf.add %x, %x {mf.trainer_kernel = {name = "sum", keeps_operands, kept = 16 : i64, forward = 0 : i64, backward = 8 : i64}} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    mf.return %y : tensor<4xf32>
  }
}

= mf.model @negative attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
= %y = mf.add %x, %x {mf.trainer_kernel = {name = "sum", kept = -1 : i64}} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
+ // expected-error @above {{expected a kernel such as {name = "attention", keeps_operands, keeps_results, kept = 512, forward = 0, backward = 0}, with bytes of at least 0, as mf.trainer_kernel, but got {kept = -1 : i64, name = "sum"}}}

= mf.model @unnamed attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
= %y = mf.add %x, %x {mf.trainer_kernel = {kept = 1 : i64}} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
+ // expected-error @above {{expected a kernel such as}}

= mf.model @unknown attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
= %y = mf.add %x, %x {mf.trainer_kernel = {name = "sum", saved = 1 : i64}} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
+ // expected-error @above {{expected a kernel such as}}

// expected-error @below {{has mf.trainer_kernel; expected it on an operator that computes}}
mf.model @model attributes {mf.trainer_kernel = {name = "sum"}, micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
}
