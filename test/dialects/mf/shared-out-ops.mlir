// RUN: %variants %s | %prints-itself %roundtrip

// What a rank has of the query rows, the vocabulary and the tokens.
module attributes {mf.mesh = #mf.mesh<pp = 1, dp = 2, cp = 4, mp = 2>} {
  %max, %sum, %y = mf.flash_attention %q, %k, %k from %first {scale = 2.500000e-01 : f64} : (tensor<1x2x4x8xf32>, tensor<1x2x16x8xf32>, tensor<1x2x16x8xf32>, tensor<1xi32>) -> (tensor<1x2x4xf32>, tensor<1x2x4xf32>, tensor<1x2x4x8xf32>)
  %dq, %dk, %dv = mf.flash_attention_grad %q, %k, %k, %y, %max, %sum, %y from %first, %slopes {scale = 2.500000e-01 : f64} : (tensor<1x2x4x8xf32>, tensor<1x2x16x8xf32>, tensor<1x2x16x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4xf32>, tensor<1x2x4xf32>, tensor<1x2x4x8xf32>, tensor<1xi32>, tensor<2xf32>) -> (tensor<1x2x4x8xf32>, tensor<1x2x16x8xf32>, tensor<1x2x16x8xf32>)
  %x = mf.embedding %table, %tokens, %first {name = "tok_embeddings.gather", vocab_axes = ["mp"]} : (tensor<8x4xf32>, tensor<2x3xi32>, tensor<1xi32>) -> tensor<2x3x4xf32>
  %dtable = mf.embedding_grad %x, %tokens, %first {vocab_axes = ["mp"]} : (tensor<2x3x4xf32>, tensor<2x3xi32>, tensor<1xi32>) -> tensor<8x4xf32>
  %loss, %logsumexp, %count = mf.cross_entropy %logits, %labels, %first {name = "loss", token_axes = ["dp"], vocab_axes = ["mp"]} : (tensor<6x8xf32>, tensor<6xi32>, tensor<1xi32>) -> (tensor<f32>, tensor<6xf32>, tensor<f32>)
  %dlogits = mf.cross_entropy_grad %loss, %logits, %labels, %logsumexp, %count, %first {vocab_axes = ["mp"]} : (tensor<f32>, tensor<6x8xf32>, tensor<6xi32>, tensor<6xf32>, tensor<f32>, tensor<1xi32>) -> tensor<6x8xf32>
  %mean, %rows, %own = mf.cross_entropy %logits, %labels {own_means, token_axes = ["dp"]} : (tensor<6x8xf32>, tensor<6xi32>) -> (tensor<f32>, tensor<6xf32>, tensor<1xf32>)
}
