// RUN: %variants %s | %roundtrip -allow-unregistered-dialect -verify-diagnostics -split-input-file

// expected-error @below {{expected k from 1 to 8, but got 9}}
%v, %i = mf.top_k %x {k = 9 : i64} : (tensor<3x8xf32>) -> (tensor<3x9xf32>, tensor<3x9xi32>)

// expected-error @below {{expected at least one dimension, but got 'tensor<f32>'}}
%v, %i = mf.top_k %x {k = 1 : i64} : (tensor<f32>) -> (tensor<f32>, tensor<i32>)

// expected-error @below {{expected a result of type 'tensor<3x2xf32>', but got 'tensor<3x3xf32>'}}
%v, %i = mf.top_k %x {k = 2 : i64} : (tensor<3x8xf32>) -> (tensor<3x3xf32>, tensor<3x2xi32>)

// expected-error @below {{expected indices that differ from the input only in the last dimension, but got 'tensor<2x2xi32>' for 'tensor<3x8xf32>'}}
%y = mf.gather_elements %x, %i : (tensor<3x8xf32>, tensor<2x2xi32>) -> tensor<2x2xf32>

// expected-error @below {{expected the dimensions of the indices and one more, but got 'tensor<2x8xf32>' for 'tensor<2x2xi32>'}}
%y = mf.one_hot %i : (tensor<2x2xi32>) -> tensor<2x8xf32>

// expected-error @below {{expected an axis below 2, but got 2}}
%y = mf.cumsum %x {axis = 2 : i64} : (tensor<2x2xf32>) -> tensor<2x2xf32>

// expected-error @below {{expected a result of type 'tensor<2x2xi32>', but got 'tensor<4xi32>'}}
%v, %i = mf.sort %x : (tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<4xi32>)

// expected-error @below {{expected experts [rows, tokens, k] and dispatch [rows, experts, capacity], but got 'tensor<2x3x2xi32>' and 'tensor<3x8x4xi32>'}}
%d, %c = mf.top_k_router %i {k_major = true} : (tensor<2x3x2xi32>) -> (tensor<3x8x4xi32>, tensor<2x3x2xi32>)

// expected-error @below {{expected a bias of one dimension in f32, but got 'tensor<2x8xf32>'}}
%y = mf.track_load %x, %b, %i {choices = 6 : i64} : (tensor<3x2xf32>, tensor<2x8xf32>, tensor<3x2xi32>) -> tensor<3x2xf32>

// expected-error @below {{expected a positive number of choices}}
%y = mf.track_load %x, %b, %i {choices = 0 : i64} : (tensor<3x2xf32>, tensor<8xf32>, tensor<3x2xi32>) -> tensor<3x2xf32>

// expected-error @below {{expected as many rows of the value as of the input, but got 'tensor<2x8xf32>' for 'tensor<3x2xf32>'}}
%y = mf.record %x, %s, %s : (tensor<3x2xf32>, tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<3x2xf32>

// expected-error @below {{expected the right operand to have the trailing dimensions of the left, but got 'tensor<3x8xf32>' and 'tensor<3x2xf32>'}}
%z = mf.at_least %x, %y : (tensor<3x8xf32>, tensor<3x2xf32>) -> tensor<3x8xf32>
