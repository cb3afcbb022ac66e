// How layers become chunks; build-backward-operators.mlir has the gradient of each operator.
// RUN: %roundtrip --pass-pipeline='builtin.module(mf.model(mf-build-backward))' %s | FileCheck %s

// Layers of one stage become one graph; operators' names begin with their layer's.
// The first stage takes tokens, the last one labels, and only where there is a hidden input its gradient is returned.
// CHECK-LABEL: mf.model @each_stage_becomes_a_chunk
mf.model @each_stage_becomes_a_chunk attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  mf.param @table : tensor<16x8xf32> init <normal, value = 0.02>
  mf.param @head : tensor<16x8xf32> init <normal, value = 0.02> tied to @table
  // CHECK-NOT: mf.cell_tree
  mf.cell_tree @tree ["attention.reshape"]

  // CHECK: mf.chunk @chunk0 (%[[TOKENS:.*]]: tensor<4xi32>) -> tensor<16x8xf32> attributes {gradients = [@table], input_indices = [0], inputs = [#mf<input_kind tokens>], placement = #mf.placement<stage = 0, chunk = 0>}
  mf.layer @embedding embedding (%tokens: tensor<4xi32>) -> tensor<4x8xf32>
      attributes {placement = #mf.placement<stage = 0, chunk = 0>} {
    // CHECK-NEXT: %[[TABLE:.*]] = mf.get_param @table
    %table = mf.get_param @table : tensor<16x8xf32>
    // CHECK-NEXT: %[[X:.*]] = mf.embedding %[[TABLE]], %[[TOKENS]] {name = "embedding.gather"}
    %x = mf.embedding %table, %tokens {name = "gather"} : (tensor<16x8xf32>, tensor<4xi32>) -> tensor<4x8xf32>
    mf.return %x : tensor<4x8xf32>
  }
  mf.layer @layers.0 body (%x: tensor<4x8xf32>) -> tensor<4x8xf32>
      attributes {placement = #mf.placement<stage = 0, chunk = 0>, cell_tree = @tree} {
    // CHECK-NEXT: %[[Y:.*]] = mf.silu %[[X]] {name = "layers.0.silu", recompute = #mf.recompute<select>}
    %y = mf.silu %x {name = "silu", recompute = #mf.recompute<select>} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    mf.return %y : tensor<4x8xf32>
  }
  // CHECK-NEXT: %[[DY:.*]] = mf.cut %[[Y]]
  // CHECK-NEXT: %[[DX:.*]] = mf.silu_grad %[[DY]], %[[X]] {name = "layers.0.silu.grad"}
  // CHECK-NEXT: %[[DTABLE:.*]] = mf.embedding_grad %[[DX]], %[[TOKENS]] {name = "embedding.gather.grad"}
  // CHECK-NEXT: mf.return %[[DTABLE]]

  // CHECK: mf.chunk @chunk1 (%[[HIDDEN:.*]]: tensor<4x8xf32>, %[[LABELS:.*]]: tensor<4xi32>) -> (tensor<4x8xf32>, tensor<16x8xf32>) attributes {gradients = [@head], input_indices = [1], inputs = [#mf<input_kind labels>], placement = #mf.placement<stage = 1, chunk = 0>}
  mf.layer @head_layer head (%x: tensor<4x8xf32>, %labels: tensor<4xi32>) -> tensor<f32>
      attributes {placement = #mf.placement<stage = 1, chunk = 0>} {
    // CHECK-NEXT: %[[HEAD:.*]] = mf.get_param @head
    %head = mf.get_param @head : tensor<16x8xf32>
    // CHECK-NEXT: %[[LOGITS:.*]] = mf.matmul %[[HIDDEN]], %[[HEAD]] {name = "head_layer.matmul", transpose_b = true}
    %logits = mf.matmul %x, %head {name = "matmul", transpose_b = true} : (tensor<4x8xf32>, tensor<16x8xf32>) -> tensor<4x16xf32>
    // CHECK-NEXT: %[[LOSS:.*]], %[[LOGSUMEXP:.*]], %[[COUNT:.*]] = mf.cross_entropy %[[LOGITS]], %[[LABELS]] {ignore_index = 0 : i64, name = "head_layer.loss"}
    %loss, %logsumexp, %count = mf.cross_entropy %logits, %labels {name = "loss", ignore_index = 0 : i64} : (tensor<4x16xf32>, tensor<4xi32>) -> (tensor<f32>, tensor<4xf32>, tensor<f32>)
    mf.return %loss : tensor<f32>
  }
  // CHECK-NEXT: %[[DLOSS:.*]] = mf.cut %[[LOSS]]
  // CHECK-NEXT: %[[DLOGITS:.*]] = mf.cross_entropy_grad %[[DLOSS]], %[[LOGITS]], %[[LABELS]], %[[LOGSUMEXP]], %[[COUNT]] {ignore_index = 0 : i64, name = "head_layer.loss.grad"}
  // CHECK-NEXT: %[[DHIDDEN:.*]] = mf.matmul %[[DLOGITS]], %[[HEAD]] {name = "head_layer.matmul.grad"}
  // CHECK-NEXT: %[[DHEAD:.*]] = mf.matmul %[[DLOGITS]], %[[HIDDEN]] {name = "head_layer.matmul.grad", transpose_a = true}
  // CHECK-NEXT: mf.return %[[DHIDDEN]], %[[DHEAD]]
}

