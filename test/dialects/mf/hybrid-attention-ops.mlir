// RUN: %roundtrip -allow-unregistered-dialect %s | %roundtrip -allow-unregistered-dialect | FileCheck %s
// RUN: %roundtrip -allow-unregistered-dialect -mlir-print-op-generic %s | %roundtrip -allow-unregistered-dialect | FileCheck %s

%q = "test.value"() : () -> tensor<1x4x2x4xf32>
%k = "test.value"() : () -> tensor<1x4x4xf32>
%e = "test.value"() : () -> tensor<1x2x4xf32>
%p = "test.value"() : () -> tensor<1xi32>
%w = "test.value"() : () -> tensor<1x4x2xf32>
%sink = "test.value"() : () -> tensor<2xf32>
// A window alone.
// CHECK: mf.hybrid_attention %{{.*}}, %{{.*}}, %{{.*}} {ratio = 0 : i64, scale = 5.000000e-01 : f64, window = 2 : i64} : (tensor<1x4x2x4xf32>, tensor<1x4x4xf32>, tensor<2xf32>) -> (tensor<1x4x2x4xf32>, tensor<1x4x2xf32>)
%y0, %log_sum0 = mf.hybrid_attention %q, %k, %sink {ratio = 0 : i64, scale = 5.000000e-01 : f64, window = 2 : i64}
    : (tensor<1x4x2x4xf32>, tensor<1x4x4xf32>, tensor<2xf32>) -> (tensor<1x4x2x4xf32>, tensor<1x4x2xf32>)
// CHECK: mf.hybrid_attention_grad {{.*}} {ratio = 0 : i64, scale = 5.000000e-01 : f64, window = 2 : i64} : ({{.*}}) -> (tensor<1x4x2x4xf32>, tensor<1x4x4xf32>, tensor<2xf32>)
%d0:3 = mf.hybrid_attention_grad %y0, %q, %k, %sink, %y0, %log_sum0 {ratio = 0 : i64, scale = 5.000000e-01 : f64, window = 2 : i64}
    : (tensor<1x4x2x4xf32>, tensor<1x4x2x4xf32>, tensor<1x4x4xf32>, tensor<2xf32>, tensor<1x4x2x4xf32>, tensor<1x4x2xf32>)
    -> (tensor<1x4x2x4xf32>, tensor<1x4x4xf32>, tensor<2xf32>)
// The keys of two blocks of tokens, each behind the last one before it.
%kb = "test.value"() : () -> tensor<1x2x3x4xf32>
// CHECK: mf.hybrid_attention %{{.*}}, %{{.*}}, %{{.*}} {ratio = 0 : i64, scale = 5.000000e-01 : f64, window = 2 : i64} : (tensor<1x4x2x4xf32>, tensor<1x2x3x4xf32>, tensor<2xf32>) -> (tensor<1x4x2x4xf32>, tensor<1x4x2xf32>)
%yb, %log_sumb = mf.hybrid_attention %q, %kb, %sink {ratio = 0 : i64, scale = 5.000000e-01 : f64, window = 2 : i64}
    : (tensor<1x4x2x4xf32>, tensor<1x2x3x4xf32>, tensor<2xf32>) -> (tensor<1x4x2x4xf32>, tensor<1x4x2xf32>)
// All entries.
// CHECK: mf.hybrid_attention %{{.*}}, %{{.*}}, %{{.*}} over %{{.*}} {name = "self_attention.core_attention.hybrid_attention", ratio = 2 : i64, scale = 5.000000e-01 : f64, window = 2 : i64}
%y, %log_sum = mf.hybrid_attention %q, %k, %sink over %e {name = "self_attention.core_attention.hybrid_attention", ratio = 2 : i64, scale = 5.000000e-01 : f64, window = 2 : i64}
    : (tensor<1x4x2x4xf32>, tensor<1x4x4xf32>, tensor<2xf32>, tensor<1x2x4xf32>)
    -> (tensor<1x4x2x4xf32>, tensor<1x4x2xf32>)
// Chosen ones.
// CHECK: mf.lightning_indexer %{{.*}}, %{{.*}}, %{{.*}} {k = 1 : i64, name = "self_attention.core_attention.indexer.topk", ratio = 2 : i64, unseen = -1.000000e+30 : f64} : (tensor<1x4x2x4xf32>, tensor<1x2x4xf32>, tensor<1x4x2xf32>) -> (tensor<1x4x1xf32>, tensor<1x4x1xi32>)
%scores, %chosen = mf.lightning_indexer %q, %e, %w {k = 1 : i64, name = "self_attention.core_attention.indexer.topk", ratio = 2 : i64, unseen = -1.000000e+30 : f64}
    : (tensor<1x4x2x4xf32>, tensor<1x2x4xf32>, tensor<1x4x2xf32>)
    -> (tensor<1x4x1xf32>, tensor<1x4x1xi32>)
// CHECK: mf.lightning_indexer_grad
%di:3 = mf.lightning_indexer_grad %scores, %q, %e, %w, %chosen
    : (tensor<1x4x1xf32>, tensor<1x4x2x4xf32>, tensor<1x2x4xf32>, tensor<1x4x2xf32>, tensor<1x4x1xi32>)
    -> (tensor<1x4x2x4xf32>, tensor<1x2x4xf32>, tensor<1x4x2xf32>)
