// What runs again, what is kept and what is swapped of the collectives that sharding has put between operators.
// RUN: split-file %s %t
// RUN: %roundtrip --pass-pipeline='builtin.module(mf-read-config{file=%t/nothing.yaml},mf.model(mf-partition,mf-mark-memory))' %t/model.mlir | FileCheck %s --check-prefix=NOTHING
// RUN: %roundtrip --pass-pipeline='builtin.module(mf-read-config{file=%t/comm.yaml},mf.model(mf-partition,mf-mark-memory))' %t/model.mlir | FileCheck %s --check-prefix=COMM
// RUN: %roundtrip --pass-pipeline='builtin.module(mf-read-config{file=%t/count.yaml},mf.model(mf-partition,mf-mark-memory))' %t/model.mlir | FileCheck %s --check-prefix=COUNT
// RUN: %roundtrip --pass-pipeline='builtin.module(mf-read-config{file=%t/full.yaml},mf.model(mf-partition,mf-mark-memory))' %t/model.mlir | FileCheck %s --check-prefix=FULL
// RUN: %roundtrip --pass-pipeline='builtin.module(mf-read-config{file=%t/list.yaml},mf.model(mf-partition,mf-mark-memory))' %t/model.mlir | FileCheck %s --check-prefix=LIST
// RUN: %roundtrip --pass-pipeline='builtin.module(mf-read-config{file=%t/kept.yaml},mf.model(mf-partition,mf-mark-memory))' %t/model.mlir | FileCheck %s --check-prefix=KEPT
// RUN: %roundtrip --pass-pipeline='builtin.module(mf-read-config{file=%t/exclude.yaml},mf.model(mf-partition,mf-mark-memory))' %t/model.mlir | FileCheck %s --check-prefix=EXCLUDE
// RUN: %roundtrip --pass-pipeline='builtin.module(mf-read-config{file=%t/reader.yaml},mf.model(mf-partition,mf-mark-memory))' %t/model.mlir | FileCheck %s --check-prefix=READER
// RUN: %roundtrip --pass-pipeline='builtin.module(mf-read-config{file=%t/absent.yaml},mf.model(mf-partition,mf-mark-memory))' %t/model.mlir | FileCheck %s --check-prefix=ABSENT
// RUN: %roundtrip --pass-pipeline='builtin.module(mf-read-config{file=%t/absent_exclude.yaml},mf.model(mf-partition,mf-mark-memory))' %t/model.mlir | FileCheck %s --check-prefix=ABSENT-EXCLUDE
// RUN: %roundtrip --pass-pipeline='builtin.module(mf-read-config{file=%t/first.yaml},mf.model(mf-partition,mf-mark-memory))' %t/model.mlir | FileCheck %s --check-prefix=FIRST
// RUN: %roundtrip --pass-pipeline='builtin.module(mf-read-config{file=%t/sum.yaml},mf.model(mf-partition,mf-mark-memory))' %t/model.mlir | FileCheck %s --check-prefix=SUM
// RUN: %roundtrip --pass-pipeline='builtin.module(mf-read-config{file=%t/selected.yaml},mf.model(mf-partition,mf-mark-memory))' %t/model.mlir | FileCheck %s --check-prefix=SELECTED
// RUN: %roundtrip --pass-pipeline='builtin.module(mf-read-config{file=%t/selected_kept.yaml},mf.model(mf-partition,mf-mark-memory))' %t/model.mlir | FileCheck %s --check-prefix=SELECTED-KEPT
// RUN: %roundtrip --pass-pipeline='builtin.module(mf-read-config{file=%t/cell.yaml},mf.model(mf-partition,mf-mark-memory))' %t/model.mlir | FileCheck %s --check-prefix=CELL
// RUN: %roundtrip --pass-pipeline='builtin.module(mf-read-config{file=%t/swap.yaml},mf.model(mf-partition,mf-mark-memory))' %t/model.mlir | FileCheck %s --check-prefix=SWAP
// RUN: %roundtrip --pass-pipeline='builtin.module(mf-read-config{file=%t/conflict.yaml},mf.model(mf-partition,mf-mark-memory))' %t/model.mlir 2>%t/log | FileCheck %s --check-prefix=CONFLICT
// RUN: %roundtrip --pass-pipeline='builtin.module(mf-read-config{file=%t/kept.yaml},mf.model(mf-partition,mf-mark-memory))' --remarks-filter-analyse=recompute %t/model.mlir -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// REMARK: [Analysis] Collectives | Category:recompute | Function=layers.0 | Remark="of 2 collectives next to recomputed operators 0 run again where backward needs them", kept=2, repeated=0
// RUN: FileCheck %s --check-prefix=WARN --input-file=%t/log
// WARN: warning: layer 0, norm.rcast: swapped by op_swap 'norm\.rcast' and read by the communication of wq.matmul, which is recomputed by select_comm_recompute '.*\.norm'; recompute wins

