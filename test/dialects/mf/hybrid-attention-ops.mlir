// RUN: %variants %s | %prints-itself %roundtrip

// A window alone.
%y0, %log_sum0 = mf.hybrid_attention %q, %k, %sink {ratio = 0 : i64, scale = 5.000000e-01 : f64, window = 2 : i64} : (tensor<1x4x2x4xf32>, tensor<1x4x4xf32>, tensor<2xf32>) -> (tensor<1x4x2x4xf32>, tensor<1x4x2xf32>)
%d0:3 = mf.hybrid_attention_grad %y0, %q, %k, %sink, %y0, %log_sum0 {ratio = 0 : i64, scale = 5.000000e-01 : f64, window = 2 : i64} : (tensor<1x4x2x4xf32>, tensor<1x4x2x4xf32>, tensor<1x4x4xf32>, tensor<2xf32>, tensor<1x4x2x4xf32>, tensor<1x4x2xf32>) -> (tensor<1x4x2x4xf32>, tensor<1x4x4xf32>, tensor<2xf32>)
// The keys of two blocks of tokens, each behind the last one before it.
%yb, %log_sumb = mf.hybrid_attention %q, %kb, %sink {ratio = 0 : i64, scale = 5.000000e-01 : f64, window = 2 : i64} : (tensor<1x4x2x4xf32>, tensor<1x2x3x4xf32>, tensor<2xf32>) -> (tensor<1x4x2x4xf32>, tensor<1x4x2xf32>)
// All entries.
%y, %log_sum = mf.hybrid_attention %q, %k, %sink over %e {name = "self_attention.core_attention.hybrid_attention", ratio = 2 : i64, scale = 5.000000e-01 : f64, window = 2 : i64} : (tensor<1x4x2x4xf32>, tensor<1x4x4xf32>, tensor<2xf32>, tensor<1x2x4xf32>) -> (tensor<1x4x2x4xf32>, tensor<1x4x2xf32>)
// Chosen ones.
%scores, %chosen = mf.lightning_indexer %q, %e, %w {k = 1 : i64, name = "self_attention.core_attention.indexer.topk", ratio = 2 : i64, unseen = -1.000000e+30 : f64} : (tensor<1x4x2x4xf32>, tensor<1x2x4xf32>, tensor<1x4x2xf32>) -> (tensor<1x4x1xf32>, tensor<1x4x1xi32>)
%di:3 = mf.lightning_indexer_grad %scores, %q, %e, %w, %chosen : (tensor<1x4x1xf32>, tensor<1x4x2x4xf32>, tensor<1x2x4xf32>, tensor<1x4x2xf32>, tensor<1x4x1xi32>) -> (tensor<1x4x2x4xf32>, tensor<1x2x4xf32>, tensor<1x4x2xf32>)
%y1, %log_sum1 = mf.hybrid_attention %q, %k, %sink over %e at %chosen {ratio = 2 : i64, scale = 5.000000e-01 : f64, window = 2 : i64} : (tensor<1x4x2x4xf32>, tensor<1x4x4xf32>, tensor<2xf32>, tensor<1x2x4xf32>, tensor<1x4x1xi32>) -> (tensor<1x4x2x4xf32>, tensor<1x4x2xf32>)
%d1:4 = mf.hybrid_attention_grad %y1, %q, %k, %sink, %y1, %log_sum1 over %e at %chosen {ratio = 2 : i64, scale = 5.000000e-01 : f64, window = 2 : i64} : (tensor<1x4x2x4xf32>, tensor<1x4x2x4xf32>, tensor<1x4x4xf32>, tensor<2xf32>, tensor<1x4x2x4xf32>, tensor<1x4x2xf32>, tensor<1x2x4xf32>, tensor<1x4x1xi32>) -> (tensor<1x4x2x4xf32>, tensor<1x4x4xf32>, tensor<2xf32>, tensor<1x2x4xf32>)
%t = mf.entry_shares %q, %e, %chosen, %log_sum {name = "self_attention.core_attention.entry_shares", scale = 5.000000e-01 : f64} : (tensor<1x4x2x4xf32>, tensor<1x2x4xf32>, tensor<1x4x1xi32>, tensor<1x4x2xf32>) -> tensor<1x4x1xf32>
// A part of the queries.
%scores2, %chosen2 = mf.lightning_indexer %h, %e, %v, %p {k = 1 : i64, ratio = 2 : i64, unseen = -1.000000e+30 : f64} : (tensor<1x2x2x4xf32>, tensor<1x2x4xf32>, tensor<1x2x2xf32>, tensor<1xi32>) -> (tensor<1x2x1xf32>, tensor<1x2x1xi32>)
%y2, %log_sum2 = mf.hybrid_attention %h, %k, %sink from %p over %e at %chosen2 {ratio = 2 : i64, scale = 5.000000e-01 : f64, window = 2 : i64} : (tensor<1x2x2x4xf32>, tensor<1x4x4xf32>, tensor<2xf32>, tensor<1xi32>, tensor<1x2x4xf32>, tensor<1x2x1xi32>) -> (tensor<1x2x2x4xf32>, tensor<1x2x2xf32>)
// One query of the block that a rank has.
%y3, %log_sum3 = mf.hybrid_attention %one, %own, %sink from %p {ratio = 0 : i64, scale = 5.000000e-01 : f64, window = 2 : i64} : (tensor<1x1x2x4xf32>, tensor<1x1x3x4xf32>, tensor<2xf32>, tensor<1xi32>) -> (tensor<1x1x2x4xf32>, tensor<1x1x2xf32>)
%d2:4 = mf.hybrid_attention_grad %y2, %h, %k, %sink, %y2, %log_sum2 from %p over %e at %chosen2 {ratio = 2 : i64, scale = 5.000000e-01 : f64, window = 2 : i64} : (tensor<1x2x2x4xf32>, tensor<1x2x2x4xf32>, tensor<1x4x4xf32>, tensor<2xf32>, tensor<1x2x2x4xf32>, tensor<1x2x2xf32>, tensor<1xi32>, tensor<1x2x4xf32>, tensor<1x2x1xi32>) -> (tensor<1x2x2x4xf32>, tensor<1x4x4xf32>, tensor<2xf32>, tensor<1x2x4xf32>)
