// Collectives in the middle of a layer: each on its communicator's stream behind a record of the compute stream, which
// waits where it needs what the collective uses.
// RUN: cat %S/../Inputs/training.mlir %s | %roundtrip --pass-pipeline='builtin.module(mf.model(mf-build-schedule),mf-lower-to-ascend)' | FileCheck %s
// RUN: cat %S/../Inputs/training.mlir %s | %roundtrip --pass-pipeline='builtin.module(mf.model(mf-build-schedule),mf-lower-to-ascend,ascend.program(ascend-plan-memory),ascend-verify-program{ranks=false})' | FileCheck %s --check-prefix=PLAN

// CHECK: ascend.stream @collective.mp communication
// CHECK: ascend.stream @collective.dp.mp communication

// Forward: 'beside' reads what the gather reads, and 'more' what 'beside' makes; the wait stands before 'square'.
// CHECK: ascend.routine @chunk0.forward
// CHECK: ascend.launch "aclnnSilu"(%{{.*}}) -> (%[[A:.*]]) {} cell "silu"
// CHECK-NEXT: %[[ALL:.*]] = ascend.alloc : <8xf32, hbm>
// CHECK-NEXT: %[[READY:.*]] = ascend.record @compute
// CHECK-NEXT: %[[GATHERED:.*]] = ascend.collective all_gather %[[A]] to %[[ALL]] over <mp> channel "mp" cell "gather" on @collective.mp after %[[READY]] : <4xf32, hbm> to <8xf32, hbm> -> !ascend.event
// CHECK-NOT: ascend.wait
// CHECK: ascend.launch "aclnnNeg"(%[[A]]) -> (%{{.*}}) {} cell "beside"
// CHECK-NOT: ascend.wait
// CHECK: ascend.launch "aclnnNeg"({{.*}} cell "more"
// CHECK: ascend.wait @compute for %[[GATHERED]]
// CHECK-NEXT: ascend.launch "aclnnMul"(%[[ALL]], %[[ALL]])

// A group of two axes has a communicator of its own. What reads a view of the result waits, too; the sum of both results
// is waited for as each is needed.
// CHECK: %[[READY2:.*]] = ascend.record @compute
// CHECK-NEXT: %[[SCATTERED:.*]] = ascend.collective reduce_scatter %{{.*}} to %[[PART:.*]] over <dp, mp> channel "dp.mp" cell "scatter" on @collective.dp.mp after %[[READY2]]
// CHECK-NEXT: %[[VIEW:.*]] = ascend.view %[[PART]] : <2xf32, hbm> to <2x1xf32, hbm>
// CHECK-NOT: ascend.wait
// CHECK: ascend.launch "aclnnReduceSum"
// CHECK: ascend.wait @compute for %[[SCATTERED]]
// CHECK-NEXT: ascend.launch "aclnnReduceSum"(%[[VIEW]])

// One collective behind another reads its result: it starts behind a wait.
// CHECK: ascend.routine @chunk0.backward
// CHECK: %[[FIRST:.*]] = ascend.collective all_reduce %{{.*}} to %[[ONCE:.*]] over <mp> channel "mp" cell "first" on @collective.mp
// CHECK: ascend.wait @compute for %[[FIRST]]
// CHECK-NEXT: %[[READY3:.*]] = ascend.record @compute
// CHECK-NEXT: %[[SECOND:.*]] = ascend.collective all_reduce %[[ONCE]] to %{{.*}} over <mp> channel "mp" cell "second" on @collective.mp after %[[READY3]]
// Nothing reads the last result; the routine ends behind it.
// CHECK: %[[UNREAD:.*]] = ascend.collective all_reduce %{{.*}} cell "unread"
// CHECK: ascend.wait @compute for %[[UNREAD]]
// CHECK-NEXT: }

