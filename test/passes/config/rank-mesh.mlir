// The mesh that parallel_config asks for, and which rows of the data its replicas read.
// RUN: split-file --leading-lines %s %t
// RUN: %roundtrip --mf-read-config=file=%t/hybrid.yaml %t/model.mlir | FileCheck %s --check-prefix=HYBRID
// RUN: %roundtrip --mf-read-config=file=%t/blocks.yaml %t/model.mlir | FileCheck %s --check-prefix=BLOCKS
// RUN: %roundtrip --mf-read-config=file=%t/shards.yaml %t/model.mlir | FileCheck %s --check-prefix=SHARDS
// RUN: %roundtrip --mf-read-config=file=%t/table.yaml %t/table.mlir | FileCheck %s --check-prefix=TABLE
// RUN: %roundtrip --mf-read-config=file=%t/across.yaml %t/model.mlir | FileCheck %s --check-prefix=ACROSS
// RUN: %roundtrip --mf-read-config=file=%t/kept.yaml %t/model.mlir | FileCheck %s --check-prefix=KEPT
// RUN: %roundtrip --mf-read-config=file=%t/odd.yaml %t/model.mlir | FileCheck %s --check-prefix=ODD
// RUN: %roundtrip --mf-read-config=file=%t/neighbours.yaml %t/dropless.mlir | FileCheck %s --check-prefix=NEIGHBOURS
// RUN: %roundtrip --mf-read-config=file=%t/within.yaml %t/dropless.mlir | FileCheck %s --check-prefix=WITHIN
// RUN: %roundtrip --mf-read-config=file=%t/pieces.yaml %t/dropless.mlir | FileCheck %s --check-prefix=PIECES
// RUN: %roundtrip --mf-read-config=file=%t/one.yaml %t/dropless.mlir | FileCheck %s --check-prefix=ONE
// RUN: %roundtrip --mf-read-config=file=%t/place.yaml %t/capacity.mlir | FileCheck %s --check-prefix=PLACE
// RUN: %roundtrip --mf-read-config=file=%t/context.yaml %t/capacity.mlir | FileCheck %s --check-prefix=CONTEXT
// RUN: %messages %t/dropless /dev/null %roundtrip --mf-read-config=file=@ %t/dropless.mlir -o %t/changed.mlir
// RUN: %messages %t/capacity /dev/null %roundtrip --mf-read-config=file=@ %t/capacity.mlir -o %t/changed.mlir

//--- model.mlir
mf.model @model attributes {micro_batch_size = 24 : i64, sequence_length = 8 : i64, vocab_size = 16 : i64} {
  mf.param @w : tensor<64x64xf32> init <normal, value = 0.02> {cuts = [["mp"], []]}
  // What each rank keeps has no say.
  mf.param @norm : tensor<64xf32> init <constant, value = 1.0> {parallel_optimizer = false}
}

//--- table.mlir
mf.model @model attributes {micro_batch_size = 24 : i64, sequence_length = 8 : i64, vocab_size = 16 : i64} {
  mf.param @w : tensor<64x64xf32> init <normal, value = 0.02> {cuts = [["mp"], []]}
  mf.param @table : tensor<64x64xf32> init <normal, value = 0.02>
}

//--- hybrid.yaml
# Axes in the order of ranks. Datasets that are addressed by index are dealt out row by row.
# HYBRID: module attributes {mf.mesh = #mf.mesh<pp = 1, dp = 2, cp_co = 2, cp_ds = 2, mp = 3>, mf.sample_order = "round_robin"}
parallel_config: {data_parallel: 2, context_parallel: 4, model_parallel: 3, context_parallel_algo: hybrid_cp, ulysses_degree_in_cp: 2}
parallel: {full_batch: False, dataset_strategy: [[2, 1]]}

//--- blocks.yaml
# MindDataset cuts the data into blocks.
# BLOCKS: module attributes {mf.mesh = #mf.mesh<pp = 1, dp = 2>, mf.sample_order = "blocks"}
parallel_config: {data_parallel: 2}
parallel: {full_batch: False, dataset_strategy: [[2, 1]]}
train_dataset: {data_loader: {type: MindDataset}}