// Nothing is said of them.
// NOTHING: mf.all_gather {{.*}} {name = "wq.matmul"}
// NOTHING: mf.mul {{.*}} {name = "mul", recompute = #mf.recompute<select>}
// NOTHING: mf.reduce_scatter {{.*}} {name = "wo.matmul"}

// By default the norm is named. The gather behind it follows, through the cast; a sum has nothing to follow.
// COMM: mf.all_gather {{.*}} {name = "wq.matmul", recompute = #mf.recompute<select>}
// COMM: mf.reduce_scatter {{.*}} {name = "wo.matmul"}

// Of no layer.
// COUNT: mf.all_gather {{.*}} {name = "wq.matmul"}
// COUNT: mf.mul {{.*}} {name = "mul", recompute = #mf.recompute<select>}
// COUNT: mf.reduce_scatter {{.*}} {name = "wo.matmul"}

// A recomputed layer repeats its communication.
// FULL: mf.all_gather {{.*}} {name = "wq.matmul", recompute = #mf.recompute<full>}
// FULL: mf.reduce_scatter {{.*}} {name = "wo.matmul", recompute = #mf.recompute<full>}
// FULL: mf.add {{.*}} {name = "add", recompute = #mf.recompute<output>}

// Also where layers are counted.
// LIST: mf.all_gather {{.*}} {name = "wq.matmul", recompute = #mf.recompute<full>}
// LIST: mf.reduce_scatter {{.*}} {name = "wo.matmul", recompute = #mf.recompute<full>}

// It does not where mp_comm_recompute is False.
// KEPT: mf.all_gather {{.*}} {name = "wq.matmul", recompute = #mf.recompute<excluded>}
// KEPT: mf.reduce_scatter {{.*}} {name = "wo.matmul", recompute = #mf.recompute<excluded>}

// An exclude keeps the gather next to what it names in a recomputed layer, too.
// EXCLUDE: mf.all_gather {{.*}} {name = "wq.matmul", recompute = #mf.recompute<excluded>}
// EXCLUDE: mf.reduce_scatter {{.*}} {name = "wo.matmul", recompute = #mf.recompute<full>}

// What reads the gathered value may be named as well.
// READER: mf.all_gather {{.*}} {name = "wq.matmul", recompute = #mf.recompute<select>}
// READER: mf.reduce_scatter {{.*}} {name = "wo.matmul"}

// So may a view of its Cell that the layer does without.
// ABSENT: mf.all_gather {{.*}} {name = "wq.matmul", recompute = #mf.recompute<select>}
// ABSENT: mf.reduce_scatter {{.*}} {name = "wo.matmul"}

// Also where it keeps what a recomputed layer gathers.
// ABSENT-EXCLUDE: mf.all_gather {{.*}} {name = "wq.matmul", recompute = #mf.recompute<excluded>}
// ABSENT-EXCLUDE: mf.reduce_scatter {{.*}} {name = "wo.matmul", recompute = #mf.recompute<full>}

// An exclude on either side comes first.
// FIRST: mf.all_gather {{.*}} {name = "wq.matmul", recompute = #mf.recompute<excluded>}
// FIRST: mf.reduce_scatter {{.*}} {name = "wo.matmul"}

// What is named makes a sum: that has no reader to bring it to.
// SUM: mf.all_gather {{.*}} {name = "wq.matmul"}
// SUM: mf.mul {{.*}} {name = "mul", recompute = #mf.recompute<select>}
// SUM: mf.reduce_scatter {{.*}} {name = "wo.matmul"}

