// RUN: %roundtrip --pass-pipeline='builtin.module(mf.model(mf-insert-adapters))' %s | FileCheck %s
// RUN: %roundtrip --pass-pipeline='builtin.module(mf.model(mf-insert-adapters{print-plan=true}))' %s 2>&1 >/dev/null | FileCheck --check-prefix=PLAN %s
// RUN: %roundtrip --pass-pipeline='builtin.module(mf.model(mf-insert-adapters))' %s --remarks-filter=adapters 2>&1 >/dev/null | FileCheck --check-prefix=REMARK %s

// A product gets a low-rank path beside it, whose parameters lie as the weight's dimensions do; what the adapters do not make is
// no longer trained, but tables stay tables.
// CHECK-LABEL: mf.model @one_linear
// CHECK-SAME: lora = #mf.lora<rank = 2, alpha = 8.000000e+00, dropout = 0.000000e+00, target = "w1", name_a = "mindpet_delta_lora_a", name_b = "mindpet_delta_lora_b", inserted = true>
// CHECK-NEXT: mf.param @table : tensor<6xf32> init <ones> {frozen}
// CHECK-NEXT: mf.param @model.layers.0.w1.weight : tensor<8x6xf32> init <normal, value = 2.000000e-02> {cuts = {{\[\["mp"\], \[\]\]}}, untrained}
// CHECK-NEXT: mf.param @model.layers.0.w1.bias : tensor<8xf32> init <zeros> {untrained}
// CHECK-NEXT: mf.param @model.layers.0.w1.mindpet_delta_lora_a : tensor<2x6xf32> init <uniform, value = 0.40824829046386307>{{$}}
// CHECK-NEXT: mf.param @model.layers.0.w1.mindpet_delta_lora_b : tensor<8x2xf32> init <zeros> {cuts = {{\[\["mp"\], \[\]\]}}}
// CHECK-NEXT: mf.layer @layers.0 body (%[[X:.*]]: tensor<1x4x6xf32>) -> tensor<1x4x8xf32>
// CHECK: %[[Y0:.*]] = mf.matmul %[[X]], %{{.*}} {name = "w1.matmul", transpose_b = true}
// CHECK: %[[Y:.*]] = mf.add %[[Y0]], %{{.*}} {name = "w1.bias_add"}
// CHECK-NEXT: %[[A:.*]] = mf.get_param @model.layers.0.w1.mindpet_delta_lora_a : tensor<2x6xf32>
// CHECK-NEXT: %[[U:.*]] = mf.matmul %[[X]], %[[A]] {name = "w1.lora_a_matmul", transpose_b = true} : (tensor<1x4x6xf32>, tensor<2x6xf32>) -> tensor<1x4x2xf32>
// CHECK-NEXT: %[[B:.*]] = mf.get_param @model.layers.0.w1.mindpet_delta_lora_b : tensor<8x2xf32>
// CHECK-NEXT: %[[V:.*]] = mf.matmul %[[U]], %[[B]] {name = "w1.lora_b_matmul", transpose_b = true} : (tensor<1x4x2xf32>, tensor<8x2xf32>) -> tensor<1x4x8xf32>
// CHECK-NEXT: %[[Z:.*]] = mf.scale %[[V]] {name = "w1.mul", value = 4.000000e+00 : f64}
// CHECK-NEXT: %[[S:.*]] = mf.add %[[Y]], %[[Z]] {name = "w1.add"}
// CHECK-NEXT: mf.return %[[S]]
// PLAN: w1 [6 to 8]: 1 with adapters of rank 2
// PLAN-NEXT: trained elements: 28 of 84
// REMARK: Function=one_linear
// REMARK-SAME: 1 linear layers get adapters of rank 2
// REMARK-SAME: frozen elements=56
// REMARK-SAME: trained elements=28
mf.model @one_linear attributes {lora = #mf.lora<rank = 2, alpha = 8.0, dropout = 0.0, target = "w1", name_a = "mindpet_delta_lora_a", name_b = "mindpet_delta_lora_b">, micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  mf.param @table : tensor<6xf32> init <ones> {frozen}
  mf.param @model.layers.0.w1.weight : tensor<8x6xf32> init <normal, value = 0.02> {cuts = [["mp"], []]}
  mf.param @model.layers.0.w1.bias : tensor<8xf32> init <zeros>
  mf.layer @layers.0 body (%x: tensor<1x4x6xf32>) -> tensor<1x4x8xf32> {
    %w = mf.get_param @model.layers.0.w1.weight : tensor<8x6xf32>
    %y = mf.matmul %x, %w {name = "w1.matmul", transpose_b = true} : (tensor<1x4x6xf32>, tensor<8x6xf32>) -> tensor<1x4x8xf32>
    %b = mf.get_param @model.layers.0.w1.bias : tensor<8xf32>
    %z = mf.add %y, %b {name = "w1.bias_add"} : (tensor<1x4x8xf32>, tensor<8xf32>) -> tensor<1x4x8xf32>
    mf.return %z : tensor<1x4x8xf32>
  }
}

