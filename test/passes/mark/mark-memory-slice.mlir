// With recompute_slice_activation ranks that have the same input of a recomputed layer keep a part of it each; the type is that of the
// whole tensor until mf-localize.
// RUN: split-file %s %t
// RUN: %roundtrip --pass-pipeline='builtin.module(mf-read-config{file=%t/slice.yaml},mf.model(mf-partition,mf-propagate-layouts,mf-lower-reshards,mf-mark-memory))' %t/model.mlir | FileCheck %s
// RUN: %roundtrip --pass-pipeline='builtin.module(mf-read-config{file=%t/slice.yaml},mf.model(mf-partition,mf-propagate-layouts,mf-lower-reshards,mf-mark-memory,mf-localize))' --remarks-filter=recompute %t/model.mlir 2>&1 | FileCheck %s --check-prefix=LOCAL
// RUN: %roundtrip --pass-pipeline='builtin.module(mf-read-config{file=%t/off.yaml},mf.model(mf-partition,mf-propagate-layouts,mf-lower-reshards,mf-mark-memory))' %t/model.mlir | FileCheck %s --check-prefix=NONE
// RUN: %roundtrip --pass-pipeline='builtin.module(mf-read-config{file=%t/sequence.yaml},mf.model(mf-partition,mf-propagate-layouts,mf-lower-reshards,mf-mark-memory))' %t/model.mlir 2>&1 | FileCheck %s --check-prefix=NONE --implicit-check-not=warning
// RUN: %roundtrip --pass-pipeline='builtin.module(mf-read-config{file=%t/four.yaml},mf.model(mf-partition,mf-propagate-layouts,mf-lower-reshards,mf-mark-memory))' %t/model.mlir 2>&1 | FileCheck %s --check-prefix=WARN --implicit-check-not=mf.keep_part

// RUN: %roundtrip --pass-pipeline='builtin.module(mf-read-config{file=%t/replicas.yaml},mf.model(mf-partition,mf-mark-memory))' --remarks-filter=recompute %t/replicas.mlir -o /dev/null 2>&1 | FileCheck %s --check-prefix=REPLICAS
// RUN: %roundtrip --pass-pipeline='builtin.module(mf-read-config{file=%t/sequence.yaml},mf.model(mf-partition,mf-propagate-layouts,mf-lower-reshards,mf-mark-memory))' --remarks-filter=recompute %t/model.mlir -o /dev/null 2>&1 | FileCheck %s --check-prefix=CUT

// Of two layers one is recomputed.
// CHECK: mf.layer @layers.0 body (%[[X:.*]]: tensor<2x4x8xf32, {{.*}}>)
// CHECK-NEXT: %[[KEPT:.*]] = mf.keep_part %[[X]] over ["mp"] {name = "input", recompute = #mf.recompute<full>} : tensor<2x4x8xf32, {{.*}}>
// CHECK-NOT: %[[X]]
// CHECK: mf.mirror %[[KEPT]]
// CHECK: mf.add %[[KEPT]]
// CHECK: mf.layer @layers.1
// CHECK-NOT: mf.keep_part

// LOCAL: remark: [Passed] SliceActivation | Category:recompute | Function=layers.0 | Remark="of the kept input each of 2 ranks of mp keeps its part", bytes=256, bytes kept=128
// LOCAL: mf.keep_part {{.*}} : tensor<2x4x8xf32>

// NONE-NOT: mf.keep_part
// NONE: {name = "silu", recompute = #mf.recompute<full>}
// NONE-NOT: mf.keep_part

// WARN: four.yaml:2:65: warning: recompute_slice_activation has no effect: the kept input of 'layers.0' is not sliced, as its first dimension, 2, does not divide over the 4 ranks of mp that have it
// WARN-NOT: warning

// Ranks of several axes that have the same input are one group.
// REPLICAS: SliceActivation {{.*}}"of the kept input each of 4 ranks of dp and mp keeps its part"
// CUT: SliceActivation {{.*}}"the kept input is not sliced: no two ranks have the same part of it"

//--- slice.yaml
parallel_config: {model_parallel: 2}
recompute_config: {recompute: [1], recompute_slice_activation: True}
//--- off.yaml
parallel_config: {model_parallel: 2}
recompute_config: {recompute: [1]}
//--- sequence.yaml
parallel_config: {model_parallel: 2, use_seq_parallel: True}
recompute_config: {recompute: [1], recompute_slice_activation: True}
//--- four.yaml
parallel_config: {model_parallel: 4}
recompute_config: {recompute: True, recompute_slice_activation: True}

//--- replicas.yaml
parallel_config: {data_parallel: 2, model_parallel: 2}
recompute_config: {recompute: True, recompute_slice_activation: True}

//--- replicas.mlir
#replicated = #mf.layout<[[], [], []]>
mf.model @m attributes {micro_batch_size = 2 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  mf.layer @layers.0 body (%x: tensor<4x4x8xf32, #replicated>) -> tensor<4x4x8xf32, #replicated> {
    %y = mf.silu %x {name = "silu"} : (tensor<4x4x8xf32, #replicated>) -> tensor<4x4x8xf32, #replicated>
    mf.return %y : tensor<4x4x8xf32, #replicated>
  }
}

//--- model.mlir
mf.model @m attributes {micro_batch_size = 2 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  mf.param @up : tensor<8x8xf32> init <normal, value = 0.02> {cuts = [["mp"], []]}
  mf.param @down : tensor<8x8xf32> init <normal, value = 0.02> {cuts = [[], ["mp"]]}
  mf.layer @layers.0 body (%x: tensor<2x4x8xf32>) -> tensor<2x4x8xf32> {
    %up = mf.get_param @up : tensor<8x8xf32>
    %h = mf.matmul %x, %up {name = "up.matmul", transpose_b = true} : (tensor<2x4x8xf32>, tensor<8x8xf32>) -> tensor<2x4x8xf32>
    %a = mf.silu %h {name = "silu"} : (tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
    %down = mf.get_param @down : tensor<8x8xf32>
    %d = mf.matmul %a, %down {name = "down.matmul", transpose_b = true} : (tensor<2x4x8xf32>, tensor<8x8xf32>) -> tensor<2x4x8xf32>
    %y = mf.add %x, %d {name = "add"} : (tensor<2x4x8xf32>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
    mf.return %y : tensor<2x4x8xf32>
  }
  mf.layer @layers.1 body (%x: tensor<2x4x8xf32>) -> tensor<2x4x8xf32> {
    mf.return %x : tensor<2x4x8xf32>
  }
}