// Tables are not trained, and what depends on nothing else needs no gradient.
// CHECK-LABEL: mf.model @frozen_parameters_get_no_gradient
mf.model @frozen_parameters_get_no_gradient attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  mf.param @cos : tensor<4x8xf32> init <rotary_cos, value = 10000.0> {frozen}
  // CHECK: mf.chunk @chunk0 (%[[X:.*]]: tensor<4x8xf32>) -> tensor<4x8xf32> attributes {gradients = []
  mf.layer @layer body (%x: tensor<4x8xf32>) -> tensor<4x8xf32>
      attributes {placement = #mf.placement<stage = 0, chunk = 0>} {
    %cos = mf.get_param @cos : tensor<4x8xf32>
    // CHECK: %[[HALF:.*]] = mf.scale
    %half = mf.scale %cos {name = "scale", value = 0.5 : f64} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %y = mf.mul %x, %half {name = "mul"} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    mf.return %y : tensor<4x8xf32>
  }
  // CHECK: %[[DY:.*]] = mf.cut
  // CHECK-NEXT: %[[DX:.*]] = mf.mul %[[DY]], %[[HALF]]
  // CHECK-NEXT: mf.return %[[DX]]
}

// A value that two operators read gets the later one's gradient first.
// CHECK-LABEL: mf.model @gradients_are_added_from_the_last_use_back
mf.model @gradients_are_added_from_the_last_use_back attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  mf.layer @layer body (%x: tensor<4xf32>) -> tensor<4xf32>
      attributes {placement = #mf.placement<stage = 0, chunk = 0>} {
    %first = mf.neg %x {name = "first"} : (tensor<4xf32>) -> tensor<4xf32>
    %second = mf.silu %x {name = "second"} : (tensor<4xf32>) -> tensor<4xf32>
    %third = mf.add %first, %second {name = "third"} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %y = mf.add %third, %x {name = "residual"} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    mf.return %y : tensor<4xf32>
  }
  // CHECK: %[[DY:.*]] = mf.cut
  // CHECK-NEXT: %[[SECOND:.*]] = mf.silu_grad %[[DY]]
  // CHECK-NEXT: %[[SUM:.*]] = mf.add %[[DY]], %[[SECOND]]
  // CHECK-NEXT: %[[FIRST:.*]] = mf.neg %[[DY]]
  // CHECK-NEXT: %[[ALL:.*]] = mf.add %[[SUM]], %[[FIRST]]
  // CHECK-NEXT: mf.return %[[ALL]]
}

