// RUN: %variants %s | %roundtrip -allow-unregistered-dialect -verify-diagnostics -split-input-file

// expected-error @below {{expected no gradients of weight and bias, or two of type 'tensor<16xf32>', but got 'tensor<16xf32>'}}
%d, %e = mf.layer_norm_grad %a, %a, %b, %b, %c : (tensor<8x16xf32>, tensor<8x16xf32>, tensor<8xf32>, tensor<8xf32>, tensor<16xf32>) -> (tensor<8x16xf32>, tensor<16xf32>)

// expected-error @below {{expected matrices of one element type, but got 'tensor<8x16xf32>' and 'tensor<16x8xbf16>'}}
%c = mf.matmul %a, %b : (tensor<8x16xf32>, tensor<16x8xbf16>) -> tensor<8x8xf32>

// A vector is no matrix.
// expected-error @below {{expected matrices of one element type, but got 'tensor<8x16xf32>' and 'tensor<16xf32>'}}
%c = mf.matmul %a, %b : (tensor<8x16xf32>, tensor<16xf32>) -> tensor<8xf32>

// expected-error @below {{sums over 16 elements on the left, but 8 on the right}}
%c = mf.matmul %a, %b : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>

// expected-error @below {{expected a result of type 'tensor<8x8xf32>', but got 'tensor<8x16xf32>'}}
%c = mf.matmul %a, %b {transpose_b = true} : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>

// expected-error @below {{expected equal leading dimensions, but got 'tensor<2x8x16xf32>' and 'tensor<3x16x8xf32>'}}
%c = mf.matmul %a, %b : (tensor<2x8x16xf32>, tensor<3x16x8xf32>) -> tensor<2x8x8xf32>

// What a shared weight multiplies is stored as it is.
// expected-error @below {{expected no transpose_a with a shared right operand}}
%c = mf.matmul %a, %b {transpose_a = true} : (tensor<2x16x8xf32>, tensor<16x8xf32>) -> tensor<2x8x8xf32>

// expected-error @below {{expected transpose_a with contract_batch}}
%c = mf.matmul %a, %b {contract_batch = true} : (tensor<2x8x16xf32>, tensor<2x16x8xf32>) -> tensor<8x8xf32>

// The element type of the result is that of the operands.
// expected-error @below {{expected a result of type 'tensor<8x8xbf16>', but got 'tensor<8x8xf32>'}}
%c = mf.matmul %a, %b : (tensor<8x16xbf16>, tensor<16x8xbf16>) -> tensor<8x8xf32>

// expected-error @below {{expected gamma to be the last dimension of the input, but got 'tensor<8xf32>' for 'tensor<2x16xf32>'}}
%y, %rstd = mf.rms_norm %x, %gamma {epsilon = 1.0e-5 : f64} : (tensor<2x16xf32>, tensor<8xf32>) -> (tensor<2x16xf32>, tensor<2xf32>)

// The reciprocal root is fp32 whatever the input is.
// expected-error @below {{expected rstd of type 'tensor<2xf32>', but got 'tensor<2xbf16>'}}
%y, %rstd = mf.rms_norm %x, %gamma {epsilon = 1.0e-5 : f64} : (tensor<2x16xbf16>, tensor<16xbf16>) -> (tensor<2x16xbf16>, tensor<2xbf16>)

// expected-error @below {{expected weight to be the last dimension of the input, but got 'tensor<8xf32>' for 'tensor<2x16xf32>'}}
%y, %mean, %rstd = mf.layer_norm %x, %weight, %weight {eps = 1.0e-5 : f64} : (tensor<2x16xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<2x16xf32>, tensor<2xf32>, tensor<2xf32>)

// expected-error @below {{expected mean and rstd of type 'tensor<2xf32>', but got 'tensor<2xbf16>' and 'tensor<2xf32>'}}
%y, %mean, %rstd = mf.layer_norm %x, %weight, %weight {eps = 1.0e-5 : f64} : (tensor<2x16xbf16>, tensor<16xf32>, tensor<16xf32>) -> (tensor<2x16xbf16>, tensor<2xbf16>, tensor<2xf32>)

// expected-error @below {{expected [batch, heads, sequence, head dimension] operands, but got 'tensor<4x8x16xf32>'}}
%max, %sum, %y = mf.flash_attention %q, %q, %q {scale = 1.0 : f64} : (tensor<4x8x16xf32>, tensor<4x8x16xf32>, tensor<4x8x16xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8x16xf32>)

