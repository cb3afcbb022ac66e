// RUN: %variants %s | %roundtrip --pass-pipeline='builtin.module(mf.model(mf-lower-reshards))' -verify-diagnostics -split-input-file

// A sum is missing.
#partial = #mf.layout<[[], [], []], partial = [mp]>
module attributes {mf.mesh = #mf.mesh<pp = 1, mp = 2>} {
mf.model @m attributes {micro_batch_size = 2 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  mf.layer @layer body (%x: tensor<2x4x8xf32, #partial>) -> tensor<2x4x8xf32, #partial> {
    // expected-error @below {{takes a value that is partial over mp, but is not linear in it; expected the sum}}
    %y = mf.silu %x : (tensor<2x4x8xf32, #partial>) -> tensor<2x4x8xf32, #partial>
    mf.return %y : tensor<2x4x8xf32, #partial>
  }
}
}

= %y = mf.mul %x, %x : (tensor<2x4x8xf32, #partial>, tensor<2x4x8xf32, #partial>) -> tensor<2x4x8xf32, #partial>

// expected-error @below {{has axis "mp" twice; expected it to cut one dimension, or to be partial, or reduced}}
#twice = #mf.layout<[[mp], [mp]]>

- #partial
+ #whole = #mf.layout<[[], [], []]>
= mf.layer @layer body (%x: tensor<2x4x8xf32, #whole>) -> tensor<2x4x8xf32, #whole> {
= // expected-error @below {{sums over axis 'mp', over which its operand is not partial: #mf.layout<[[], [], []]>}}
= %y = mf.all_reduce %x over ["mp"] : tensor<2x4x8xf32, #whole> -> tensor<2x4x8xf32, #whole>
= mf.return %y : tensor<2x4x8xf32, #whole>

// The mirror is missing: the gradient of %x is a part of it on each rank.
- #partial
+ #whole = #mf.layout<[[], [], []]>
+ #last = #mf.layout<[[], [], [mp]]>
@ mf.model
+ mf.param @w : tensor<8x8xf32> init <ones>
= mf.layer @layer body (%x: tensor<2x4x8xf32, #whole>) -> tensor<2x4x8xf32, #last> {
+ %w = mf.get_param @w : tensor<8x8xf32, #mf.layout<[[mp], []]>>
= // expected-error @below {{expected operand 0 to be reduced over 'mp', as its gradient will be partial, but got #mf.layout<[[], [], []]>}}
= %y = mf.matmul %x, %w {transpose_b = true} : (tensor<2x4x8xf32, #whole>, tensor<8x8xf32, #mf.layout<[[mp], []]>>) -> tensor<2x4x8xf32, #last>
= mf.return %y : tensor<2x4x8xf32, #last>

// A rank cannot take a part of what makes a part of the gradient.
- #partial
+ #reduced = #mf.layout<[[], [], []], reduced = [mp]>
+ #last = #mf.layout<[[], [], [mp]]>
= mf.layer @layer body (%x: tensor<2x4x8xf32, #reduced>) -> tensor<2x4x8xf32, #last> {
= // expected-error @below {{expected layouts of which one collective makes the second of the first}}
= %y = mf.reshard %x : tensor<2x4x8xf32, #reduced> -> tensor<2x4x8xf32, #last>
= mf.return %y : tensor<2x4x8xf32, #last>

// Of what mp cuts outside of dp, ranks in the mesh's order have parts in another one.
- #partial
+ #cut = #mf.layout<[[mp, dp], [], []]>
+ #whole = #mf.layout<[[], [], []]>
= module attributes {mf.mesh = #mf.mesh<pp = 1, dp = 2, mp = 2>} {
= mf.model @m attributes {micro_batch_size = 4 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
= mf.layer @layer body (%x: tensor<4x4x8xf32, #cut>) -> tensor<4x4x8xf32, #whole> {
= // expected-error @below {{is over mp and dp, whose parts are not in the order of #mf.mesh<pp = 1, dp = 2, mp = 2>}}
= %y = mf.reshard %x : tensor<4x4x8xf32, #cut> -> tensor<4x4x8xf32, #whole>
= mf.return %y : tensor<4x4x8xf32, #whole>

// Each rank would have a part of the gradient of a loss that all have.
- #partial
+ #scalar = #mf.layout<[], reduced = [mp]>
= mf.model @m attributes {micro_batch_size = 4 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
= mf.layer @layer head (%x: tensor<4xf32, #mf.layout<[[]], reduced = [mp]>>) -> tensor<f32, #scalar> {
+ %y = mf.reduce_sum %x {axes = array<i64: 0>} : (tensor<4xf32, #mf.layout<[[]], reduced = [mp]>>) -> tensor<f32, #scalar>
= // expected-error @below {{expected a loss that is the same on all ranks, and has the same gradient, but got #mf.layout<[], reduced = [mp]>}}
- %y
= mf.return %y : tensor<f32, #scalar>

#own = #mf.layout<[[mp]]>
#tokens = #mf.layout<[[]]>
module attributes {mf.mesh = #mf.mesh<pp = 1, mp = 2>} {
mf.model @m attributes {micro_batch_size = 3 : i64, sequence_length = 2 : i64, vocab_size = 16 : i64} {
  mf.layer @layer head (%x: tensor<6x8xf32, #mf.layout<[[], []]>>, %labels: tensor<6xi32, #own>) -> tensor<f32, #mf.layout<[]>> {
    // expected-error @below {{is an all_gather of integers, of which a rank can only take its own part}}
    %all = mf.reshard %labels : tensor<6xi32, #own> -> tensor<6xi32, #tokens>
    %loss, %logsumexp, %count = mf.cross_entropy %x, %all {name = "loss"} : (tensor<6x8xf32, #mf.layout<[[], []]>>, tensor<6xi32, #tokens>) -> (tensor<f32, #mf.layout<[]>>, tensor<6xf32, #tokens>, tensor<f32, #mf.layout<[]>>)
    mf.return %loss : tensor<f32, #mf.layout<[]>>
  }
}
}
