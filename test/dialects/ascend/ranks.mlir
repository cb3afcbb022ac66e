// Groups, peers and slices are named by the mesh's axes.
// RUN: %variants %s | %prints-itself %roundtrip

module attributes {mf.mesh = #mf.mesh<pp = 2, dp = 2, cp = 4, mp = 2>} {
  ascend.program @p stage 0 attributes {ignore_index = -100 : i64, micro_batch_size = 1 : i64, micro_batches = 1 : i64, pad_token_id = -1 : i64, sequence_length = 8 : i64, vocab_size = 16 : i64} {
    ascend.stream @compute compute
    ascend.stream @mp communication
    ascend.static @w parameter of "w" : !ascend.buffer<4x8xf32, hbm> slice <[8, 8] over [[mp], []]>
    ascend.static @v first_moment of "w" : !ascend.buffer<4x8xf32, hbm> slice <[16, 32] over [[dp, mp], [cp]]> at 512
    ascend.step {
      %w = ascend.global @w : <4x8xf32, hbm>
      %v = ascend.global @v : <4x8xf32, hbm>
      %all = ascend.message : <8x8xf32, hbm>
      %ready = ascend.record @compute
      %done = ascend.collective all_gather %w to %all over <mp> channel "mp" cell "layers.0.w1.matmul" on @mp after %ready : <4x8xf32, hbm> to <8x8xf32, hbm> -> !ascend.event
      ascend.collective reduce_scatter %all to %w over <mp> channel "mp" on @mp after %done, %ready : <8x8xf32, hbm> to <4x8xf32, hbm>
      ascend.collective all_reduce %w to %w over <dp, mp> channel "dp.mp" on @mp {reduction = #ascend<reduction max>} : <4x8xf32, hbm> to <4x8xf32, hbm>
      ascend.collective all_to_all %w to %v over <cp> channel "cp" on @mp : <4x8xf32, hbm> to <4x8xf32, hbm>
      %rows = ascend.message : <1x6x8xf32, hbm>
      %mine = ascend.message : <1x12x8xf32, hbm>
      %to = ascend.message : <4x3xf32, hbm>
      %from = ascend.message : <4x3xf32, hbm>
      %exchanged = ascend.collective all_to_all_v %rows to %mine counts %to, %from over <cp> channel "cp" cell "layers.1.experts.dispatch" on @mp after %ready {fill = -1.000000e+00 : f64} : <1x6x8xf32, hbm> to <1x12x8xf32, hbm> counts !ascend.buffer<4x3xf32, hbm>, !ascend.buffer<4x3xf32, hbm> -> !ascend.event
      ascend.collective all_to_all_v %mine to %rows counts %from, %to over <cp> channel "cp" on @mp : <1x12x8xf32, hbm> to <1x6x8xf32, hbm> counts !ascend.buffer<4x3xf32, hbm>, !ascend.buffer<4x3xf32, hbm>
      ascend.collective broadcast %w to %w over <dp, pp stages [1, 0]> channel "tied" on @mp : <4x8xf32, hbm> to <4x8xf32, hbm>
      ascend.send %w to <pp = 1> channel "a" on @mp : <4x8xf32, hbm>
      ascend.send %w to <cp + 1> channel "ring" on @mp : <4x8xf32, hbm>
      ascend.receive %v from <cp - 1> channel "ring" on @mp : <4x8xf32, hbm>
    }
  }
}
