// RUN: %roundtrip --pass-pipeline='builtin.module(mf.model(mf-localize))' -verify-diagnostics -split-input-file %s

#rows = #mf.layout<[[], [mp]]>
#whole = #mf.layout<[[], []]>
module attributes {mf.mesh = #mf.mesh<pp = 1, mp = 2>} {
mf.model @m attributes {micro_batch_size = 2 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  mf.layer @layer body (%x: tensor<2x4xf32, #rows>) -> tensor<2x4xf32, #whole> {
    // expected-error @below {{is left; run mf-lower-reshards first}}
    %y = mf.reshard %x : tensor<2x4xf32, #rows> -> tensor<2x4xf32, #whole>
    mf.return %y : tensor<2x4xf32, #whole>
  }
}
}

// -----

#rows = #mf.layout<[[], [mp]]>
module attributes {mf.mesh = #mf.mesh<pp = 1, mp = 3>} {
mf.model @m attributes {micro_batch_size = 2 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  // expected-error @below {{expected dimensions that divide over their axes of #mf.mesh<pp = 1, mp = 3>, but got 'tensor<2x4xf32, #mf.layout<[[], [mp]]>>'}}
  mf.layer @layer body (%x: tensor<2x4xf32, #rows>) -> tensor<2x4xf32, #rows> {
    mf.return %x : tensor<2x4xf32, #rows>
  }
}
}

// -----

// Two readers that want a parameter differently.
#rows = #mf.layout<[[mp], []]>
#columns = #mf.layout<[[], [mp]]>
module attributes {mf.mesh = #mf.mesh<pp = 1, mp = 2>} {
mf.model @m attributes {micro_batch_size = 2 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  mf.param @w : tensor<8x8xf32> init <ones>
  mf.layer @layer body (%x: tensor<8x8xf32, #rows>) -> tensor<8x8xf32, #rows> {
    %a = mf.get_param @w : tensor<8x8xf32, #rows>
    // expected-error @below {{reads 'w' as #mf.layout<[[], [mp]]>, but another reads it as #mf.layout<[[mp], []]>}}
    %b = mf.get_param @w : tensor<8x8xf32, #columns>
    mf.return %x : tensor<8x8xf32, #rows>
  }
}
}