// What two layers share they do not draw together: each drops its own elements of its input. The bits come from one argument.
// CHECK-LABEL: mf.model @dropped
// CHECK: mf.layer @layers.0 body (%[[X:.*]]: tensor<1x4x8xf32>, %[[DRAW:.*]]: tensor<3xi64>)
// CHECK: %[[M:.*]] = mf.dropout_mask %[[X]], %[[DRAW]] {{.*}}name = "attention.wq.lora_dropout.dropout", rate = 5.000000e-02{{.*}}source = "model.layers.0.attention.wq.lora_dropout.dropout"
// CHECK-NEXT: %[[D:.*]] = mf.dropout %[[X]], %[[M]] {name = "attention.wq.lora_dropout.dropout", rate = 5.000000e-02 : f64}
// CHECK: mf.matmul %[[D]], %{{.*}} {name = "attention.wq.lora_a_matmul"
// CHECK: mf.dropout_mask %[[X]], %[[DRAW]] {{.*}}source = "model.layers.0.attention.wv.lora_dropout.dropout"
mf.model @dropped attributes {lora = #mf.lora<rank = 1, alpha = 3.0, dropout = 0.05, target = ".*wq|.*wv", name_a = "mindpet_delta_lora_a", name_b = "mindpet_delta_lora_b">, micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  mf.param @model.layers.0.attention.wq.weight : tensor<8x8xf32> init <normal, value = 0.02>
  mf.param @model.layers.0.attention.wv.weight : tensor<8x8xf32> init <normal, value = 0.02>
  mf.layer @layers.0 body (%x: tensor<1x4x8xf32>) -> tensor<1x4x8xf32> {
    %q = mf.get_param @model.layers.0.attention.wq.weight : tensor<8x8xf32>
    %y = mf.matmul %x, %q {name = "attention.wq.matmul", transpose_b = true} : (tensor<1x4x8xf32>, tensor<8x8xf32>) -> tensor<1x4x8xf32>
    %v = mf.get_param @model.layers.0.attention.wv.weight : tensor<8x8xf32>
    %z = mf.matmul %x, %v {name = "attention.wv.matmul", transpose_b = true} : (tensor<1x4x8xf32>, tensor<8x8xf32>) -> tensor<1x4x8xf32>
    %s = mf.add %y, %z {name = "attention.add"} : (tensor<1x4x8xf32>, tensor<1x4x8xf32>) -> tensor<1x4x8xf32>
    mf.return %s : tensor<1x4x8xf32>
  }
}

// A compute type of the adapters' own is that of the whole linear layer: releases 1.0 to 1.2 compute in fp16 unless told
// otherwise, also in bf16 models. alpha / rank is rounded to it: 128/3 is 42.65625 in fp16.
// CHECK-LABEL: mf.model @other_types
// CHECK: mf.param @model.layers.0.w1.mindpet_delta_lora_a : tensor<3x8xf16>
// CHECK: %[[W:.*]] = mf.get_param @model.layers.0.w1.weight : tensor<8x8xf32>
// CHECK-NEXT: %[[XC:.*]] = mf.cast %arg0 {name = "w1.cast"} : (tensor<1x4x8xf32>) -> tensor<1x4x8xf16>
// CHECK-NEXT: %[[WC:.*]] = mf.cast %[[W]] {name = "w1.cast"} : (tensor<8x8xf32>) -> tensor<8x8xf16>
// CHECK-NEXT: %[[Y:.*]] = mf.matmul %[[XC]], %[[WC]] {name = "w1.matmul", transpose_b = true} : (tensor<1x4x8xf16>, tensor<8x8xf16>) -> tensor<1x4x8xf16>
// CHECK: mf.matmul %[[XC]], %{{.*}} {name = "w1.lora_a_matmul"
// CHECK: mf.scale %{{.*}} {name = "w1.mul", value = 42.65625 : f64}
// CHECK-NEXT: %[[S:.*]] = mf.add %[[Y]], %{{.*}} {name = "w1.add"} : (tensor<1x4x8xf16>, tensor<1x4x8xf16>) -> tensor<1x4x8xf16>
// CHECK-NEXT: %[[BACK:.*]] = mf.cast %[[S]] {name = "w1.cast"} : (tensor<1x4x8xf16>) -> tensor<1x4x8xbf16>
// CHECK-NEXT: mf.return %[[BACK]]
mf.model @other_types attributes {lora = #mf.lora<rank = 3, alpha = 128.0, dropout = 0.0, target = "w1", name_a = "mindpet_delta_lora_a", name_b = "mindpet_delta_lora_b", param_type = f16, compute_type = f16>, micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  mf.param @model.layers.0.w1.weight : tensor<8x8xf32> init <normal, value = 0.02>
  mf.layer @layers.0 body (%x: tensor<1x4x8xf32>) -> tensor<1x4x8xbf16> {
    %xc = mf.cast %x {name = "w1.cast"} : (tensor<1x4x8xf32>) -> tensor<1x4x8xbf16>
    %w = mf.get_param @model.layers.0.w1.weight : tensor<8x8xf32>
    %wc = mf.cast %w {name = "w1.cast"} : (tensor<8x8xf32>) -> tensor<8x8xbf16>
    %y = mf.matmul %xc, %wc {name = "w1.matmul", transpose_b = true} : (tensor<1x4x8xbf16>, tensor<8x8xbf16>) -> tensor<1x4x8xbf16>
    mf.return %y : tensor<1x4x8xbf16>
  }
}

