// RUN: %variants %s | %roundtrip -allow-unregistered-dialect -verify-diagnostics -split-input-file

// expected-error @below {{'mf.mhc_pre' op expected 3 streams [batch, sequence, streams * hidden], but got 'tensor<1x4x8xf32>'}}
%r:8 = mf.mhc_pre %x, %w, %f, %b {count = 3 : i64, epsilon = 1.0e-6 : f64, iterations = 1 : i64, least = 1.0e-6 : f64} : (tensor<1x4x8xf32>, tensor<8x8xf32>, tensor<3xf32>, tensor<8xf32>) -> (tensor<1x4x4xf32>, tensor<1x4x2xf32>, tensor<1x4x2x2xf32>, tensor<1x4x2xf32>, tensor<1x4x8xf32>, tensor<1x4xf32>, tensor<2x1x4x2xf32>, tensor<2x1x4x2x2xf32>)

// expected-error @below {{'mf.mhc_pre' op expected a weight of type 'tensor<8x8xf32>', but got 'tensor<7x8xf32>'}}
%r:8 = mf.mhc_pre %x, %w, %f, %b {count = 2 : i64, epsilon = 1.0e-6 : f64, iterations = 1 : i64, least = 1.0e-6 : f64} : (tensor<1x4x8xf32>, tensor<7x8xf32>, tensor<3xf32>, tensor<8xf32>) -> (tensor<1x4x4xf32>, tensor<1x4x2xf32>, tensor<1x4x2x2xf32>, tensor<1x4x2xf32>, tensor<1x4x8xf32>, tensor<1x4xf32>, tensor<2x1x4x2xf32>, tensor<2x1x4x2x2xf32>)

// expected-error @below {{'mf.mhc_pre' op expected at least 0 iterations}}
%r:8 = mf.mhc_pre %x, %w, %f, %b {count = 2 : i64, epsilon = 1.0e-6 : f64, iterations = -1 : i64, least = 1.0e-6 : f64} : (tensor<1x4x8xf32>, tensor<8x8xf32>, tensor<3xf32>, tensor<8xf32>) -> (tensor<1x4x4xf32>, tensor<1x4x2xf32>, tensor<1x4x2x2xf32>, tensor<1x4x2xf32>, tensor<1x4x8xf32>, tensor<1x4xf32>, tensor<2x1x4x2xf32>, tensor<2x1x4x2x2xf32>)

// expected-error @below {{'mf.mhc_pre' op expected a result of type 'tensor<4x1x4x2xf32>', but got 'tensor<2x1x4x2xf32>'}}
%r:8 = mf.mhc_pre %x, %w, %f, %b {count = 2 : i64, epsilon = 1.0e-6 : f64, iterations = 2 : i64, least = 1.0e-6 : f64} : (tensor<1x4x8xf32>, tensor<8x8xf32>, tensor<3xf32>, tensor<8xf32>) -> (tensor<1x4x4xf32>, tensor<1x4x2xf32>, tensor<1x4x2x2xf32>, tensor<1x4x2xf32>, tensor<1x4x8xf32>, tensor<1x4xf32>, tensor<2x1x4x2xf32>, tensor<2x1x4x2x2xf32>)

// expected-error @below {{'mf.mhc_post' op expected a layer's result of type 'tensor<1x4x4xf32>', but got 'tensor<1x4x8xf32>'}}
%z = mf.mhc_post %x, %m, %y, %s : (tensor<1x4x8xf32>, tensor<1x4x2x2xf32>, tensor<1x4x8xf32>, tensor<1x4x2xf32>) -> tensor<1x4x8xf32>