//--- shards.yaml
# 4 of the 12 ranks that have the same rows of @w: dp is cut where the fourth ends.
# SHARDS: module attributes {mf.mesh = #mf.mesh<pp = 1, dp_0 = 3, dp_1 = 2, cp = 2, mp = 2>}
parallel_config: {data_parallel: 6, context_parallel: 2, model_parallel: 2}
parallel: {enable_parallel_optimizer: True, parallel_optimizer_config: {optimizer_weight_shard_size: 4}}

//--- table.yaml
# 4 neighbours are 4 ranks of dp where mp cuts, 2 of dp and 2 of mp where nothing does.
# TABLE: module attributes {mf.mesh = #mf.mesh<pp = 1, dp_0 = 2, dp_1 = 2, dp_2 = 2, mp = 2>}
parallel_config: {data_parallel: 8, model_parallel: 2}
parallel: {enable_parallel_optimizer: True, parallel_optimizer_config: {optimizer_weight_shard_size: 4}}

//--- across.yaml
# Whole axes need no cut.
# ACROSS: module attributes {mf.mesh = #mf.mesh<pp = 1, dp = 3, cp = 2, mp = 2>}
parallel_config: {data_parallel: 3, context_parallel: 2, model_parallel: 2}
parallel: {enable_parallel_optimizer: True, parallel_optimizer_config: {optimizer_weight_shard_size: 2}}

//--- kept.yaml
# Nothing is shared out, or not over 4 of 6 ranks.
# KEPT: module attributes {mf.mesh = #mf.mesh<pp = 1, dp = 6>}
parallel_config: {data_parallel: 6}
parallel: {enable_parallel_optimizer: True, parallel_optimizer_config: {optimizer_weight_shard_size: 4}}

//--- odd.yaml
# Groups of 3 among 3 times 2 ranks are no ranks of whole axes.
# ODD: module attributes {mf.mesh = #mf.mesh<pp = 1, dp = 3, cp = 2>}
parallel_config: {data_parallel: 3, context_parallel: 2}
parallel: {enable_parallel_optimizer: True, parallel_optimizer_config: {optimizer_weight_shard_size: 3}}

//--- dropless.mlir
mf.model @model attributes {micro_batch_size = 48 : i64, sequence_length = 8 : i64, vocab_size = 16 : i64} {
  mf.param @experts : tensor<64x8x16xf32> init <normal, value = 0.02> {cuts = [["ep"], [], []]}
  mf.param @wo : tensor<64x64xf32> init <normal, value = 0.02> {cuts = [[], ["mp"]]}
  mf.param @router : tensor<64x8xf32> init <normal, value = 0.02>
}

//--- capacity.mlir
mf.model @model attributes {micro_batch_size = 48 : i64, sequence_length = 8 : i64, vocab_size = 16 : i64} {
  mf.param @w1 : tensor<64x8x16xf32> init <normal, value = 0.02> {cuts = [["ep"], ["mp"], []]}
  mf.param @w2 : tensor<64x16x8xf32> init <normal, value = 0.02> {cuts = [["ep"], [], ["mp"]]}
}

//--- neighbours.yaml
# As in DeepSeek-V3's YAML: the experts' ranks are 4 of mp times 2 of dp.
# NEIGHBOURS: module attributes {mf.mesh = #mf.mesh<pp = 1, dp_0 = 8, dp_1 = 2, mp = 4>}
# NEIGHBOURS: mf.param @experts {{.*}} {cuts = {{\[\[}}"dp_1", "mp"], [], []]}
# NEIGHBOURS: mf.param @wo {{.*}} {cuts = {{\[\[}}], ["mp"]]}
parallel_config: {data_parallel: 16, model_parallel: 4, expert_parallel: 8, use_seq_parallel: True}
moe_config: {use_gmm: True}

