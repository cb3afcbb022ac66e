// What leaves the device between forward and backward, and where it comes back.
// RUN: %roundtrip --pass-pipeline='builtin.module(mf.model(mf-build-backward,mf.chunk(mf-insert-swap)))' %s | FileCheck %s
// RUN: %roundtrip --pass-pipeline='builtin.module(mf.model(mf-build-backward,mf.chunk(mf-insert-swap{print-plan=true})))' %s -o /dev/null 2>&1 | FileCheck %s --check-prefix=PLAN
// RUN: %roundtrip --pass-pipeline='builtin.module(mf.model(mf-build-backward,mf.chunk(mf-insert-swap)))' --remark-format=emitRemark --remarks-filter=swap %s -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// PLAN: swap plan: 1 of 1 values swapped, 16 bytes; 0 bytes kept
// PLAN-NEXT: layers.0.silu, 16 bytes, distance 2: leaves the device between forward and backward
// REMARK: [Passed] Swap | Category:swap | Function=chunk0 | Remark="layers.0.silu leaves the device between forward and backward", bytes=16, distance=2
// CHECK-LABEL: mf.model @one_pair_for_all_readers
mf.model @one_pair_for_all_readers attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  mf.layer @layers.0 body (%x: tensor<4xf32>) -> tensor<4xf32> attributes {placement = #mf.placement<stage = 0, chunk = 0>} {
    // The mark has done its work; the copy out starts right behind the operator.
    // CHECK: %[[B:.*]] = mf.silu %{{.*}} {name = "layers.0.silu"} :
    // CHECK-NEXT: %[[HOST:.*]] = mf.offload %[[B]] {distance = 2 : i64, name = "layers.0.silu"} : tensor<4xf32>
    %b = mf.silu %x {name = "silu", swap = #mf.swap<distance = 2>} : (tensor<4xf32>) -> tensor<4xf32>
    // Forward itself reads what is on the device.
    // CHECK-NEXT: %[[Y:.*]] = mf.mul %[[B]], %[[B]]
    %y = mf.mul %b, %b {name = "mul"} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %z = mf.neg %y {name = "neg"} : (tensor<4xf32>) -> tensor<4xf32>
    // CHECK-NEXT: mf.neg %[[Y]]
    // CHECK-NEXT: mf.cut
    // CHECK-NEXT: mf.neg
    // CHECK-NEXT: %[[BACK:.*]] = mf.prefetch %[[HOST]] {distance = 2 : i64, name = "layers.0.silu"} : tensor<4xf32>
    // CHECK-NEXT: mf.mul %{{.*}}, %[[BACK]]
    // CHECK-NEXT: mf.mul %{{.*}}, %[[BACK]]
    // CHECK-NOT: mf.prefetch
    mf.return %z : tensor<4xf32>
  }
}

// A view has no memory of its own: what it shows is swapped once, and backward gets a view of the copy.
// PLAN: swap plan: 1 of 1 values swapped
// CHECK-LABEL: mf.model @through_views
mf.model @through_views attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  mf.layer @layers.0 body (%x: tensor<4xf32>) -> tensor<2x2xf32> attributes {placement = #mf.placement<stage = 0, chunk = 0>} {
    // CHECK: mf.silu
    // CHECK-NEXT: %[[HOST:.*]] = mf.offload
    // CHECK-NOT: mf.offload
    %b = mf.silu %x {name = "silu", swap = #mf.swap<distance = 1>} : (tensor<4xf32>) -> tensor<4xf32>
    %v = mf.reshape %b {name = "reshape", swap = #mf.swap<distance = 1>} : (tensor<4xf32>) -> tensor<2x2xf32>
    %y = mf.silu %v {name = "again"} : (tensor<2x2xf32>) -> tensor<2x2xf32>
    // CHECK: %[[DY:.*]] = mf.cut
    // CHECK-NEXT: %[[BACK:.*]] = mf.prefetch %[[HOST]]
    // CHECK-NEXT: %[[VIEW:.*]] = mf.reshape %[[BACK]]
    // CHECK-NEXT: mf.silu_grad %[[DY]], %[[VIEW]]
    mf.return %y : tensor<2x2xf32>
  }
}

// What is left alone, and why.
// PLAN: swap plan: 0 of 4 values swapped, 0 bytes; 16 bytes kept
// REMARK-DAG: [Missed] Swap | Category:swap | Function=left_alone | Remark="cast not swapped: it is made of parameters alone", bytes=8, distance=1
// REMARK-DAG: [Missed] Swap | Category:swap | Function=left_alone | Remark="kept not swapped: an operator that is recomputed reads it", bytes=16, distance=1
// REMARK-DAG: [Missed] Swap | Category:swap | Function=left_alone | Remark="unread not swapped: backward does not read it", bytes=16, distance=1
// CHECK-LABEL: mf.chunk @left_alone
mf.model @three attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  mf.param @w : tensor<4xf32> init <ones>
  mf.chunk @left_alone (%x: tensor<4xf32>) -> tensor<4xf32>
      attributes {placement = #mf.placement<stage = 0, chunk = 0>, inputs = [], input_indices = [], gradients = []} {
    // CHECK-NOT: mf.offload
    // CHECK-NOT: mf.prefetch
    %w = mf.get_param @w : tensor<4xf32>
    %c = mf.cast %w {name = "cast", swap = #mf.swap<distance = 1>} : (tensor<4xf32>) -> tensor<4xbf16>
    %cx = mf.cast %x {name = "cast_x"} : (tensor<4xf32>) -> tensor<4xbf16>
    %p = mf.mul %cx, %c {name = "unread_product", swap = #mf.swap<distance = 1>} : (tensor<4xbf16>, tensor<4xbf16>) -> tensor<4xbf16>
    %u = mf.cast %p {name = "unread", swap = #mf.swap<distance = 1>} : (tensor<4xbf16>) -> tensor<4xf32>
    %k = mf.silu %u {name = "kept", swap = #mf.swap<distance = 1>} : (tensor<4xf32>) -> tensor<4xf32>
    %y = mf.silu %k {name = "again"} : (tensor<4xf32>) -> tensor<4xf32>
    %dy = mf.cut %y : tensor<4xf32>
    %b = mf.barrier %k, %dy {name = "kept"} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %a = mf.silu %b {name = "again"} : (tensor<4xf32>) -> tensor<4xf32>
    %d = mf.mul %dy, %a : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %dc = mf.cast %d : (tensor<4xf32>) -> tensor<4xbf16>
    %e = mf.mul %dc, %c : (tensor<4xbf16>, tensor<4xbf16>) -> tensor<4xbf16>
    %f = mf.cast %e : (tensor<4xbf16>) -> tensor<4xf32>
    mf.return %f : tensor<4xf32>
  }
}
