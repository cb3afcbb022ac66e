// RUN: %roundtrip -allow-unregistered-dialect %s | %roundtrip -allow-unregistered-dialect | FileCheck %s
// RUN: %roundtrip -allow-unregistered-dialect -mlir-print-op-generic %s | %roundtrip -allow-unregistered-dialect | FileCheck %s

// What a rank has of the query rows, the vocabulary and the tokens.
module attributes {mf.mesh = #mf.mesh<pp = 1, dp = 2, cp = 4, mp = 2>} {
  %q = "test.value"() : () -> tensor<1x2x4x8xf32>
  %k = "test.value"() : () -> tensor<1x2x16x8xf32>
  %slopes = "test.value"() : () -> tensor<2xf32>
  %first = "test.value"() : () -> tensor<1xi32>
  // CHECK: mf.flash_attention %{{.*}}, %{{.*}}, %{{.*}} from %{{.*}} {scale = 2.500000e-01 : f64} : (tensor<1x2x4x8xf32>, tensor<1x2x16x8xf32>, tensor<1x2x16x8xf32>, tensor<1xi32>) -> (tensor<1x2x4xf32>, tensor<1x2x4xf32>, tensor<1x2x4x8xf32>)
  %max, %sum, %y = mf.flash_attention %q, %k, %k from %first {scale = 0.25 : f64} : (tensor<1x2x4x8xf32>, tensor<1x2x16x8xf32>, tensor<1x2x16x8xf32>, tensor<1xi32>) -> (tensor<1x2x4xf32>, tensor<1x2x4xf32>, tensor<1x2x4x8xf32>)
  // CHECK: mf.flash_attention_grad %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} from %{{.*}}, %{{.*}} {scale = 2.500000e-01 : f64}
  %dq, %dk, %dv = mf.flash_attention_grad %q, %k, %k, %y, %max, %sum, %y from %first, %slopes {scale = 0.25 : f64} : (tensor<1x2x4x8xf32>, tensor<1x2x16x8xf32>, tensor<1x2x16x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4xf32>, tensor<1x2x4xf32>, tensor<1x2x4x8xf32>, tensor<1xi32>, tensor<2xf32>) -> (tensor<1x2x4x8xf32>, tensor<1x2x16x8xf32>, tensor<1x2x16x8xf32>)

  %table = "test.value"() : () -> tensor<8x4xf32>
  %tokens = "test.value"() : () -> tensor<2x3xi32>
  // CHECK: mf.embedding %{{.*}}, %{{.*}}, %{{.*}} {name = "tok_embeddings.gather", vocab_axes = ["mp"]} : (tensor<8x4xf32>, tensor<2x3xi32>, tensor<1xi32>) -> tensor<2x3x4xf32>
  %x = mf.embedding %table, %tokens, %first {name = "tok_embeddings.gather", vocab_axes = ["mp"]} : (tensor<8x4xf32>, tensor<2x3xi32>, tensor<1xi32>) -> tensor<2x3x4xf32>
  // CHECK: mf.embedding_grad %{{.*}}, %{{.*}}, %{{.*}} {vocab_axes = ["mp"]}
  %dtable = mf.embedding_grad %x, %tokens, %first {vocab_axes = ["mp"]} : (tensor<2x3x4xf32>, tensor<2x3xi32>, tensor<1xi32>) -> tensor<8x4xf32>

  %logits = "test.value"() : () -> tensor<6x8xf32>
  %labels = "test.value"() : () -> tensor<6xi32>
  // CHECK: mf.cross_entropy %{{.*}}, %{{.*}}, %{{.*}} {name = "loss", token_axes = ["dp"], vocab_axes = ["mp"]} : (tensor<6x8xf32>, tensor<6xi32>, tensor<1xi32>) -> (tensor<f32>, tensor<6xf32>, tensor<f32>)
  %loss, %logsumexp, %count = mf.cross_entropy %logits, %labels, %first {name = "loss", token_axes = ["dp"], vocab_axes = ["mp"]} : (tensor<6x8xf32>, tensor<6xi32>, tensor<1xi32>) -> (tensor<f32>, tensor<6xf32>, tensor<f32>)
  // CHECK: mf.cross_entropy_grad %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} {vocab_axes = ["mp"]}
  %dlogits = mf.cross_entropy_grad %loss, %logits, %labels, %logsumexp, %count, %first {vocab_axes = ["mp"]} : (tensor<f32>, tensor<6x8xf32>, tensor<6xi32>, tensor<6xf32>, tensor<f32>, tensor<1xi32>) -> tensor<6x8xf32>

  // CHECK: mf.cross_entropy %{{.*}}, %{{.*}} {own_means, token_axes = ["dp"]} : (tensor<6x8xf32>, tensor<6xi32>) -> (tensor<f32>, tensor<6xf32>, tensor<1xf32>)
  %mean, %rows, %own = mf.cross_entropy %logits, %labels {own_means, token_axes = ["dp"]} : (tensor<6x8xf32>, tensor<6xi32>) -> (tensor<f32>, tensor<6xf32>, tensor<1xf32>)
}
