// RUN: %variants %s | %roundtrip -allow-unregistered-dialect -verify-diagnostics -split-input-file

// expected-error @below {{'mf.hybrid_attention' op expected keys [batch, keys, width] of queries 'tensor<1x4x2x4xf32>', but got 'tensor<1x4x5xf32>'}}
%y, %l = mf.hybrid_attention %q, %k, %s {ratio = 0 : i64, scale = 0.5 : f64, window = 2 : i64} : (tensor<1x4x2x4xf32>, tensor<1x4x5xf32>, tensor<2xf32>) -> (tensor<1x4x2x4xf32>, tensor<1x4x2xf32>)

// expected-error @below {{'mf.hybrid_attention' op expected keys [batch, blocks, 1 + tokens of a block, width], with a token for each query, of queries 'tensor<1x4x2x4xf32>', but got 'tensor<1x3x3x4xf32>'}}
%y, %l = mf.hybrid_attention %q, %k, %s {ratio = 0 : i64, scale = 0.5 : f64, window = 2 : i64} : (tensor<1x4x2x4xf32>, tensor<1x3x3x4xf32>, tensor<2xf32>) -> (tensor<1x4x2x4xf32>, tensor<1x4x2xf32>)

// A part of the queries of one block.
// expected-error @below {{'mf.hybrid_attention' op expected keys [batch, blocks, 1 + tokens of a block, width], with a token for each query, of queries 'tensor<1x4x2x4xf32>', but got 'tensor<1x1x4x4xf32>'}}
%y, %l = mf.hybrid_attention %q, %k, %s from %p {ratio = 0 : i64, scale = 0.5 : f64, window = 2 : i64} : (tensor<1x4x2x4xf32>, tensor<1x1x4x4xf32>, tensor<2xf32>, tensor<1xi32>) -> (tensor<1x4x2x4xf32>, tensor<1x4x2xf32>)

// expected-error @below {{'mf.hybrid_attention' op expected part of the 4 positions of the keys, but got 5 queries}}
%y, %l = mf.hybrid_attention %q, %k, %s from %p {ratio = 0 : i64, scale = 0.5 : f64, window = 2 : i64} : (tensor<1x5x2x4xf32>, tensor<1x4x4xf32>, tensor<2xf32>, tensor<1xi32>) -> (tensor<1x5x2x4xf32>, tensor<1x5x2xf32>)

// expected-error @below {{'mf.lightning_indexer' op expected one number, a tensor<1xi32>, as position of the rank's part, but got 'tensor<2xi32>'}}
%v, %i = mf.lightning_indexer %q, %k, %w, %p {k = 1 : i64, ratio = 2 : i64, unseen = -1.0 : f64} : (tensor<1x2x2x4xf32>, tensor<1x2x4xf32>, tensor<1x2x2xf32>, tensor<2xi32>) -> (tensor<1x2x1xf32>, tensor<1x2x1xi32>)

// expected-error @below {{'mf.hybrid_attention' op expected a ratio of at least 1 with entries and 0 without, but got 4}}
%y, %l = mf.hybrid_attention %q, %k, %s {ratio = 4 : i64, scale = 0.5 : f64, window = 2 : i64} : (tensor<1x4x2x4xf32>, tensor<1x4x4xf32>, tensor<2xf32>) -> (tensor<1x4x2x4xf32>, tensor<1x4x2xf32>)

// expected-error @below {{'mf.hybrid_attention' op expected indices [batch, queries, chosen] for queries 'tensor<1x4x2x4xf32>', but got 'tensor<1x3x1xi32>'}}
%y, %l = mf.hybrid_attention %q, %k, %s over %k at %i {ratio = 1 : i64, scale = 0.5 : f64, window = 2 : i64} : (tensor<1x4x2x4xf32>, tensor<1x4x4xf32>, tensor<2xf32>, tensor<1x4x4xf32>, tensor<1x3x1xi32>) -> (tensor<1x4x2x4xf32>, tensor<1x4x2xf32>)

// expected-error @below {{'mf.hybrid_attention' op expected entries with indices}}
%y, %l = mf.hybrid_attention %q, %k, %s at %i {ratio = 0 : i64, scale = 0.5 : f64, window = 2 : i64} : (tensor<1x4x2x4xf32>, tensor<1x4x4xf32>, tensor<2xf32>, tensor<1x4x1xi32>) -> (tensor<1x4x2x4xf32>, tensor<1x4x2xf32>)

// expected-error @below {{'mf.lightning_indexer' op expected k from 1 to 2, but got 3}}
%v, %i = mf.lightning_indexer %q, %k, %w {k = 3 : i64, ratio = 2 : i64, unseen = -1.0 : f64} : (tensor<1x4x2x4xf32>, tensor<1x2x4xf32>, tensor<1x4x2xf32>) -> (tensor<1x4x3xf32>, tensor<1x4x3xi32>)

// expected-error @below {{'mf.entry_shares' op expected log_sum of type 'tensor<1x4x2xf32>', but got 'tensor<1x4x3xf32>'}}
%t = mf.entry_shares %q, %e, %i, %l {scale = 0.5 : f64} : (tensor<1x4x2x4xf32>, tensor<1x2x4xf32>, tensor<1x4x1xi32>, tensor<1x4x3xf32>) -> tensor<1x4x1xf32>
