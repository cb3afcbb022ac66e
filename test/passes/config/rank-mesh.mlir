// The mesh that parallel_config asks for, and which rows of the data its replicas read.
// RUN: split-file --leading-lines %s %t
// RUN: mf-opt --mf-read-config=file=%t/hybrid.yaml %t/model.mlir | FileCheck %s --check-prefix=HYBRID
// RUN: mf-opt --mf-read-config=file=%t/blocks.yaml %t/model.mlir | FileCheck %s --check-prefix=BLOCKS
// RUN: mf-opt --mf-read-config=file=%t/shards.yaml %t/model.mlir | FileCheck %s --check-prefix=SHARDS
// RUN: mf-opt --mf-read-config=file=%t/table.yaml %t/table.mlir | FileCheck %s --check-prefix=TABLE
// RUN: mf-opt --mf-read-config=file=%t/across.yaml %t/model.mlir | FileCheck %s --check-prefix=ACROSS
// RUN: mf-opt --mf-read-config=file=%t/kept.yaml %t/model.mlir | FileCheck %s --check-prefix=KEPT
// RUN: mf-opt --mf-read-config=file=%t/odd.yaml %t/model.mlir | FileCheck %s --check-prefix=ODD

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

