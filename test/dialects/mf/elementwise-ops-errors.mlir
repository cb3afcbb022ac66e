// RUN: %variants %s | %roundtrip -allow-unregistered-dialect -verify-diagnostics -split-input-file

// Operands of one element type.
// expected-error @below {{expected operands of one element type, but got 'tensor<2x4xf32>' and 'tensor<2x4xbf16>'}}
%z = mf.add %x, %y : (tensor<2x4xf32>, tensor<2x4xbf16>) -> tensor<2x4xf32>

// The right operand is repeated over leading dimensions, not trailing ones.
// expected-error @below {{expected the right operand to have the trailing dimensions of the left, but got 'tensor<2x4xf32>' and 'tensor<2xf32>'}}
%z = mf.mul %x, %y : (tensor<2x4xf32>, tensor<2xf32>) -> tensor<2x4xf32>

// The right operand has no more dimensions than the left.
// expected-error @below {{expected the right operand to have the trailing dimensions of the left}}
%z = mf.add %x, %y : (tensor<4xf32>, tensor<2x4xf32>) -> tensor<4xf32>

// The result is of the left operand's type.
// expected-error @below {{failed to verify that all of {lhs, result} have same type}}
%z = mf.add %x, %y : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<4xf32>

// A cast keeps the shape.
// expected-error @below {{requires the same shape for all operands and results}}
%z = mf.cast %x : (tensor<2x4xf32>) -> tensor<4x2xbf16>

// Integers are no numbers to compute with.
// expected-error @below {{operand #0 must be statically shaped tensor of at most 2^48 bytes of 32-bit float or bfloat16 type or 16-bit float values, but got 'tensor<2x4xi32>'}}
%z = mf.neg %x : (tensor<2x4xi32>) -> tensor<2x4xi32>

// Shapes are known.
// expected-error @below {{operand #0 must be}}
%z = mf.silu %x : (tensor<?x4xf32>) -> tensor<?x4xf32>

// A tensor in host memory is of another type; only mf.prefetch reads it.
// expected-error @below {{operand #0 must be statically shaped tensor}}
%z = "mf.neg"(%x) : (!mf.host<tensor<4xf32>>) -> tensor<4xf32>

// A constant is needed.
// expected-error @below {{requires attribute 'value'}}
%z = mf.scale %x : (tensor<4xf32>) -> tensor<4xf32>

// expected-error @below {{expected ::mf::ir::RecomputeKind to be one of: full, select, preset, excluded}}
// expected-error @below {{failed to parse Mf_RecomputeAttr parameter}}
%z = mf.neg %x {recompute = #mf.recompute<always>} : (tensor<4xf32>) -> tensor<4xf32>

// Sizes that no memory has are refused before anything computes with them.
// expected-error @below {{operand #0 must be statically shaped tensor of at most 2^48 bytes of 32-bit float or bfloat16 type or 16-bit float values}}
%z = mf.neg %x : (tensor<4611686018427387904x4xf32>) -> tensor<4611686018427387904x4xf32>

// The product of these extents is 2^64, which is 0 in 64 bits.
// expected-error @below {{operand #0 must be statically shaped tensor of at most 2^48 bytes}}
%z = mf.neg %x : (tensor<4294967296x4294967296xf32>) -> tensor<4294967296x4294967296xf32>
