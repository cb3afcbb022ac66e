// A clone computes the same as its original, but upstream's simplifications cannot see that: nothing folds it back.
// RUN: %roundtrip --pass-pipeline='builtin.module(mf.model(mf-build-backward,mf.chunk(mf-insert-recompute,cse,canonicalize,cse)))' %s | FileCheck %s
// Without the pass there is one silu; with it there are two.
// RUN: %roundtrip --pass-pipeline='builtin.module(mf.model(mf-build-backward,mf.chunk(cse,canonicalize)))' %s | FileCheck %s --check-prefix=WITHOUT

// WITHOUT-COUNT-1: mf.silu %
// WITHOUT-NOT: mf.silu %

// CHECK: %[[A:.*]] = mf.neg
// CHECK: %[[B:.*]] = mf.silu %[[A]]
// CHECK: mf.softmax %[[B]]
// CHECK: mf.cut
// CHECK: %[[BARRIER:.*]] = mf.barrier %[[A]]
// CHECK: %[[AGAIN:.*]] = mf.silu %[[BARRIER]]
// CHECK: mf.mul %{{.*}}, %[[AGAIN]]

// So what is split off keeps silu's input and the softmax, but not silu's result.
// RUN: %roundtrip --pass-pipeline='builtin.module(mf.model(mf-build-backward,mf.chunk(mf-insert-recompute,cse,canonicalize),mf-split-chunks))' %s | FileCheck %s --check-prefix=SPLIT
// SPLIT: %[[A:.*]] = mf.neg
// SPLIT: %[[SOFTMAX:.*]] = mf.softmax
// SPLIT: mf.return %{{[0-9]+}}, %[[A]], %[[SOFTMAX]] : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
mf.model @m attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  mf.layer @layers.0 body (%x: tensor<4xf32>) -> tensor<4xf32> attributes {placement = #mf.placement<stage = 0, chunk = 0>} {
    %a = mf.neg %x {name = "neg"} : (tensor<4xf32>) -> tensor<4xf32>
    %b = mf.silu %a {name = "silu", recompute = #mf.recompute<select>} : (tensor<4xf32>) -> tensor<4xf32>
    %c = mf.softmax %b {name = "softmax"} : (tensor<4xf32>) -> tensor<4xf32>
    %y = mf.mul %c, %b {name = "mul"} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    mf.return %y : tensor<4xf32>
  }
}