// Query heads are shared out evenly.
// expected-error @below {{expected the number of query heads to be a multiple of that of key heads, but got 4 and 3}}
%max, %sum, %y = mf.flash_attention %q, %k, %k {scale = 1.0 : f64} : (tensor<1x4x8x16xf32>, tensor<1x3x8x16xf32>, tensor<1x3x8x16xf32>) -> (tensor<1x4x8xf32>, tensor<1x4x8xf32>, tensor<1x4x8x16xf32>)

// Slopes are those of query heads.
// expected-error @below {{expected slopes of type 'tensor<4xf32>', one per query head, but got 'tensor<2xf32>'}}
%max, %sum, %y = mf.flash_attention %q, %k, %k, %slopes {scale = 1.0 : f64} : (tensor<1x4x8x16xf32>, tensor<1x2x8x16xf32>, tensor<1x2x8x16xf32>, tensor<2xf32>) -> (tensor<1x4x8xf32>, tensor<1x4x8xf32>, tensor<1x4x8x16xf32>)

// Starts are those of query rows.
// expected-error @below {{expected starts of type 'tensor<1x8xi32>', one per query row, but got 'tensor<1x16xi32>'}}
%max, %sum, %y = mf.flash_attention %q, %q, %q within %starts {scale = 1.0 : f64} : (tensor<1x4x8x16xf32>, tensor<1x4x8x16xf32>, tensor<1x4x8x16xf32>, tensor<1x16xi32>) -> (tensor<1x4x8xf32>, tensor<1x4x8xf32>, tensor<1x4x8x16xf32>)

// expected-error @below {{expected tokens [batch, sequence], but got 'tensor<16xi32>'}}
%starts = mf.document_starts %tokens {end = 2 : i64} : (tensor<16xi32>) -> tensor<16xi32>

// expected-error @below {{expected starts [batch, queries] and a mask [batch, 1, queries, keys], but got 'tensor<1x16xi32>' and 'tensor<1x2x16x16xf32>'}}
%mask = mf.document_mask %starts {value = -1.0 : f64} : (tensor<1x16xi32>) -> tensor<1x2x16x16xf32>

// expected-error @below {{expected tokens [batch, sequence], but got 'tensor<16xi32>'}}
%within, %behind = mf.prefix_positions %tokens {begin = 2 : i64} : (tensor<16xi32>) -> (tensor<16xi32>, tensor<16xi32>)

// expected-error @below {{expected positions [batch, sequence] and a mask [batch, 1, sequence, sequence], but got 'tensor<1x16xi32>' and 'tensor<1x1x16x8xf32>'}}
%mask = mf.prefix_mask %behind {value = -1.0 : f64} : (tensor<1x16xi32>) -> tensor<1x1x16x8xf32>

// No key heads at all are no multiple of anything.
// expected-error @below {{expected the number of query heads to be a multiple of that of key heads, but got 4 and 0}}
%max, %sum, %y = mf.flash_attention %q, %k, %k {scale = 1.0 : f64} : (tensor<1x4x8x16xf32>, tensor<1x0x8x16xf32>, tensor<1x0x8x16xf32>) -> (tensor<1x4x8xf32>, tensor<1x4x8xf32>, tensor<1x4x8x16xf32>)

// expected-error @below {{expected operands that agree in batch, key sequence and head dimension}}
%max, %sum, %y = mf.flash_attention %q, %k, %k {scale = 1.0 : f64} : (tensor<1x4x8x16xf32>, tensor<1x4x8x32xf32>, tensor<1x4x8x32xf32>) -> (tensor<1x4x8xf32>, tensor<1x4x8xf32>, tensor<1x4x8x32xf32>)

// expected-error @below {{expected softmax_max and softmax_sum of type 'tensor<1x4x8xf32>'}}
%max, %sum, %y = mf.flash_attention %q, %q, %q {scale = 1.0 : f64} : (tensor<1x4x8x16xbf16>, tensor<1x4x8x16xbf16>, tensor<1x4x8x16xbf16>) -> (tensor<1x4x8xbf16>, tensor<1x4x8xbf16>, tensor<1x4x8x16xbf16>)

