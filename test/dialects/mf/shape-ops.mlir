// RUN: %variants %s | %prints-itself %roundtrip

%reshape = mf.reshape %x : (tensor<2x3x4xf32>) -> tensor<6x4xf32>
// Tokens can be reshaped too.
%labels = mf.reshape %tokens : (tensor<1x8xi32>) -> tensor<8xi32>

// A barrier comes after any number of values.
%barrier = mf.barrier %x : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
%late = mf.barrier %x, %reshape, %labels : (tensor<2x3x4xf32>, tensor<6x4xf32>, tensor<8xi32>) -> tensor<2x3x4xf32>

%transpose = mf.transpose %x {perm = array<i64: 1, 2, 0>} : (tensor<2x3x4xf32>) -> tensor<3x4x2xf32>
%slice = mf.slice %x {sizes = array<i64: 2, 1, 2>, starts = array<i64: 0, 2, 2>} : (tensor<2x3x4xf32>) -> tensor<2x1x2xf32>
%pad = mf.pad %slice {high = array<i64: 0, 0, 0>, low = array<i64: 0, 2, 2>} : (tensor<2x1x2xf32>) -> tensor<2x3x4xf32>
%ids_pad = mf.pad %ids {high = array<i64: 0, 1>, low = array<i64: 0, 0>, value = -100 : i64} : (tensor<2x3xi32>) -> tensor<2x4xi32>
%concat = mf.concat %x, %other {axis = 1 : i64} : (tensor<2x3x4xf32>, tensor<2x1x4xf32>) -> tensor<2x4x4xf32>
%narrow, %wide = mf.split %x {axis = 2 : i64} : (tensor<2x3x4xf32>) -> (tensor<2x3x1xf32>, tensor<2x3x3xf32>)
%repeat = mf.repeat %x {axis = 1 : i64, repeats = 4 : i64} : (tensor<2x3x4xf32>) -> tensor<2x12x4xf32>
%sum = mf.reduce_sum %x {axes = array<i64: 0, 2>} : (tensor<2x3x4xf32>) -> tensor<3xf32>
%largest = mf.reduce_max %x {axes = array<i64: 0, 2>} : (tensor<2x3x4xf32>) -> tensor<3xf32>
