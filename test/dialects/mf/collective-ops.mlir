// RUN: %variants %s | %prints-itself %roundtrip

// Axes are those of the module's mesh.
module attributes {mf.mesh = #mf.mesh<pp = 2, dp = 3, mp = 2>} {
  %sum = mf.all_reduce %x over ["mp"] {name = "attention.wo.matmul"} : tensor<12x8xbf16> -> tensor<12x8xbf16>
  %all = mf.all_gather %x over ["mp"] : tensor<12x8xbf16> -> tensor<24x8xbf16>
  %part = mf.reduce_scatter %x over ["mp"] : tensor<12x8xbf16> -> tensor<6x8xbf16>
  // Several axes make one group of their product.
  %small = mf.reduce_scatter %x over ["dp", "mp"] : tensor<12x8xbf16> -> tensor<2x8xbf16>
  // An axis of one rank, and none.
  %same = mf.all_reduce %x over [] : tensor<12x8xbf16> -> tensor<12x8xbf16>
}

// Without a mesh there are stages alone.
module {
  %sum = mf.all_reduce %x over ["pp"] : tensor<4xf32> -> tensor<4xf32>
}

// With two ranks, as the descriptions show them.
module attributes {mf.mesh = #mf.mesh<pp = 1, mp = 2>} {
  %sum = mf.all_reduce %x over ["mp"] {name = "attention.wo.matmul"} : tensor<4x8xf32> -> tensor<4x8xf32>
  %all = mf.all_gather %x over ["mp"] {name = "feed_forward.w1.matmul"} : tensor<4x8xf32> -> tensor<8x8xf32>
  %part = mf.reduce_scatter %h over ["mp"] {name = "feed_forward.w2.matmul"} : tensor<8x8xf32> -> tensor<4x8xf32>
  %mirror = mf.mirror %x over ["mp"] {name = "attention.wq.matmul"} : tensor<4x8xf32> -> tensor<4x8xf32>
  %wide = mf.mirror %narrow over ["mp"] {wide_gradient} : tensor<12x8xbf16> -> tensor<12x8xbf16>
  %own = mf.own_part %x over ["mp"] {name = "tok_embeddings.reshape"} : tensor<4x8xf32> -> tensor<2x8xf32>
  %kept = mf.keep_part %rows over ["mp"] {name = "input", recompute = #mf.recompute<full>} : tensor<8x4xf32>
  %gathered = mf.all_gather %x over ["mp"] dim 1 replicated : tensor<4x8xf32> -> tensor<4x16xf32>
  %exchanged = mf.all_to_all %x over ["mp"] split 1 concat 0 {name = "attention.flash_attention"} : tensor<4x8xf32> -> tensor<8x4xf32>
  %cut = mf.reshard %parts {name = "attention.wo.matmul"} : tensor<1x4x8xf32, #mf.layout<[[], [], []], partial = [mp]>> -> tensor<1x4x8xf32, #mf.layout<[[], [mp], []]>>
}

// Along other dimensions than the first.
module attributes {mf.mesh = #mf.mesh<pp = 1, cp = 2, mp = 2>} {
  %moved = mf.all_to_all %x over ["cp"] split 1 concat 0 {name = "attention.flash_attention"} : tensor<4x8xf32> -> tensor<8x4xf32>
  %all = mf.all_gather %x over ["mp"] dim 1 replicated : tensor<4x8xf32> -> tensor<4x16xf32>
  %part = mf.reduce_scatter %x over ["mp"] dim 1 : tensor<4x8xf32> -> tensor<4x4xf32>
}