// expected-error @below {{expected a result of type 'tensor<1x4x8x32xf32>', but got 'tensor<1x4x8x16xf32>'}}
%max, %sum, %y = mf.flash_attention %q, %q, %v {scale = 1.0 : f64} : (tensor<1x4x8x16xf32>, tensor<1x4x8x16xf32>, tensor<1x4x8x32xf32>) -> (tensor<1x4x8xf32>, tensor<1x4x8xf32>, tensor<1x4x8x16xf32>)

// expected-error @below {{expected a table of rank 2, but got 'tensor<100xf32>'}}
%y = mf.embedding %table, %tokens : (tensor<100xf32>, tensor<8xi32>) -> tensor<8xf32>

// expected-error @below {{expected a result of type 'tensor<8x16xf32>', but got 'tensor<8x32xf32>'}}
%y = mf.embedding %table, %tokens : (tensor<100x16xf32>, tensor<8xi32>) -> tensor<8x32xf32>

// expected-error @below {{expected [rows, classes] logits and [rows] labels, but got 'tensor<8x100xf32>' and 'tensor<9xi32>'}}
%loss, %l, %c = mf.cross_entropy %logits, %labels : (tensor<8x100xf32>, tensor<9xi32>) -> (tensor<f32>, tensor<8xf32>, tensor<f32>)

// expected-error @below {{expected a scalar loss, 'tensor<f32>' count and 'tensor<8xf32>' logsumexp, in fp32}}
%loss, %l, %c = mf.cross_entropy %logits, %labels : (tensor<8x100xbf16>, tensor<8xi32>) -> (tensor<bf16>, tensor<8xf32>, tensor<f32>)

// expected-error @below {{'mf.embedding' op expected both vocab_axes and the number of the first row, or neither}}
%y = mf.embedding %table, %tokens {vocab_axes = ["mp"]} : (tensor<100x16xf32>, tensor<8xi32>) -> tensor<8x16xf32>

module attributes {mf.mesh = #mf.mesh<pp = 1, mp = 2>} {
  // expected-error @below {{'mf.embedding' op expected one number, a tensor<1xi32>, as position of the rank's part, but got 'tensor<8xi32>'}}
  %y = mf.embedding %table, %tokens, %tokens {vocab_axes = ["mp"]} : (tensor<100x16xf32>, tensor<8xi32>, tensor<8xi32>) -> tensor<8x16xf32>
}

module attributes {mf.mesh = #mf.mesh<pp = 1, mp = 2>} {
  // expected-error @below {{'mf.cross_entropy' op expected axes of #mf.mesh<pp = 1, mp = 2>, but got "dp"}}
  %loss, %l, %c = mf.cross_entropy %logits, %labels {token_axes = ["dp"]} : (tensor<8x100xf32>, tensor<8xi32>) -> (tensor<f32>, tensor<8xf32>, tensor<f32>)
}

module attributes {mf.mesh = #mf.mesh<pp = 1, mp = 2>} {
  // expected-error @below {{'mf.cross_entropy_grad' op expected both vocab_axes and the number of the first row, or neither}}
  %d = mf.cross_entropy_grad %loss, %logits, %labels, %l, %loss, %first : (tensor<f32>, tensor<8x100xf32>, tensor<8xi32>, tensor<8xf32>, tensor<f32>, tensor<1xi32>) -> tensor<8x100xf32>
}

// expected-error @below {{'mf.flash_attention' op expected part of the 4 positions of the keys, but got 8 query rows}}
%max, %sum, %y = mf.flash_attention %q, %k, %k from %first {scale = 1.0 : f64} : (tensor<1x4x8x16xf32>, tensor<1x4x4x16xf32>, tensor<1x4x4x16xf32>, tensor<1xi32>) -> (tensor<1x4x8xf32>, tensor<1x4x8xf32>, tensor<1x4x8x16xf32>)

// expected-error @below {{'mf.sinkhorn' op expected square matrices in the last two dimensions, but got 'tensor<2x3x4xf32>'}}
%y = mf.sinkhorn %x {epsilon = 1.0e-6 : f64, iterations = 2 : i64} : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>

// expected-error @below {{'mf.sinkhorn' op expected at least 0 iterations}}
%y = mf.sinkhorn %x {epsilon = 1.0e-6 : f64, iterations = -1 : i64} : (tensor<4x4xf32>) -> tensor<4x4xf32>
