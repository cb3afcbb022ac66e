// RUN: %variants %s | %roundtrip -allow-unregistered-dialect -verify-diagnostics -split-input-file

// A reshape keeps the number of elements.
// expected-error @below {{expected as many elements of the same type, but got 'tensor<2x3xf32>' and 'tensor<7xf32>'}}
%y = mf.reshape %x : (tensor<2x3xf32>) -> tensor<7xf32>

// A reshape keeps the element type.
// expected-error @below {{expected as many elements of the same type}}
%y = mf.reshape %x : (tensor<2x3xf32>) -> tensor<6xbf16>

// A barrier's value is its first operand.
// expected-error @below {{failed to verify that all of {input, result} have same type}}
%y = mf.barrier %x : (tensor<2x3xf32>) -> tensor<3x2xf32>

// expected-error @below {{expected 2 dimensions in perm, one per dimension, but got 1}}
%y = mf.transpose %x {perm = array<i64: 0>} : (tensor<2x3xf32>) -> tensor<3x2xf32>

// expected-error @below {{expected perm to name each dimension once}}
%y = mf.transpose %x {perm = array<i64: 1, 1>} : (tensor<2x3xf32>) -> tensor<3x3xf32>

// expected-error @below {{expected perm to name each dimension once}}
%y = mf.transpose %x {perm = array<i64: -1, 0>} : (tensor<2x3xf32>) -> tensor<3x2xf32>

// expected-error @below {{expected a result of type 'tensor<3x2xf32>', but got 'tensor<2x3xf32>'}}
%y = mf.transpose %x {perm = array<i64: 1, 0>} : (tensor<2x3xf32>) -> tensor<2x3xf32>

// expected-error @below {{reads 2 elements from 2 of dimension 1, which has 3}}
%y = mf.slice %x {starts = array<i64: 0, 2>, sizes = array<i64: 2, 2>} : (tensor<2x3xf32>) -> tensor<2x2xf32>

// Sums of starts and sizes that overflow are out of range all the same.
// expected-error @below {{reads 9223372036854775807 elements from 2 of dimension 1, which has 3}}
%y = mf.slice %x {starts = array<i64: 0, 2>, sizes = array<i64: 2, 9223372036854775807>} : (tensor<2x3xf32>) -> tensor<2x2xf32>

// expected-error @below {{expected 2 starts, one per dimension, but got 3}}
%y = mf.slice %x {starts = array<i64: 0, 0, 0>, sizes = array<i64: 2, 2>} : (tensor<2x3xf32>) -> tensor<2x2xf32>

// expected-error @below {{expected 2 sizes, one per dimension, but got 0}}
%y = mf.slice %x {starts = array<i64: 0, 0>, sizes = array<i64>} : (tensor<2x3xf32>) -> tensor<2x2xf32>

// expected-error @below {{expected no negative padding}}
%y = mf.pad %x {low = array<i64: -1, 0>, high = array<i64: 1, 0>} : (tensor<2x3xf32>) -> tensor<2x3xf32>

// expected-error @below {{expected a result of type 'tensor<3x3xf32>', but got 'tensor<2x3xf32>'}}
%y = mf.pad %x {low = array<i64: 1, 0>, high = array<i64: 0, 0>} : (tensor<2x3xf32>) -> tensor<2x3xf32>

// expected-error @below {{expected at least one input}}
%y = mf.concat {axis = 0 : i64} : () -> tensor<2x3xf32>

// expected-error @below {{expected an axis below 2, but got 2}}
%y = mf.concat %x {axis = 2 : i64} : (tensor<2x3xf32>) -> tensor<2x3xf32>

// expected-error @below {{expected inputs that differ only in dimension 1, but got 'tensor<2x3xf32>' and 'tensor<3x3xf32>'}}
%z = mf.concat %x, %y {axis = 1 : i64} : (tensor<2x3xf32>, tensor<3x3xf32>) -> tensor<2x6xf32>

// expected-error @below {{expected inputs of one rank and element type, but got 'tensor<2x3xf32>' and 'tensor<3xf32>'}}
%z = mf.concat %x, %y {axis = 0 : i64} : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<3x3xf32>

// expected-error @below {{expected an axis below 2 and at least one repeat}}
%y = mf.repeat %x {axis = 0 : i64, repeats = 0 : i64} : (tensor<2x3xf32>) -> tensor<0x3xf32>

// expected-error @below {{expected a result of type 'tensor<4x3xf32>', but got 'tensor<2x6xf32>'}}
%y = mf.repeat %x {axis = 0 : i64, repeats = 2 : i64} : (tensor<2x3xf32>) -> tensor<2x6xf32>

// expected-error @below {{expected axes below 2, but got 2}}
%y = mf.reduce_sum %x {axes = array<i64: 2>} : (tensor<2x3xf32>) -> tensor<2xf32>

// expected-error @below {{expected a result of type 'tensor<3xf32>', but got 'tensor<2xf32>'}}
%y = mf.reduce_sum %x {axes = array<i64: 0>} : (tensor<2x3xf32>) -> tensor<2xf32>

// expected-error @below {{expected an axis below 2, but got 2}}
%y = mf.split %x {axis = 2 : i64} : (tensor<2x3xf32>) -> tensor<2x3xf32>

// expected-error @below {{expected parts that differ from 'tensor<2x3xf32>' only in dimension 1, but got 'tensor<1x2xf32>'}}
%y, %z = mf.split %x {axis = 1 : i64} : (tensor<2x3xf32>) -> (tensor<2x1xf32>, tensor<1x2xf32>)

// expected-error @below {{has parts of 2 elements in dimension 1, which has 3}}
%y, %z = mf.split %x {axis = 1 : i64} : (tensor<2x3xf32>) -> (tensor<2x1xf32>, tensor<2x1xf32>)
