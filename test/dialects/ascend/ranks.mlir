// Groups, peers and slices are named by the mesh's axes.
// RUN: %roundtrip %s | %roundtrip | FileCheck %s
// RUN: %roundtrip -mlir-print-op-generic %s | %roundtrip | FileCheck %s

module attributes {mf.mesh = #mf.mesh<pp = 2, dp = 2, cp = 4, mp = 2>} {
ascend.program @p stage 0 attributes {micro_batches = 1 : i64, micro_batch_size = 1 : i64, sequence_length = 8 : i64, vocab_size = 16 : i64, pad_token_id = -1 : i64, ignore_index = -100 : i64} {
  ascend.stream @compute compute
  ascend.stream @mp communication
  // CHECK: ascend.static @w parameter of "w" : !ascend.buffer<4x8xf32, hbm> slice <[8, 8] over {{\[\[mp\], \[\]\]>}}
  ascend.static @w parameter of "w" : !ascend.buffer<4x8xf32, hbm> slice #ascend.slice<[8, 8] over [[mp], []]>
  // CHECK: ascend.static @v first_moment of "w" : !ascend.buffer<4x8xf32, hbm> slice <[16, 32] over {{\[\[dp, mp\], \[cp\]\]>}} at 512
  ascend.static @v first_moment of "w" : !ascend.buffer<4x8xf32, hbm> slice #ascend.slice<[16, 32] over [[dp, mp], [cp]]> at 512
  ascend.step {
    %w = ascend.global @w : !ascend.buffer<4x8xf32, hbm>
    %v = ascend.global @v : !ascend.buffer<4x8xf32, hbm>
    %all = ascend.message : !ascend.buffer<8x8xf32, hbm>
    // CHECK: %[[READY:.*]] = ascend.record @compute
    %ready = ascend.record @compute
    // CHECK: %[[DONE:.*]] = ascend.collective all_gather %{{.*}} to %{{.*}} over <mp> channel "mp" cell "layers.0.w1.matmul" on @mp after %[[READY]] : <4x8xf32, hbm> to <8x8xf32, hbm> -> !ascend.event
    %done = ascend.collective all_gather %w to %all over <mp> channel "mp" cell "layers.0.w1.matmul" on @mp after %ready : !ascend.buffer<4x8xf32, hbm> to !ascend.buffer<8x8xf32, hbm> -> !ascend.event
    // CHECK: ascend.collective reduce_scatter %{{.*}} to %{{.*}} over <mp> channel "mp" on @mp after %[[DONE]], %[[READY]] :
    ascend.collective reduce_scatter %all to %w over <mp> channel "mp" on @mp after %done, %ready : !ascend.buffer<8x8xf32, hbm> to !ascend.buffer<4x8xf32, hbm>
    // CHECK: ascend.collective all_reduce %{{.*}} to %{{.*}} over <dp, mp> channel "dp.mp" on @mp {reduction = #ascend<reduction max>} :
    ascend.collective all_reduce %w to %w over <dp, mp> channel "dp.mp" on @mp {reduction = #ascend<reduction max>} : !ascend.buffer<4x8xf32, hbm> to !ascend.buffer<4x8xf32, hbm>
    // CHECK: ascend.collective all_to_all %{{.*}} to %{{.*}} over <cp> channel "cp" on @mp :
    ascend.collective all_to_all %w to %v over <cp> channel "cp" on @mp : !ascend.buffer<4x8xf32, hbm> to !ascend.buffer<4x8xf32, hbm>
    %rows = ascend.message : !ascend.buffer<1x6x8xf32, hbm>
    %mine = ascend.message : !ascend.buffer<1x12x8xf32, hbm>
    %to = ascend.message : !ascend.buffer<4x3xf32, hbm>
    %from = ascend.message : !ascend.buffer<4x3xf32, hbm>
    // CHECK: ascend.collective all_to_all_v %{{.*}} to %{{.*}} counts %[[TO:.*]], %[[FROM:.*]] over <cp> channel "cp" cell "layers.1.experts.dispatch" on @mp after %[[READY]] {fill = -1.000000e+00 : f64} : <1x6x8xf32, hbm> to <1x12x8xf32, hbm> counts !ascend.buffer<4x3xf32, hbm>, !ascend.buffer<4x3xf32, hbm> -> !ascend.event
    %exchanged = ascend.collective all_to_all_v %rows to %mine counts %to, %from over <cp> channel "cp" cell "layers.1.experts.dispatch" on @mp after %ready {fill = -1.000000e+00 : f64} : !ascend.buffer<1x6x8xf32, hbm> to !ascend.buffer<1x12x8xf32, hbm> counts !ascend.buffer<4x3xf32, hbm>, !ascend.buffer<4x3xf32, hbm> -> !ascend.event
    // CHECK: ascend.collective all_to_all_v %{{.*}} to %{{.*}} counts %[[FROM]], %[[TO]] over <cp> channel "cp" on @mp : <1x12x8xf32, hbm> to <1x6x8xf32, hbm> counts !ascend.buffer<4x3xf32, hbm>, !ascend.buffer<4x3xf32, hbm>
    ascend.collective all_to_all_v %mine to %rows counts %from, %to over <cp> channel "cp" on @mp : !ascend.buffer<1x12x8xf32, hbm> to !ascend.buffer<1x6x8xf32, hbm> counts !ascend.buffer<4x3xf32, hbm>, !ascend.buffer<4x3xf32, hbm>
    // CHECK: ascend.collective broadcast %{{.*}} to %{{.*}} over <dp, pp stages [1, 0]> channel "tied" on @mp :
    ascend.collective broadcast %w to %w over <dp, pp stages [1, 0]> channel "tied" on @mp : !ascend.buffer<4x8xf32, hbm> to !ascend.buffer<4x8xf32, hbm>
    // CHECK: ascend.send %{{.*}} to <pp = 1> channel "a" on @mp
    ascend.send %w to <pp = 1> channel "a" on @mp : !ascend.buffer<4x8xf32, hbm>
    // CHECK: ascend.send %{{.*}} to <cp + 1> channel "ring" on @mp
    ascend.send %w to <cp + 1> channel "ring" on @mp : !ascend.buffer<4x8xf32, hbm>
    // CHECK: ascend.receive %{{.*}} from <cp - 1> channel "ring" on @mp
    ascend.receive %v from <cp - 1> channel "ring" on @mp : !ascend.buffer<4x8xf32, hbm>
  }
}
}