// Freeze lists follow the adapters: what only `freeze_exclude` names is trained, a tied head with its owner. Excluded Cells,
// those in a Cell that matches, and the head never get adapters.
// CHECK-LABEL: mf.model @lists
// CHECK: mf.param @transformer.wte.embedding_weight : tensor<16x8xf32> init <zeros>{{$}}
// CHECK-NEXT: mf.param @transformer.layers.0.attention.wo.weight : tensor<8x8xf32> init <zeros> {untrained}
// CHECK-NEXT: mf.param @transformer.layers.1.attention.wo.weight : tensor<8x8xf32> init <zeros> {untrained}
// CHECK-NEXT: mf.param @transformer.layers.1.attention.wo.mindpet_delta_lora_a
// CHECK-NEXT: mf.param @transformer.layers.1.attention.wo.mindpet_delta_lora_b
// CHECK-NEXT: mf.param @transformer.layers.1.wol.wo.weight : tensor<8x8xf32> init <zeros> {untrained}
// CHECK-NEXT: mf.param @wo.weight : tensor<16x8xf32> init <zeros> tied to @transformer.wte.embedding_weight{{$}}
// CHECK-NOT: mf.param
// PLAN: wo [8 to 8]: 1 with adapters of rank 1
// PLAN-NEXT: transformer.wte.embedding_weight: trained too, 128 elements
// PLAN-NEXT: trained elements: 144 of 336
mf.model @lists attributes {lora = #mf.lora<rank = 1, alpha = 1.0, dropout = 0.0, target = "wo", name_a = "mindpet_delta_lora_a", name_b = "mindpet_delta_lora_b", exclude = ["0"], freeze_include = ["*wo.weight"], freeze_exclude = ["*wte*", "*1.attention.wo.weight"]>, micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  mf.param @transformer.wte.embedding_weight : tensor<16x8xf32> init <zeros>
  mf.param @transformer.layers.0.attention.wo.weight : tensor<8x8xf32> init <zeros>
  mf.param @transformer.layers.1.attention.wo.weight : tensor<8x8xf32> init <zeros>
  mf.param @transformer.layers.1.wol.wo.weight : tensor<8x8xf32> init <zeros>
  mf.param @wo.weight : tensor<16x8xf32> init <zeros> tied to @transformer.wte.embedding_weight
  mf.layer @layers.0 body (%x: tensor<1x4x8xf32>) -> tensor<1x4x8xf32> {
    %w = mf.get_param @transformer.layers.0.attention.wo.weight : tensor<8x8xf32>
    %y = mf.matmul %x, %w {name = "attention.wo.matmul", transpose_b = true} : (tensor<1x4x8xf32>, tensor<8x8xf32>) -> tensor<1x4x8xf32>
    mf.return %y : tensor<1x4x8xf32>
  }
  mf.layer @layers.1 body (%x: tensor<1x4x8xf32>) -> tensor<1x4x8xf32> {
    %w = mf.get_param @transformer.layers.1.attention.wo.weight : tensor<8x8xf32>
    %y = mf.matmul %x, %w {name = "attention.wo.matmul", transpose_b = true} : (tensor<1x4x8xf32>, tensor<8x8xf32>) -> tensor<1x4x8xf32>
    %v = mf.get_param @transformer.layers.1.wol.wo.weight : tensor<8x8xf32>
    %z = mf.matmul %y, %v {name = "wol.wo.matmul", transpose_b = true} : (tensor<1x4x8xf32>, tensor<8x8xf32>) -> tensor<1x4x8xf32>
    mf.return %z : tensor<1x4x8xf32>
  }
  mf.layer @lm_head head (%x: tensor<1x4x8xf32>) -> tensor<1x4x16xf32> {
    %w = mf.get_param @wo.weight : tensor<16x8xf32>
    %y = mf.matmul %x, %w {name = "wo.matmul", transpose_b = true} : (tensor<1x4x8xf32>, tensor<16x8xf32>) -> tensor<1x4x16xf32>
    mf.return %y : tensor<1x4x16xf32>
  }
}