//--- within.yaml
# WITHIN: module attributes {mf.mesh = #mf.mesh<pp = 1, dp = 2, mp_0 = 2, mp_1 = 2>}
# WITHIN: mf.param @experts {{.*}} {cuts = {{\[\[}}"mp_1"], [], []]}
parallel_config: {data_parallel: 2, model_parallel: 4, expert_parallel: 2, use_seq_parallel: True}
moe_config: {use_gmm: True}

//--- pieces.yaml
# Of 8 ranks with the same experts, each 8 from the next, 4 share their storage out; of 16 with the same part of @wo, each 4 from the next.
# PIECES: module attributes {mf.mesh = #mf.mesh<pp = 1, dp_0 = 2, dp_1 = 2, dp_2 = 2, dp_3 = 2, mp = 4>}
# PIECES: mf.param @experts {{.*}} {cuts = {{\[\[}}"dp_3", "mp"], [], []]}
parallel_config: {data_parallel: 16, model_parallel: 4, expert_parallel: 8, use_seq_parallel: True}
parallel: {enable_parallel_optimizer: True, parallel_optimizer_config: {optimizer_weight_shard_size: 4}}
moe_config: {use_gmm: True}

//--- one.yaml
# ONE: module attributes {mf.mesh = #mf.mesh<pp = 1, dp = 2>}
# ONE: mf.param @experts {{.*}} {cuts = {{\[\[}}], [], []]}
parallel_config: {data_parallel: 2}
moe_config: {use_gmm: True}

//--- place.yaml
# Ranks of mp cut each expert, so that those that share experts out have one place in it.
# PLACE: module attributes {mf.mesh = #mf.mesh<pp = 1, dp_0 = 2, dp_1 = 2, mp = 2>}
# PLACE: mf.param @w1 {{.*}} {cuts = {{\[\[}}"dp_1"], ["mp"], []]}
# PLACE: mf.param @w2 {{.*}} {cuts = {{\[\[}}"dp_1"], [], ["mp"]]}
parallel_config: {data_parallel: 4, model_parallel: 2, expert_parallel: 2, use_seq_parallel: True}

//--- context.yaml
# CONTEXT: module attributes {mf.mesh = #mf.mesh<pp = 1, dp_0 = 2, dp_1 = 2, cp = 2, mp = 2>}
# CONTEXT: mf.param @w1 {{.*}} {cuts = {{\[\[}}"dp_1", "cp"], ["mp"], []]}
parallel_config: {data_parallel: 4, context_parallel: 2, model_parallel: 2, expert_parallel: 4, use_seq_parallel: True}

//--- dropless
parallel_config: {data_parallel: 8, model_parallel: 3, expert_parallel: 8, use_seq_parallel: True}
moe_config: {use_gmm: True}
    :1:73: error: expert_parallel 8 is no product of whole factors of dp = 8, mp = 3, over which 'experts' is distributed, the last ones first; choose a divisor or a multiple of the last
parallel_config: {data_parallel: 3, expert_parallel: 3}
moe_config: {use_gmm: True}
    :1:54: error: expected a divisor of the model's 64 experts for 'expert_parallel', but got 3
parallel_config: {data_parallel: 2, model_parallel: 2, expert_parallel: 2}
moe_config: {use_gmm: True}
    :1:53: error: a model with experts needs use_seq_parallel True with model_parallel 2
parallel_config: {pipeline_stage: 2, micro_batch_num: 2, seq_split_num: 2}
parallel: {pipeline_config: {pipeline_interleave: True, pipeline_scheduler: seqpipe}}
moe_config: {use_gmm: True}
    :1:73: error: seq_split_num 2 with use_gmm is not lowered; set it to 1

//--- capacity
parallel_config: {data_parallel: 2, model_parallel: 2, expert_parallel: 4, use_seq_parallel: True}
    :1:73: error: expected a divisor of data_parallel 2 for 'expert_parallel', but got 4
parallel_config: {data_parallel: 2, model_parallel: 4, use_seq_parallel: True}
moe_config: {expert_model_parallel: 2}
    :2:37: error: expected 1 or model_parallel 4 for 'expert_model_parallel', but got 2
