// A forgotten copy is a type error; so is a copy of another type.
// RUN: %variants %s | %roundtrip -verify-diagnostics -split-input-file

mf.model @m attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  mf.backward @b (%dy: tensor<4xf32>, %h: !mf.host<tensor<4xf32>>) -> tensor<4xf32>
      attributes {placement = #mf.placement<stage = 0, chunk = 0>, forward_arguments = [], gradients = []} {
    // expected-error @below {{operand #1 must be}}
    %dx = "mf.mul"(%dy, %h) : (tensor<4xf32>, !mf.host<tensor<4xf32>>) -> tensor<4xf32>
    mf.return %dx : tensor<4xf32>
  }
}

= mf.backward @b (%dy: tensor<4xf32>, %h: !mf.host<tensor<4xf32>>) -> tensor<4xbf16>
+ // expected-note @above {{prior use here}}
= // expected-error @below {{use of value '%h' expects different type than prior uses: '!mf.host<tensor<4xbf16>>' vs '!mf.host<tensor<4xf32>>'}}
- %dx
+ %y = mf.prefetch %h {distance = 1 : i64} : tensor<4xbf16>
= mf.return %y : tensor<4xbf16>

= // expected-error @below {{expected a distance from 1 to 2147483647 kernels, but got -1}}
- %dx
+ %y = mf.prefetch %h {distance = -1 : i64} : tensor<4xf32>
= mf.return %y : tensor<4xf32>

// The mark of an operator to swap is a distance.
mf.model @m attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  mf.chunk @distance (%x: tensor<4xf32>) -> tensor<4xf32>
      attributes {placement = #mf.placement<stage = 0, chunk = 0>, inputs = [], input_indices = [], gradients = []} {
    // expected-error @below {{expected a distance from 1 to 2147483647 kernels, but got 0}}
    %y = mf.silu %x {name = "silu", swap = #mf.swap<distance = 0>} : (tensor<4xf32>) -> tensor<4xf32>
    %dy = mf.cut %y : tensor<4xf32>
    mf.return %dy : tensor<4xf32>
  }
}

^
= mf.chunk @type (%x: tensor<4xf32>) -> tensor<4xf32>
= // expected-error @below {{attribute 'swap' failed to satisfy constraint: swap mark of one operator}}
= %y = mf.silu %x {name = "silu", swap = true} : (tensor<4xf32>) -> tensor<4xf32>

^
= mf.chunk @unknown (%x: tensor<4xf32>) -> tensor<4xf32>
= // expected-error @below {{has the unknown attribute "mf.swapped"}}
= %y = mf.silu %x {name = "silu", mf.swapped = 1 : i64} : (tensor<4xf32>) -> tensor<4xf32>