// CHECK: mf.hybrid_attention {{.*}} over %{{.*}} at %{{.*}} {ratio = 2 : i64
%y1, %log_sum1 = mf.hybrid_attention %q, %k, %sink over %e at %chosen {ratio = 2 : i64, scale = 5.000000e-01 : f64, window = 2 : i64}
    : (tensor<1x4x2x4xf32>, tensor<1x4x4xf32>, tensor<2xf32>, tensor<1x2x4xf32>, tensor<1x4x1xi32>)
    -> (tensor<1x4x2x4xf32>, tensor<1x4x2xf32>)
// CHECK: mf.hybrid_attention_grad {{.*}} over %{{.*}} at %{{.*}} {ratio = 2 : i64
%d1:4 = mf.hybrid_attention_grad %y1, %q, %k, %sink, %y1, %log_sum1 over %e at %chosen {ratio = 2 : i64, scale = 5.000000e-01 : f64, window = 2 : i64}
    : (tensor<1x4x2x4xf32>, tensor<1x4x2x4xf32>, tensor<1x4x4xf32>, tensor<2xf32>, tensor<1x4x2x4xf32>, tensor<1x4x2xf32>, tensor<1x2x4xf32>, tensor<1x4x1xi32>)
    -> (tensor<1x4x2x4xf32>, tensor<1x4x4xf32>, tensor<2xf32>, tensor<1x2x4xf32>)
// CHECK: mf.entry_shares %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} {name = "self_attention.core_attention.entry_shares", scale = 5.000000e-01 : f64} : (tensor<1x4x2x4xf32>, tensor<1x2x4xf32>, tensor<1x4x1xi32>, tensor<1x4x2xf32>) -> tensor<1x4x1xf32>
%t = mf.entry_shares %q, %e, %chosen, %log_sum {name = "self_attention.core_attention.entry_shares", scale = 5.000000e-01 : f64}
    : (tensor<1x4x2x4xf32>, tensor<1x2x4xf32>, tensor<1x4x1xi32>, tensor<1x4x2xf32>) -> tensor<1x4x1xf32>
// A part of the queries.
%h = "test.value"() : () -> tensor<1x2x2x4xf32>
%v = "test.value"() : () -> tensor<1x2x2xf32>
// CHECK: mf.lightning_indexer %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} {k = 1 : i64, ratio = 2 : i64, unseen = -1.000000e+30 : f64} : (tensor<1x2x2x4xf32>, tensor<1x2x4xf32>, tensor<1x2x2xf32>, tensor<1xi32>)
%scores2, %chosen2 = mf.lightning_indexer %h, %e, %v, %p {k = 1 : i64, ratio = 2 : i64, unseen = -1.000000e+30 : f64}
    : (tensor<1x2x2x4xf32>, tensor<1x2x4xf32>, tensor<1x2x2xf32>, tensor<1xi32>)
    -> (tensor<1x2x1xf32>, tensor<1x2x1xi32>)
// CHECK: mf.hybrid_attention %{{.*}}, %{{.*}}, %{{.*}} from %{{.*}} over %{{.*}} at %{{.*}} {ratio = 2 : i64
%y2, %log_sum2 = mf.hybrid_attention %h, %k, %sink from %p over %e at %chosen2 {ratio = 2 : i64, scale = 5.000000e-01 : f64, window = 2 : i64}
    : (tensor<1x2x2x4xf32>, tensor<1x4x4xf32>, tensor<2xf32>, tensor<1xi32>, tensor<1x2x4xf32>, tensor<1x2x1xi32>)
    -> (tensor<1x2x2x4xf32>, tensor<1x2x2xf32>)
// One query of the block that a rank has.
%one = "test.value"() : () -> tensor<1x1x2x4xf32>
%own = "test.value"() : () -> tensor<1x1x3x4xf32>
// CHECK: mf.hybrid_attention %{{.*}}, %{{.*}}, %{{.*}} from %{{.*}} {ratio = 0 : i64
%y3, %log_sum3 = mf.hybrid_attention %one, %own, %sink from %p {ratio = 0 : i64, scale = 5.000000e-01 : f64, window = 2 : i64}
    : (tensor<1x1x2x4xf32>, tensor<1x1x3x4xf32>, tensor<2xf32>, tensor<1xi32>) -> (tensor<1x1x2x4xf32>, tensor<1x1x2xf32>)
// CHECK: mf.hybrid_attention_grad {{.*}} from %{{.*}} over %{{.*}} at %{{.*}} {ratio = 2 : i64
%d2:4 = mf.hybrid_attention_grad %y2, %h, %k, %sink, %y2, %log_sum2 from %p over %e at %chosen2 {ratio = 2 : i64, scale = 5.000000e-01 : f64, window = 2 : i64}
    : (tensor<1x2x2x4xf32>, tensor<1x2x2x4xf32>, tensor<1x4x4xf32>, tensor<2xf32>, tensor<1x2x2x4xf32>, tensor<1x2x2xf32>, tensor<1xi32>, tensor<1x2x4xf32>, tensor<1x2x1xi32>)
    -> (tensor<1x2x2x4xf32>, tensor<1x4x4xf32>, tensor<2xf32>, tensor<1x2x4xf32>)
