// What runs again, what is kept and what is swapped of the collectives that sharding has put between operators.
// EACH: nothing comm count full list kept exclude reader absent absent_exclude first sum selected selected_kept cell swap conflict
// RUN: rm -rf %t && split-file %s %t && cat %t/ranks.yaml %t/%each.yaml > %t/config.yaml
// RUN: %roundtrip --pass-pipeline='builtin.module(mf-read-config{file=%t/config.yaml},mf.model(mf-partition,mf-mark-memory))' --remarks-filter-analyse=recompute %t/model.mlir 2>&1 | FileCheck %t/%each.yaml

//--- ranks.yaml
parallel_config: {model_parallel: 2}
//--- nothing.yaml
# Nothing is said of them.
# CHECK: mf.all_gather {{.*}} {name = "wq.matmul"}
# CHECK: mf.mul {{.*}} {name = "mul", recompute = #mf.recompute<select>}
# CHECK: mf.reduce_scatter {{.*}} {name = "wo.matmul"}
recompute_config: {select_recompute: ['mul']}
//--- comm.yaml
# By default the norm is named. The gather behind it follows, through the cast; a sum has nothing to follow.
# CHECK: mf.all_gather {{.*}} {name = "wq.matmul", recompute = #mf.recompute<select>}
# CHECK: mf.reduce_scatter {{.*}} {name = "wo.matmul"}
recompute_config: {select_comm_recompute: True}
//--- count.yaml
# Of no layer.
# CHECK: mf.all_gather {{.*}} {name = "wq.matmul"}
# CHECK: mf.mul {{.*}} {name = "mul", recompute = #mf.recompute<select>}
# CHECK: mf.reduce_scatter {{.*}} {name = "wo.matmul"}
recompute_config: {select_comm_recompute: [0], select_recompute: ['mul']}
//--- full.yaml
# A recomputed layer repeats its communication.
# CHECK: mf.all_gather {{.*}} {name = "wq.matmul", recompute = #mf.recompute<full>}
# CHECK: mf.reduce_scatter {{.*}} {name = "wo.matmul", recompute = #mf.recompute<full>}
# CHECK: mf.add {{.*}} {name = "add", recompute = #mf.recompute<output>}
recompute_config: {recompute: True}
//--- list.yaml
# Also where layers are counted.
# CHECK: mf.all_gather {{.*}} {name = "wq.matmul", recompute = #mf.recompute<full>}
# CHECK: mf.reduce_scatter {{.*}} {name = "wo.matmul", recompute = #mf.recompute<full>}
recompute_config: {recompute: [1], mp_comm_recompute: True}
//--- kept.yaml
# It does not where mp_comm_recompute is False.
# CHECK: [Analysis] Collectives | Category:recompute | Function=layers.0 | Remark="of 2 collectives next to recomputed operators 0 run again where backward needs them", kept=2, repeated=0
# CHECK: mf.all_gather {{.*}} {name = "wq.matmul", recompute = #mf.recompute<excluded>}
# CHECK: mf.reduce_scatter {{.*}} {name = "wo.matmul", recompute = #mf.recompute<excluded>}
recompute_config: {recompute: [1], mp_comm_recompute: False}
//--- exclude.yaml
# An exclude keeps the gather next to what it names in a recomputed layer, too.
# CHECK: mf.all_gather {{.*}} {name = "wq.matmul", recompute = #mf.recompute<excluded>}
# CHECK: mf.reduce_scatter {{.*}} {name = "wo.matmul", recompute = #mf.recompute<full>}
recompute_config: {recompute: True, select_comm_recompute_exclude: ['norm\.norm']}
//--- reader.yaml
# What reads the gathered value may be named as well.
# CHECK: mf.all_gather {{.*}} {name = "wq.matmul", recompute = #mf.recompute<select>}
# CHECK: mf.reduce_scatter {{.*}} {name = "wo.matmul"}
recompute_config: {select_comm_recompute: ['wk\.matmul']}
//--- absent.yaml
# So may a view of its Cell that the layer does without.
# CHECK: mf.all_gather {{.*}} {name = "wq.matmul", recompute = #mf.recompute<select>}
# CHECK: mf.reduce_scatter {{.*}} {name = "wo.matmul"}
recompute_config: {select_comm_recompute: ['wk\.reshape']}
//--- absent_exclude.yaml
# Also where it keeps what a recomputed layer gathers.
# CHECK: mf.all_gather {{.*}} {name = "wq.matmul", recompute = #mf.recompute<excluded>}
# CHECK: mf.reduce_scatter {{.*}} {name = "wo.matmul", recompute = #mf.recompute<full>}
recompute_config: {recompute: True, select_comm_recompute_exclude: ['wk\.reshape']}
//--- first.yaml
# An exclude on either side comes first.
# CHECK: mf.all_gather {{.*}} {name = "wq.matmul", recompute = #mf.recompute<excluded>}
# CHECK: mf.reduce_scatter {{.*}} {name = "wo.matmul"}
recompute_config: {select_comm_recompute: ['wk\.matmul'], select_comm_recompute_exclude: ['norm\.norm']}
//--- sum.yaml
# What is named makes a sum: that has no reader to bring it to.
# CHECK: mf.all_gather {{.*}} {name = "wq.matmul"}
# CHECK: mf.mul {{.*}} {name = "mul", recompute = #mf.recompute<select>}
# CHECK: mf.reduce_scatter {{.*}} {name = "wo.matmul"}
recompute_config: {select_comm_recompute: ['wo\.matmul'], select_recompute: ['mul']}
//--- selected.yaml
# A sum follows the operator that makes its parts.
# CHECK: mf.all_gather {{.*}} {name = "wq.matmul"}
# CHECK: mf.reduce_scatter {{.*}} {name = "wo.matmul", recompute = #mf.recompute<select>}
recompute_config: {select_recompute: ['wo\.matmul']}
//--- selected_kept.yaml
# But not where mp_comm_recompute is False.
# CHECK: mf.all_gather {{.*}} {name = "wq.matmul"}
# CHECK: mf.reduce_scatter {{.*}} {name = "wo.matmul", recompute = #mf.recompute<excluded>}
recompute_config: {select_recompute: ['wo\.matmul'], mp_comm_recompute: False}
//--- cell.yaml
# A recomputed Cell repeats what comes in, and keeps what leaves it: of wo, that is behind its sum.
# CHECK: mf.all_gather {{.*}} {name = "wq.matmul", recompute = #mf.recompute<select>}
# CHECK: mf.matmul {{.*}} {name = "wq.matmul", recompute = #mf.recompute<output>}
# CHECK: mf.matmul {{.*}} {name = "wo.matmul", recompute = #mf.recompute<output>}
# CHECK: mf.reduce_scatter {{.*}} {name = "wo.matmul"}
recompute_config: {select_recompute: ['wq', 'wo']}
//--- swap.yaml
# What is gathered of a swapped value is swapped, too.
# CHECK: mf.cast {{.*}} {name = "norm.rcast", swap = #mf.swap<distance = 3>}
# CHECK: mf.all_gather {{.*}} {name = "wq.matmul", swap = #mf.swap<distance = 3>}
# CHECK: mf.matmul {{.*}} {name = "wq.matmul"}
# CHECK: mf.reduce_scatter {{.*}} {name = "wo.matmul"}
swap_config: {swap: True, op_swap: [{op_name: 'norm\.rcast', layers: True, backward_prefetch: 3}]}
//--- conflict.yaml
# Recompute of the gather wins, with a warning.
# CHECK: warning: layer 0, norm.rcast: swapped by op_swap 'norm\.rcast' and read by the communication of wq.matmul, which is recomputed by select_comm_recompute '.*\.norm'; recompute wins
# CHECK: mf.cast {{.*}} {name = "norm.rcast"}
# CHECK: mf.all_gather {{.*}} {name = "wq.matmul", recompute = #mf.recompute<select>}
recompute_config: {select_comm_recompute: True}
swap_config: {swap: True, op_swap: [{op_name: 'norm\.rcast', layers: True, backward_prefetch: 3}]}
//--- model.mlir
module attributes {mf.mesh = #mf.mesh<pp = 1, mp = 2>} {
mf.model @m attributes {micro_batch_size = 1 : i64, sequence_length = 8 : i64, vocab_size = 16 : i64} {
  mf.param @g : tensor<4xf32> init <ones>
  mf.param @w : tensor<4x4xbf16> init <normal, value = 0.02>
  mf.cell_tree @cells ["wk.reshape"]
  mf.layer @layers.0 body (%x: tensor<1x4x4xf32>) -> tensor<1x4x4xf32> attributes {cell_tree = @cells} {
    %g = mf.get_param @g : tensor<4xf32>
    %w = mf.get_param @w : tensor<4x4xbf16>
    %n, %rstd = mf.rms_norm %x, %g {epsilon = 1.0e-5, name = "norm.norm"} : (tensor<1x4x4xf32>, tensor<4xf32>) -> (tensor<1x4x4xf32>, tensor<1x4xf32>)
    %c = mf.cast %n {name = "norm.rcast"} : (tensor<1x4x4xf32>) -> tensor<1x4x4xbf16>
    %all = mf.all_gather %c over ["mp"] dim 1 {name = "wq.matmul"} : tensor<1x4x4xbf16> -> tensor<1x8x4xbf16>
    %q = mf.matmul %all, %w {name = "wq.matmul"} : (tensor<1x8x4xbf16>, tensor<4x4xbf16>) -> tensor<1x8x4xbf16>
    %k = mf.matmul %all, %w {name = "wk.matmul"} : (tensor<1x8x4xbf16>, tensor<4x4xbf16>) -> tensor<1x8x4xbf16>
    %a = mf.mul %q, %k {name = "mul"} : (tensor<1x8x4xbf16>, tensor<1x8x4xbf16>) -> tensor<1x8x4xbf16>
    %o = mf.matmul %a, %w {name = "wo.matmul"} : (tensor<1x8x4xbf16>, tensor<4x4xbf16>) -> tensor<1x8x4xbf16>
    %s = mf.reduce_scatter %o over ["mp"] dim 1 {name = "wo.matmul"} : tensor<1x8x4xbf16> -> tensor<1x4x4xbf16>
    %f = mf.cast %s {name = "cast"} : (tensor<1x4x4xbf16>) -> tensor<1x4x4xf32>
    %y = mf.add %x, %f {name = "add"} : (tensor<1x4x4xf32>, tensor<1x4x4xf32>) -> tensor<1x4x4xf32>
    mf.return %y : tensor<1x4x4xf32>
  }
}
}
