// RUN: %variants %s | %roundtrip -allow-unregistered-dialect -verify-diagnostics -split-input-file

module attributes {mf.mesh = #mf.mesh<pp = 1, dp = 3, mp = 2>} {
}

@ module
+ // expected-error @below {{expected axes of #mf.mesh<pp = 1, dp = 3, mp = 2>, but got "ep"}}
+ mf.all_reduce %x over ["ep"] : tensor<4x8xf32> -> tensor<4x8xf32>

@ module
+ // expected-error @below {{expected each axis once, but got "mp" twice}}
+ mf.all_gather %x over ["mp", "mp"] : tensor<4x8xf32> -> tensor<16x8xf32>

@ module
+ // expected-error @below {{expected 2 equal parts along dimension 0, but got 'tensor<16x8xf32>' and 'tensor<4x8xf32>'}}
+ mf.all_gather %x over ["mp"] : tensor<4x8xf32> -> tensor<16x8xf32>

@ module
+ // expected-error @below {{expected 2 equal parts along dimension 0, but got 'tensor<4x16xf32>' and 'tensor<4x8xf32>'}}
+ mf.all_gather %x over ["mp"] : tensor<4x8xf32> -> tensor<4x16xf32>

@ module
+ // expected-error @below {{expected 2 equal parts along dimension 0, but got 'tensor<8x8xbf16>' and 'tensor<4x8xf32>'}}
+ mf.all_gather %x over ["mp"] : tensor<4x8xf32> -> tensor<8x8xbf16>

@ module
+ // expected-error @below {{expected 3 equal parts along dimension 0, but got 'tensor<4x8xf32>' and 'tensor<2x8xf32>'}}
+ mf.reduce_scatter %x over ["dp"] : tensor<4x8xf32> -> tensor<2x8xf32>

@ module
+ // expected-error @below {{expected 6 equal parts along dimension 0}}
+ mf.reduce_scatter %x over ["dp", "mp"] : tensor<4x8xf32> -> tensor<2x8xf32>

@ module
+ // expected-error @below {{requires the same shape for all operands and results}}
+ mf.all_reduce %x over ["mp"] : tensor<4x8xf32> -> tensor<8x8xf32>

@ module
+ // expected-error @below {{expected a dimension of 'tensor<4x8xf32>', but got 2}}
+ mf.own_part %x over ["mp"] dim 2 : tensor<4x8xf32> -> tensor<4x4xf32>

@ module
+ // expected-error @below {{expected two different dimensions of 'tensor<4x8xf32>', but got 1 and 1}}
+ mf.all_to_all %x over ["mp"] split 1 concat 1 : tensor<4x8xf32> -> tensor<4x8xf32>

@ module
+ // expected-error @below {{expected dimension 0 to become 2 times smaller and dimension 1 as many times larger, but got 'tensor<4x8xf32>' and 'tensor<4x8xf32>'}}
+ mf.all_to_all %x over ["mp"] split 0 concat 1 : tensor<4x8xf32> -> tensor<4x8xf32>

// expected-error @below {{expected tensors with a layout, but got 'tensor<4x8xf32>' and 'tensor<4x8xf32>'}}
mf.reshard %x : tensor<4x8xf32> -> tensor<4x8xf32>

// expected-error @below {{expected a list of axes for each of the 2 dimensions, but got 1 in #mf.layout<[[mp]]>}}
%x = "test.value"() : () -> tensor<4x8xf32, #mf.layout<[[mp]]>>

// expected-error @below {{expected 'partial' or 'reduced', but got 'split'}}
%x = "test.value"() : () -> tensor<4xf32, #mf.layout<[[mp]], split = [dp]>>

// A scalar has no parts.
@ module
+ // expected-error @below {{expected 2 equal parts along dimension 0, but got 'tensor<2xf32>' and 'tensor<f32>'}}
+ mf.all_gather %x over ["mp"] : tensor<f32> -> tensor<2xf32>

@ module
+ // expected-error @below {{expected 2 equal parts along dimension 1, but got 'tensor<4x9xf32>' and 'tensor<4x4xf32>'}}
+ mf.own_part %x over ["mp"] dim 1 : tensor<4x9xf32> -> tensor<4x4xf32>

@ module
+ // expected-error @below {{expected a dimension of 'tensor<4x8xf32>', but got 2}}
+ mf.reduce_scatter %x over ["mp"] dim 2 : tensor<4x8xf32> -> tensor<4x4xf32>

@ module
+ // expected-error @below {{expected dimension 1 to become 2 times smaller and dimension 0 as many times larger, but got 'tensor<4x8xf32>' and 'tensor<8x8xf32>'}}
+ mf.all_to_all %x over ["mp"] split 1 concat 0 : tensor<4x8xf32> -> tensor<8x8xf32>

module {
  // expected-error @below {{is over axis "mp", but the module has no mesh; give it one, as in mf.mesh = #mf.mesh<pp = 1, mp = 2>}}
  mf.all_reduce %x over ["mp"] : tensor<4xf32> -> tensor<4xf32>
}

// expected-error @below {{expected 'pp', the pipeline stages, as first axis}}
module attributes {mf.mesh = #mf.mesh<dp = 2>} {}

// expected-error @below {{has two axes 'mp'}}
module attributes {mf.mesh = #mf.mesh<pp = 2, mp = 2, mp = 3>} {}

// expected-error @below {{expected axes of at least 1 and at most 16777216 ranks in all, but got mp = 0}}
module attributes {mf.mesh = #mf.mesh<pp = 2, mp = 0>} {}

// expected-error @below {{expected axes of at least 1 and at most 16777216 ranks in all, but got mp = 4097}}
module attributes {mf.mesh = #mf.mesh<pp = 4096, mp = 4097>} {}

// expected-error @below {{expected a mesh such as #mf.mesh<pp = 2, dp = 4> as mf.mesh, but got 2 : i64}}
module attributes {mf.mesh = 2} {}

// expected-error @below {{has a mesh; expected it on the module}}
"test.op"() {mf.mesh = #mf.mesh<pp = 1>} : () -> ()

// The ranks of a group are in the order of the mesh.
module attributes {mf.mesh = #mf.mesh<pp = 1, dp = 2, mp = 2>} {
  // expected-error @below {{expected axes in the order of #mf.mesh<pp = 1, dp = 2, mp = 2>, but got ["mp", "dp"]}}
  mf.all_gather %x over ["mp", "dp"] : tensor<4x8xf32> -> tensor<16x8xf32>
}

module attributes {mf.mesh = #mf.mesh<pp = 1, mp = 4>} {
  // expected-error @below {{expected a first dimension of 4 equal parts, but got 'tensor<6x8xf32>'}}
  mf.keep_part %x over ["mp"] : tensor<6x8xf32>
}

module attributes {mf.mesh = #mf.mesh<pp = 1, dp = 2>} {
  // expected-error @below {{expected a number of at least 0 as mf.unit, but got -1 : i64}}
  %y = mf.all_gather %x over ["dp"] {mf.unit = -1 : i64} : tensor<4x8xf32> -> tensor<8x8xf32>
}

// expected-error @below {{has a unit; expected it on a collective}}
module attributes {mf.unit = 1 : i64} {}
