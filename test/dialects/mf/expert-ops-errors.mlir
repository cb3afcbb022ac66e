// RUN: %variants %s | %roundtrip -allow-unregistered-dialect -verify-diagnostics -split-input-file

// expected-error @below {{expected rows [..., rows, width] and places [..., places] of the same leading dimensions, but got 'tensor<2x3x4xf32>' and 'tensor<3x6xi32>'}}
%y = mf.gather_rows %x, %i : (tensor<2x3x4xf32>, tensor<3x6xi32>) -> tensor<3x6x4xf32>

// expected-error @below {{expected one place for each row, but got 'tensor<2x2xf32>' for 'tensor<2x3x4xf32>'}}
%y, %p = mf.token_permute %x, %k : (tensor<2x3x4xf32>, tensor<2x2xf32>) -> (tensor<2x3x4xf32>, tensor<2x2xi32>)

// expected-error @below {{expected one place for each row, but got 'tensor<2x2xi32>' for 'tensor<2x3x4xf32>'}}
%y = mf.token_unpermute %x, %p : (tensor<2x3x4xf32>, tensor<2x2xi32>) -> tensor<2x3x4xf32>

// expected-error @below {{expected a weight of each of the 3 experts of 1 ranks that takes 4 elements of 'f32', but got 'tensor<1x3x5x8xf32>'}}
%y = mf.expert_matmul %x, %w, %c : (tensor<2x1x6x4xf32>, tensor<1x3x5x8xf32>, tensor<2x1x3xf32>) -> tensor<2x1x6x8xf32>

// expected-error @below {{expected rows [groups, ranks, rows, width] and counts [groups, ranks, experts] in f32, but got 'tensor<2x1x6x4xf32>' and 'tensor<2x1x3xbf16>'}}
%y = mf.grouped_matmul %x, %w, %c : (tensor<2x1x6x4xf32>, tensor<1x3x4x8xf32>, tensor<2x1x3xbf16>) -> tensor<2x1x6x8xf32>

// expected-error @below {{expected as many rows of one element type, but got 'tensor<2x1x6x4xf32>' and 'tensor<2x1x5x8xf32>'}}
%y = mf.expert_matmul_weight_grad %x, %g, %c : (tensor<2x1x6x4xf32>, tensor<2x1x5x8xf32>, tensor<2x1x3xf32>) -> tensor<1x3x4x8xf32>

// expected-error @below {{expected counts from each rank to each, but got 'tensor<1x2x3x3xf32>'}}
%y = mf.exchange_tokens %x, %s, %s : (tensor<1x2x6x4xf32>, tensor<1x2x3x3xf32>, tensor<1x2x3x3xf32>) -> tensor<1x2x9x4xf32>

module attributes {mf.mesh = #mf.mesh<pp = 1, dp = 2, mp = 2>} {
// expected-error @below {{expected this rank's rows [1, 1, rows, width] and counts for 4 ranks, but got 'tensor<1x2x6x4xf32>' and 'tensor<1x2x2x3xf32>'}}
%y = mf.exchange_tokens %x, %s, %s {axes = ["dp", "mp"]} : (tensor<1x2x6x4xf32>, tensor<1x2x2x3xf32>, tensor<1x2x2x3xf32>) -> tensor<1x2x9x4xf32>
}

// expected-error @below {{expected gate and up projection as the two rows of the last two dimensions, but got 'tensor<3x3x8xf32>'}}
%y = mf.swiglu %x : (tensor<3x3x8xf32>) -> tensor<3x8xf32>

// expected-error @below {{expected tables of 'bf16' or f32, but got 'tensor<8xf16>'}}
%y = mf.rotary_position_embedding %x, %t, %t : (tensor<3x8xbf16>, tensor<8xf16>, tensor<8xf16>) -> tensor<3x8xbf16>

%x = "test.value"() : () -> tensor<3x8xf32>
%t = "test.value"() : () -> tensor<3xf32>
// expected-error @below {{expected tables of the trailing dimensions of the input, the last of them even and at most as large, but got 'tensor<3xf32>' for 'tensor<3x8xf32>'}}
%y = mf.rotary_position_embedding %x, %t, %t : (tensor<3x8xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<3x8xf32>

%x = "test.value"() : () -> tensor<3x8xf32>
%t = "test.value"() : () -> tensor<2x4xf32>
// expected-error @below {{expected tables of the trailing dimensions of the input, the last of them even and at most as large, but got 'tensor<2x4xf32>' for 'tensor<3x8xf32>'}}
%y = mf.rotary_position_embedding %x, %t, %t : (tensor<3x8xf32>, tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<3x8xf32>

%x = "test.value"() : () -> tensor<3x8xf32>
%t = "test.value"() : () -> tensor<4xf32>
// expected-error @below {{expected a start from 0 to 4, which leaves room for 4 of 8 elements, but got 5}}
%y = mf.rotary_position_embedding %x, %t, %t {interleaved = true, start = 5 : i64} : (tensor<3x8xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<3x8xf32>
