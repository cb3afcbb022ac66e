// RUN: %variants %s | %roundtrip -allow-unregistered-dialect -verify-diagnostics -split-input-file

// A rate of 0 drops nothing.
// expected-error @below {{expected a rate above 0 and below 1, but got 0.000000e+00}}
%mask = mf.dropout_mask %x, %draw {cut_dims = array<i64>, rate = 0.0 : f64, shape = array<i64: 4, 16>, source = "d", starts = array<i64: 0, 0>} : (tensor<4x16xf32>, tensor<3xi64>) -> tensor<4x16xi1>

// A rate of 1 drops all.
// expected-error @below {{expected a rate above 0 and below 1, but got 1.000000e+00}}
%mask = mf.dropout_mask %x, %draw {cut_dims = array<i64>, rate = 1.0 : f64, shape = array<i64: 4, 16>, source = "d", starts = array<i64: 0, 0>} : (tensor<4x16xf32>, tensor<3xi64>) -> tensor<4x16xi1>

// A bit for each element.
// expected-error @below {{expected a mask of the shape of 'tensor<4x16xf32>', but got 'tensor<16xi1>'}}
%mask = mf.dropout_mask %x, %draw {cut_dims = array<i64>, rate = 1.0e-01 : f64, shape = array<i64: 4, 16>, source = "d", starts = array<i64: 0, 0>} : (tensor<4x16xf32>, tensor<3xi64>) -> tensor<16xi1>

// Seed, step and micro-batch.
// expected-error @below {{expected a draw of type 'tensor<3xi64>', but got 'tensor<2xi64>'}}
%mask = mf.dropout_mask %x, %draw {cut_dims = array<i64>, rate = 1.0e-01 : f64, shape = array<i64: 4, 16>, source = "d", starts = array<i64: 0, 0>} : (tensor<4x16xf32>, tensor<2xi64>) -> tensor<4x16xi1>

// All dimensions of the whole.
// expected-error @below {{expected a size of the whole and a start for each of 2 dimensions}}
%mask = mf.dropout_mask %x, %draw {cut_dims = array<i64>, rate = 1.0e-01 : f64, shape = array<i64: 64>, source = "d", starts = array<i64: 0, 0>} : (tensor<4x16xf32>, tensor<3xi64>) -> tensor<4x16xi1>

// A part of the whole.
// expected-error @below {{expected 16 elements from 1 on to be part of 16}}
%mask = mf.dropout_mask %x, %draw {cut_dims = array<i64>, rate = 1.0e-01 : f64, shape = array<i64: 4, 16>, source = "d", starts = array<i64: 0, 1>} : (tensor<4x16xf32>, tensor<3xi64>) -> tensor<4x16xi1>

// One first index for each dimension that is cut.
// expected-error @below {{expected as many first indices as cut dimensions}}
%mask = mf.dropout_mask %x, %draw {cut_dims = array<i64: 0>, rate = 1.0e-01 : f64, shape = array<i64: 4, 16>, source = "d", starts = array<i64: 0, 0>} : (tensor<4x16xf32>, tensor<3xi64>) -> tensor<4x16xi1>

// Dimensions in order.
// expected-error @below {{expected cut dimensions in ascending order below 2}}
%mask = mf.dropout_mask %x, %draw, %first {cut_dims = array<i64: 2>, rate = 1.0e-01 : f64, shape = array<i64: 4, 16>, source = "d", starts = array<i64: 0, 0>} : (tensor<4x16xf32>, tensor<3xi64>, tensor<1xi32>) -> tensor<4x16xi1>

// The mask of another tensor.
// expected-error @below {{expected a mask of the shape of 'tensor<4x16xf32>', but got 'tensor<16x4xi1>'}}
%y = mf.dropout %x, %mask {rate = 0.1 : f64} : (tensor<4x16xf32>, tensor<16x4xi1>) -> tensor<4x16xf32>
