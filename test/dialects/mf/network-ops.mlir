// RUN: %variants %s | %prints-itself %roundtrip

// A weight is shared by all leading dimensions; defaults are not printed.
%product = mf.matmul %x, %weight {transpose_b = true} : (tensor<2x8x16xf32>, tensor<32x16xf32>) -> tensor<2x8x32xf32>
// Equal leading dimensions are a batch of products.
%batched = mf.matmul %x, %product {transpose_a = true} : (tensor<2x8x16xf32>, tensor<2x8x32xf32>) -> tensor<2x16x32xf32>
// The gradient of a shared weight sums over the leading dimensions.
%weight_gradient = mf.matmul %product, %x {contract_batch = true, transpose_a = true} : (tensor<2x8x32xf32>, tensor<2x8x16xf32>) -> tensor<32x16xf32>

%norm, %rstd = mf.rms_norm %x, %gamma {epsilon = 1.000000e-05 : f64} : (tensor<2x8x16xf32>, tensor<16xf32>) -> (tensor<2x8x16xf32>, tensor<2x8xf32>)
%dx, %dgamma = mf.rms_norm_grad %norm, %x, %rstd, %gamma : (tensor<2x8x16xf32>, tensor<2x8x16xf32>, tensor<2x8xf32>, tensor<16xf32>) -> (tensor<2x8x16xf32>, tensor<16xf32>)
%layer_norm, %mean, %root = mf.layer_norm %x, %gamma, %gamma {eps = 1.000000e-05 : f64} : (tensor<2x8x16xf32>, tensor<16xf32>, tensor<16xf32>) -> (tensor<2x8x16xf32>, tensor<2x8xf32>, tensor<2x8xf32>)
%dx2, %dweight, %dbias = mf.layer_norm_grad %norm, %x, %mean, %root, %gamma : (tensor<2x8x16xf32>, tensor<2x8x16xf32>, tensor<2x8xf32>, tensor<2x8xf32>, tensor<16xf32>) -> (tensor<2x8x16xf32>, tensor<16xf32>, tensor<16xf32>)
%dx3 = mf.layer_norm_grad %norm, %x, %mean, %root, %gamma : (tensor<2x8x16xf32>, tensor<2x8x16xf32>, tensor<2x8xf32>, tensor<2x8xf32>, tensor<16xf32>) -> tensor<2x8x16xf32>
// The example of mf.layer_norm's description.
%y1, %mean1, %rstd1 = mf.layer_norm %rows, %weight1, %bias1 {eps = 1.000000e-05 : f64, name = "layernorm1.layer_norm"} : (tensor<2x8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<2x8xf32>, tensor<2xf32>, tensor<2xf32>)
// The example of mf.layer_norm_grad.
%dx4, %dweight4, %dbias4 = mf.layer_norm_grad %rows, %rows, %mean1, %rstd1, %weight1 : (tensor<2x8xf32>, tensor<2x8xf32>, tensor<2xf32>, tensor<2xf32>, tensor<8xf32>) -> (tensor<2x8xf32>, tensor<8xf32>, tensor<8xf32>)
%softmax = mf.softmax %x : (tensor<2x8x16xf32>) -> tensor<2x8x16xf32>
%sinkhorn = mf.sinkhorn %matrices {epsilon = 9.9999999999999995E-7 : f64, iterations = 20 : i64} : (tensor<2x3x4x4xf32>) -> tensor<2x3x4x4xf32>
%dmatrices = mf.sinkhorn_grad %sinkhorn, %matrices {epsilon = 9.9999999999999995E-7 : f64, iterations = 20 : i64} : (tensor<2x3x4x4xf32>, tensor<2x3x4x4xf32>) -> tensor<2x3x4x4xf32>
%dsoftmax = mf.softmax_grad %x, %softmax : (tensor<2x8x16xf32>, tensor<2x8x16xf32>) -> tensor<2x8x16xf32>