// A sum follows the operator that makes its parts.
// SELECTED: mf.all_gather {{.*}} {name = "wq.matmul"}
// SELECTED: mf.reduce_scatter {{.*}} {name = "wo.matmul", recompute = #mf.recompute<select>}

// But not where mp_comm_recompute is False.
// SELECTED-KEPT: mf.all_gather {{.*}} {name = "wq.matmul"}
// SELECTED-KEPT: mf.reduce_scatter {{.*}} {name = "wo.matmul", recompute = #mf.recompute<excluded>}

// A recomputed Cell repeats what comes in, and keeps what leaves it: of wo, that is behind its sum.
// CELL: mf.all_gather {{.*}} {name = "wq.matmul", recompute = #mf.recompute<select>}
// CELL: mf.matmul {{.*}} {name = "wq.matmul", recompute = #mf.recompute<output>}
// CELL: mf.matmul {{.*}} {name = "wo.matmul", recompute = #mf.recompute<output>}
// CELL: mf.reduce_scatter {{.*}} {name = "wo.matmul"}

// What is gathered of a swapped value is swapped, too.
// SWAP: mf.cast {{.*}} {name = "norm.rcast", swap = #mf.swap<distance = 3>}
// SWAP: mf.all_gather {{.*}} {name = "wq.matmul", swap = #mf.swap<distance = 3>}
// SWAP: mf.matmul {{.*}} {name = "wq.matmul"}
// SWAP: mf.reduce_scatter {{.*}} {name = "wo.matmul"}

// Recompute of the gather wins, with a warning.
// CONFLICT: mf.cast {{.*}} {name = "norm.rcast"}
// CONFLICT: mf.all_gather {{.*}} {name = "wq.matmul", recompute = #mf.recompute<select>}

//--- nothing.yaml
parallel_config: {model_parallel: 2}
recompute_config: {select_recompute: ['mul']}
//--- comm.yaml
parallel_config: {model_parallel: 2}
recompute_config: {select_comm_recompute: True}
//--- count.yaml
parallel_config: {model_parallel: 2}
recompute_config: {select_comm_recompute: [0], select_recompute: ['mul']}
//--- full.yaml
parallel_config: {model_parallel: 2}
recompute_config: {recompute: True}
//--- list.yaml
parallel_config: {model_parallel: 2}
recompute_config: {recompute: [1], mp_comm_recompute: True}
//--- kept.yaml
parallel_config: {model_parallel: 2}
recompute_config: {recompute: [1], mp_comm_recompute: False}
//--- exclude.yaml
parallel_config: {model_parallel: 2}
recompute_config: {recompute: True, select_comm_recompute_exclude: ['norm\.norm']}
//--- reader.yaml
parallel_config: {model_parallel: 2}
recompute_config: {select_comm_recompute: ['wk\.matmul']}
//--- absent.yaml
parallel_config: {model_parallel: 2}
recompute_config: {select_comm_recompute: ['wk\.reshape']}
//--- absent_exclude.yaml
parallel_config: {model_parallel: 2}
recompute_config: {recompute: True, select_comm_recompute_exclude: ['wk\.reshape']}
//--- first.yaml
parallel_config: {model_parallel: 2}
recompute_config: {select_comm_recompute: ['wk\.matmul'], select_comm_recompute_exclude: ['norm\.norm']}
//--- sum.yaml
parallel_config: {model_parallel: 2}
recompute_config: {select_comm_recompute: ['wo\.matmul'], select_recompute: ['mul']}
//--- selected.yaml
parallel_config: {model_parallel: 2}
recompute_config: {select_recompute: ['wo\.matmul']}
//--- selected_kept.yaml
parallel_config: {model_parallel: 2}
recompute_config: {select_recompute: ['wo\.matmul'], mp_comm_recompute: False}
//--- cell.yaml
parallel_config: {model_parallel: 2}
recompute_config: {select_recompute: ['wq', 'wo']}
//--- swap.yaml
parallel_config: {model_parallel: 2}
recompute_config: {}
swap_config: {swap: True, op_swap: [{op_name: 'norm\.rcast', layers: True, backward_prefetch: 3}]}
//--- conflict.yaml
parallel_config: {model_parallel: 2}
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