// The bias gets the share of each expert, the value its gradient as it is.
// CHECK-LABEL: mf.model @statistic_of_the_load
// CHECK: %[[VALUES:.*]], %[[CHOSEN:.*]] = mf.top_k
// CHECK-NEXT: %[[DY:.*]] = mf.cut %[[VALUES]] : tensor<3x2xf32>
// CHECK-NEXT: %[[HOT:.*]] = mf.one_hot %[[CHOSEN]] {name = "layer.load.grad"} : (tensor<3x2xi32>) -> tensor<3x2x8xf32>
// CHECK-NEXT: %[[SUM:.*]] = mf.reduce_sum %[[HOT]] {axes = array<i64: 0, 1>, name = "layer.load.grad"} : (tensor<3x2x8xf32>) -> tensor<8xf32>
// CHECK-NEXT: %[[SHARE:.*]] = mf.scale %[[SUM]] {name = "layer.load.grad", value = 0.16666666666666666 : f64} : (tensor<8xf32>) -> tensor<8xf32>
// CHECK-NEXT: %[[DX:.*]] = mf.scatter_elements %[[DY]], %[[CHOSEN]]
// CHECK-NEXT: mf.return %[[DX]], %[[SHARE]]
mf.model @statistic_of_the_load attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  mf.param @bias : tensor<8xf32> init <zeros> {update_rule = #mf.update_rule<balance>}
  mf.layer @layer body (%x: tensor<3x8xf32>) -> tensor<3x2xf32> attributes {placement = #mf.placement<stage = 1, chunk = 0>} {
    %b = mf.get_param @bias : tensor<8xf32>
    %v, %i = mf.top_k %x {k = 2 : i64, name = "topk"} : (tensor<3x8xf32>) -> (tensor<3x2xf32>, tensor<3x2xi32>)
    %t = mf.track_load %v, %b, %i {choices = 6 : i64, name = "load"} : (tensor<3x2xf32>, tensor<8xf32>, tensor<3x2xi32>) -> tensor<3x2xf32>
    mf.return %t : tensor<3x2xf32>
  }
}

// A recorded statistic gets the value.
// CHECK-LABEL: mf.model @statistic_of_a_value
// CHECK: mf.chunk @chunk0 (%[[X:.*]]: tensor<3x2xf32>)
// CHECK: %[[VALUE:.*]] = mf.reshape {{.*}} {name = "layer.reshape"}
// CHECK-NEXT: %[[DX:.*]] = mf.cut %[[X]]
// CHECK-NEXT: mf.return %[[DX]], %[[VALUE]]
mf.model @statistic_of_a_value attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  mf.param @share : tensor<3x2xf32> init <zeros> {update_rule = #mf.update_rule<record>}
  mf.layer @layer body (%x: tensor<3x2xf32>) -> tensor<3x2xf32> attributes {placement = #mf.placement<stage = 1, chunk = 0>} {
    %s = mf.get_param @share : tensor<3x2xf32>
    %largest, %i = mf.top_k %x {k = 1 : i64, name = "topk"} : (tensor<3x2xf32>) -> (tensor<3x1xf32>, tensor<3x1xi32>)
    %o = mf.one_hot %i {name = "onehot"} : (tensor<3x1xi32>) -> tensor<3x1x2xf32>
    %v = mf.reshape %o {name = "reshape"} : (tensor<3x1x2xf32>) -> tensor<3x2xf32>
    %t = mf.record %x, %s, %v {name = "record"} : (tensor<3x2xf32>, tensor<3x2xf32>, tensor<3x2xf32>) -> tensor<3x2xf32>
    mf.return %t : tensor<3x2xf32>
  }
}

// Remarks say what became one graph, and how large it is.
// RUN: %roundtrip --pass-pipeline='builtin.module(mf.model(mf-build-backward))' --remarks-filter-passed=autodiff %s -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// REMARK: [Passed] Backward | Category:autodiff | Function=chunk0 | Remark="layers embedding to layers.0 of stage 0 are one graph", backward operators=2, forward operators=2, trained parameters=1
