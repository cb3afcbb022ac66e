// RUN: %roundtrip --pass-pipeline='builtin.module(mf.model(mf-propagate-layouts{print-plan=true}))' %s -o %t 2>&1 | FileCheck %s

// The later tokens of a sequence are on other ranks, so that this stage gets all tokens, of which the first layer takes
// its part, also in another chunk: the stage has one buffer of tokens on the host. Another stage gets the part.
module attributes {mf.mesh = #mf.mesh<pp = 2, cp = 2>} {
// CHECK-LABEL: {{^embedding$}}
// CHECK-NEXT: argument 0: {{\[\[\], \[\]\]}}
// CHECK-NEXT: reshard embedding: {{\[\[\], \[\]\] -> \[\[\], \[cp\]\]}}
// CHECK-NEXT: result: {{\[\[\], \[cp\], \[\]\]}}
// CHECK-LABEL: {{^later$}}
// CHECK-NEXT: argument 0: {{\[\[\], \[cp\], \[\]\]}}
// CHECK-NEXT: argument 1: {{\[\[\], \[\]\]}}
// CHECK-NEXT: reshard later: {{\[\[\], \[\], \[\]\] -> \[\[\], \[cp\], \[\]\]}}
// CHECK-NEXT: result: {{\[\[\], \[cp\], \[\]\]}}
// CHECK-LABEL: {{^other$}}
// CHECK-NEXT: argument 0: {{\[\[\], \[cp\], \[\]\]}}
// CHECK-NEXT: argument 1: {{\[\[\], \[cp\], \[\]\]}}
// CHECK-NEXT: argument 2: {{\[\[\], \[cp\]\]}}
mf.model @model attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  mf.param @table : tensor<16x8xf32> init <ones>
  mf.param @later_table : tensor<16x8xf32> init <ones> tied to @table
  mf.layer @embedding embedding (%tokens: tensor<1x4xi32>) -> tensor<1x4x8xf32> attributes {placement = #mf.placement<stage = 0, chunk = 0>} {
    %table = mf.get_param @table : tensor<16x8xf32>
    %x = mf.embedding %table, %tokens {name = "gather"} : (tensor<16x8xf32>, tensor<1x4xi32>) -> tensor<1x4x8xf32>
    mf.return %x : tensor<1x4x8xf32>
  }
  mf.layer @later embedding (%x: tensor<1x4x8xf32>, %tokens: tensor<1x4xi32>) -> (tensor<1x4x8xf32>, tensor<1x4x8xf32>) attributes {placement = #mf.placement<stage = 0, chunk = 1>} {
    %table = mf.get_param @later_table : tensor<16x8xf32>
    %later = mf.slice %tokens {starts = array<i64: 0, 1>, sizes = array<i64: 1, 3>, name = "shift_slice"} : (tensor<1x4xi32>) -> tensor<1x3xi32>
    %shifted = mf.pad %later {low = array<i64: 0, 0>, high = array<i64: 0, 1>, name = "shift_pad"} : (tensor<1x3xi32>) -> tensor<1x4xi32>
    %y = mf.embedding %table, %shifted {name = "gather"} : (tensor<16x8xf32>, tensor<1x4xi32>) -> tensor<1x4x8xf32>
    mf.return %x, %y : tensor<1x4x8xf32>, tensor<1x4x8xf32>
  }
  mf.layer @other embedding (%x: tensor<1x4x8xf32>, %y: tensor<1x4x8xf32>, %tokens: tensor<1x4xi32>) -> (tensor<1x4x8xf32>, tensor<1x4x8xf32>, tensor<1x4x8xf32>) attributes {placement = #mf.placement<stage = 1, chunk = 0>} {
    %table = mf.get_param @table : tensor<16x8xf32>
    %z = mf.embedding %table, %tokens {name = "gather"} : (tensor<16x8xf32>, tensor<1x4xi32>) -> tensor<1x4x8xf32>
    mf.return %x, %y, %z : tensor<1x4x8xf32>, tensor<1x4x8xf32>, tensor<1x4x8xf32>
  }
}
}