// While the gather runs, its input, its output and the operators beside it have memory of their own.
// PLAN: ascend.routine @chunk0.forward
// PLAN: %[[A:.*]] = ascend.alloc in scratch at [[#PLACE:]] : <4xf32, hbm>
// PLAN: ascend.launch "aclnnSilu"(%{{.*}}) -> (%[[A]])
// PLAN: %[[ALL:.*]] = ascend.alloc in scratch at [[#WHOLE:]] : <8xf32, hbm>
// PLAN: ascend.collective all_gather %[[A]] to %[[ALL]]
// PLAN-NOT: ascend.alloc in scratch at [[#PLACE]] :
// PLAN-NOT: ascend.alloc in scratch at [[#WHOLE]] :
// PLAN: cell "more"
// What the gather read has come free behind the wait.
// PLAN: %[[D:.*]] = ascend.alloc in scratch at [[#PLACE]] : <8xf32, hbm>
// PLAN-NEXT: ascend.wait @compute
// PLAN-NEXT: ascend.launch "aclnnMul"(%[[ALL]], %[[ALL]]) -> (%[[D]])

module attributes {mf.mesh = #mf.mesh<pp = 1, dp = 2, mp = 2>} {
mf.model @m attributes {
    micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64,
    training = #mf.training<parallel = <stages = 1, interleave = 1, micro_batches = 1, offset = 0>,
      optimizer = #adamw, lr_schedule = #constant, loss_scale = 1.0, max_device_memory = 65536>} {
  mf.param @w : tensor<16x1xf32> init <normal, value = 0.02>
  mf.forward @chunk0.forward (%tokens: tensor<4xi32>) -> (tensor<f32>, tensor<4xf32>)
      attributes {placement = #mf.placement<stage = 0, chunk = 0>, inputs = [#mf<input_kind tokens>], input_indices = [0]} {
    %w = mf.get_param @w : tensor<16x1xf32>
    %e = mf.embedding %w, %tokens {name = "embedding"} : (tensor<16x1xf32>, tensor<4xi32>) -> tensor<4x1xf32>
    %x = mf.reshape %e {name = "reshape"} : (tensor<4x1xf32>) -> tensor<4xf32>
    %a = mf.silu %x {name = "silu"} : (tensor<4xf32>) -> tensor<4xf32>
    %all = mf.all_gather %a over ["mp"] {name = "gather"} : tensor<4xf32> -> tensor<8xf32>
    %b = mf.neg %a {name = "beside"} : (tensor<4xf32>) -> tensor<4xf32>
    %c = mf.neg %b {name = "more"} : (tensor<4xf32>) -> tensor<4xf32>
    %d = mf.mul %all, %all {name = "square"} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    %part = mf.reduce_scatter %d over ["dp", "mp"] {name = "scatter"} : tensor<8xf32> -> tensor<2xf32>
    %view = mf.reshape %part {name = "view"} : (tensor<2xf32>) -> tensor<2x1xf32>
    %s = mf.reduce_sum %c {name = "sum", axes = array<i64: 0>} : (tensor<4xf32>) -> tensor<f32>
    %t = mf.reduce_sum %view {name = "sum.part", axes = array<i64: 0, 1>} : (tensor<2x1xf32>) -> tensor<f32>
    %y = mf.add %s, %t {name = "loss"} : (tensor<f32>, tensor<f32>) -> tensor<f32>
    mf.return %y, %c : tensor<f32>, tensor<4xf32>
  }
  mf.backward @chunk0.backward (%dy: tensor<f32>, %tokens: tensor<4xi32>, %x: tensor<4xf32>) -> tensor<16x1xf32>
      attributes {placement = #mf.placement<stage = 0, chunk = 0>, forward_arguments = [0], gradients = [@w]} {
    %a = mf.mul %x, %dy {name = "a"} : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
    %once = mf.all_reduce %a over ["mp"] {name = "first"} : tensor<4xf32> -> tensor<4xf32>
    %twice = mf.all_reduce %once over ["mp"] {name = "second"} : tensor<4xf32> -> tensor<4xf32>
    %dx = mf.reshape %twice {name = "reshape.grad"} : (tensor<4xf32>) -> tensor<4x1xf32>
    %dw = mf.embedding_grad %dx, %tokens {name = "embedding.grad"} : (tensor<4x1xf32>, tensor<4xi32>) -> tensor<16x1xf32>
    %unread = mf.all_reduce %a over ["mp"] {name = "unread"} : tensor<4xf32> -> tensor<4xf32>
    mf.return %dw : tensor<16x1xf32>
  }
}
}
