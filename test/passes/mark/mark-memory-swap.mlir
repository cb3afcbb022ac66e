// Which operators swap_config marks, and what recompute takes away.
// RUN: split-file %s %t
// RUN: %roundtrip --pass-pipeline='builtin.module(mf-read-config{file=%t/swap.yaml},mf.model(mf-partition,mf-mark-memory))' %t/model.mlir 2> %t/log | FileCheck %s
// RUN: FileCheck %s --check-prefix=WARN --input-file=%t/log

//--- swap.yaml
recompute_config:
  recompute: [1]
  select_recompute:
    'feed_forward\.mul': [2]
swap_config:
  swap: True
  layer_swap:
    - backward_prefetch: 4
      layers: [0, 1]
  op_swap:
    - op_name: '.*\.silu'
      backward_prefetch: 2
      layers: True

//--- model.mlir
mf.model @m attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  // A pattern beats layer_swap.
  // CHECK-LABEL: mf.layer @layers.0
  // CHECK: mf.neg {{.*}} {name = "norm.neg", swap = #mf.swap<distance = 4>}
  // CHECK: mf.silu {{.*}} {name = "feed_forward.silu", swap = #mf.swap<distance = 2>}
  // CHECK: mf.mul {{.*}} {name = "feed_forward.mul", swap = #mf.swap<distance = 4>}
  mf.layer @layers.0 body (%x: tensor<4xf32>) -> tensor<4xf32> {
    %n = mf.neg %x {name = "norm.neg"} : (tensor<4xf32>) -> tensor<4xf32>
    %a = mf.silu %n {name = "feed_forward.silu"} : (tensor<4xf32>) -> tensor<4xf32>
    %y = mf.mul %a, %n {name = "feed_forward.mul"} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    mf.return %y : tensor<4xf32>
  }
  // Recompute wins.
  // WARN: swap.yaml:[[#]]:{{[0-9]+}}: warning: layer 1, {{.*}}: swapped by {{.*}} and recomputed by recompute_config.recompute; recompute wins
  // CHECK-LABEL: mf.layer @layers.1
  // CHECK-NOT: mf.swap
  mf.layer @layers.1 body (%x: tensor<4xf32>) -> tensor<4xf32> {
    %n = mf.neg %x {name = "norm.neg"} : (tensor<4xf32>) -> tensor<4xf32>
    %a = mf.silu %n {name = "feed_forward.silu"} : (tensor<4xf32>) -> tensor<4xf32>
    %y = mf.mul %a, %n {name = "feed_forward.mul"} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    mf.return %y : tensor<4xf32>
  }
  // A recomputed operator reads the SiLU's result.
  // WARN: warning: layer 2, feed_forward.silu: swapped by op_swap '.*\.silu' and read by feed_forward.mul, which is recomputed by {{.*}}; recompute wins
  // CHECK-LABEL: mf.layer @layers.2
  // CHECK: mf.neg {{.*}} {name = "norm.neg"}
  // CHECK: mf.silu {{.*}} {name = "feed_forward.silu"}
  // CHECK: mf.mul {{.*}} {name = "feed_forward.mul", recompute = #mf.recompute<select>}
  mf.layer @layers.2 body (%x: tensor<4xf32>) -> tensor<4xf32> {
    %n = mf.neg %x {name = "norm.neg"} : (tensor<4xf32>) -> tensor<4xf32>
    %a = mf.silu %n {name = "feed_forward.silu"} : (tensor<4xf32>) -> tensor<4xf32>
    %m = mf.mul %a, %n {name = "feed_forward.mul"} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %y = mf.neg %m {name = "add"} : (tensor<4xf32>) -> tensor<4xf32>
    mf.return %y : tensor<4xf32>
  }
  mf.layer @head head (%x: tensor<4xf32>) -> tensor<4xf32> {
    mf.return %x : tensor<4xf32>
  }
}