// Grouped queries: four heads share two of key and value; the row statistics are fp32 for any element type.
%max, %sum, %attention = mf.flash_attention %query, %key, %key {scale = 2.500000e-01 : f64} : (tensor<2x4x8x16xbf16>, tensor<2x2x8x16xbf16>, tensor<2x2x8x16xbf16>) -> (tensor<2x4x8xf32>, tensor<2x4x8xf32>, tensor<2x4x8x16xbf16>)
%dq, %dk, %dv = mf.flash_attention_grad %query, %key, %key, %attention, %max, %sum, %attention {causal = false, scale = 2.500000e-01 : f64} : (tensor<2x4x8x16xbf16>, tensor<2x2x8x16xbf16>, tensor<2x2x8x16xbf16>, tensor<2x4x8x16xbf16>, tensor<2x4x8xf32>, tensor<2x4x8xf32>, tensor<2x4x8x16xbf16>) -> (tensor<2x4x8x16xbf16>, tensor<2x2x8x16xbf16>, tensor<2x2x8x16xbf16>)

// ALiBi: one slope per query head.
%max_alibi, %sum_alibi, %attention_alibi = mf.flash_attention %query, %key, %key, %slopes {scale = 2.500000e-01 : f64} : (tensor<2x4x8x16xbf16>, tensor<2x2x8x16xbf16>, tensor<2x2x8x16xbf16>, tensor<4xf32>) -> (tensor<2x4x8xf32>, tensor<2x4x8xf32>, tensor<2x4x8x16xbf16>)

// Within documents: a start per sample and query row.
%starts = mf.document_starts %packed {end = 2 : i64, name = "eod_mask"} : (tensor<1x16xi32>) -> tensor<1x16xi32>
%document_mask = mf.document_mask %starts {name = "document_mask", value = -1.000000e+04 : f64} : (tensor<1x16xi32>) -> tensor<1x1x16x16xf32>

// Prefixes that all tokens see.
%within, %behind = mf.prefix_positions %packed {begin = 5 : i64, name = "rotary_emb.position_ids"} : (tensor<1x16xi32>) -> (tensor<1x16xi32>, tensor<1x16xi32>)
%prefix_mask = mf.prefix_mask %behind {name = "masked_fill", value = -1.000000e+04 : f64} : (tensor<1x16xi32>) -> tensor<1x1x16x16xf32>

%max_packed, %sum_packed, %attention_packed = mf.flash_attention %heads, %heads, %heads within %starts {scale = 2.500000e-01 : f64} : (tensor<1x4x16x8xf32>, tensor<1x4x16x8xf32>, tensor<1x4x16x8xf32>, tensor<1x16xi32>) -> (tensor<1x4x16xf32>, tensor<1x4x16xf32>, tensor<1x4x16x8xf32>)
%dq_packed, %dk_packed, %dv_packed = mf.flash_attention_grad %heads, %heads, %heads, %heads, %max_packed, %sum_packed, %heads within %starts {scale = 2.500000e-01 : f64} : (tensor<1x4x16x8xf32>, tensor<1x4x16x8xf32>, tensor<1x4x16x8xf32>, tensor<1x4x16x8xf32>, tensor<1x4x16xf32>, tensor<1x4x16xf32>, tensor<1x4x16x8xf32>, tensor<1x16xi32>) -> (tensor<1x4x16x8xf32>, tensor<1x4x16x8xf32>, tensor<1x4x16x8xf32>)

%embedding = mf.embedding %table, %tokens : (tensor<100x16xf32>, tensor<2x8xi32>) -> tensor<2x8x16xf32>
%dtable = mf.embedding_grad %embedding, %tokens : (tensor<2x8x16xf32>, tensor<2x8xi32>) -> tensor<100x16xf32>

// Logits may be of any float type; the loss is fp32.
%loss, %logsumexp, %count = mf.cross_entropy %logits, %labels : (tensor<16x100xbf16>, tensor<16xi32>) -> (tensor<f32>, tensor<16xf32>, tensor<f32>)
%dlogits = mf.cross_entropy_grad %loss, %logits, %labels, %logsumexp, %count {ignore_index = 0 : i64} : (tensor<f32>, tensor<16x100xbf16>, tensor<16xi32>, tensor<16xf32>, tensor<f32>) -> tensor<16x100xbf16>
