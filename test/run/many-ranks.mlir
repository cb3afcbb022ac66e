// Two stages of two ranks each, written by hand: collectives in the middle of
// layers, each on a stream of its own beside a launch that has nothing to do with
// it. Rank r of a stage holds rows 2r and 2r + 1 of @w, so gathered parts tell the
// ranks apart. M is 1 above the diagonal of 4 x 4, and 0 elsewhere:
//
//   stage 0: h = 2w, H = all_gather(h), x = H * H; residual r = 3w
//   stage 1: y = x * v, part = reduce_scatter(y), loss = all_reduce(sum(part))
//   stage 1: G = all_gather(part), dv += G * x
//   stage 0: part = reduce_scatter(G), dw += part * -r / 2
//   both:    norm = all_reduce(sum of the gradients) over all ranks,
//            parameters += gradients / 16
//
// RUN: mf-opt --ascend-plan-memory --ascend-verify-program=ranks=false %s -o %t.mlir
// RUN: rm -rf %t.d && mkdir %t.d
// Stage 1 adds up what its ranks have alike, twice what one rank would make: the proof over ranks refuses that.
// RUN: mf-run --verify=false %t.mlir --steps 2 --save-params %t.d/params.safetensors --dump-gradients-every-step %t.d | FileCheck %s
// RUN: mf-run --verify=false --debug-memory %t.mlir --steps 2 | FileCheck %s
// RUN: %python %S/Inputs/print_tensors.py %t.d/step_000001.safetensors %t.d/params.safetensors | FileCheck %s --check-prefix=VALUES

// CHECK: loss: 96.000, {{.*}} global_norm: [480.]
// CHECK: loss: 1920.000, {{.*}} global_norm: [72960.]

// VALUES:      v [4, 4]: 0 64 64 64 0 0 64 64 0 0 0 64 0 0 0 0
// VALUES-NEXT: w [4, 4]: 0 -48 -48 -48 0 0 -48 -48 0 0 0 -48 0 0 0 0
// VALUES-NEXT: v [4, 4]: 1 325 325 325 1 1 325 325 1 1 1 325 1 1 1 1
// VALUES-NEXT: w [4, 4]: 0 118 118 118 0 0 118 118 0 0 0 118 0 0 0 0

// Without the wait, it is refused.
// RUN: sed '/ascend.wait @compute for %gathered/d' %s | mf-opt --ascend-plan-memory -o %t.broken.mlir
// RUN: not mf-run %t.broken.mlir 2>&1 | FileCheck %s --check-prefix=WAIT
// WAIT: error: aclnnMul ('layers.0.square', task 'forward' of micro-batch 0, stream 'compute') reads result of 'layers.0.gather', but no event orders this after all_gather ('layers.0.gather', channel 'mp', task 'forward' of micro-batch 0, stream 'mp'), which writes it

module attributes {mf.mesh = #mf.mesh<pp = 2, mp = 2>} {
ascend.program @stage0 stage 0 attributes {micro_batches = 2, micro_batch_size = 1, sequence_length = 4, vocab_size = 16, pad_token_id = -1, ignore_index = -100} {
  ascend.stream @compute compute
  ascend.stream @d2h d2h
  ascend.stream @mp communication
  ascend.stream @world communication
  ascend.stream @to_next communication
  ascend.stream @to_last communication
  ascend.static @w parameter of "w" : !ascend.buffer<2x4xf32, hbm> slice #ascend.slice<[4, 4] over [[mp], []]> {init = #mf.init<causal_mask, value = 1.0>}
  ascend.static @dw gradient of "w" : !ascend.buffer<2x4xf32, hbm> slice #ascend.slice<[4, 4] over [[mp], []]>
  ascend.static @norm report of "global_norm" : !ascend.buffer<f32, hbm>
  ascend.frame_layout @residuals [!ascend.buffer<2x4xf32, hbm>] of ["layers.0.beside"]
  ascend.routine @begin() {
    %dw = ascend.global @dw : !ascend.buffer<2x4xf32, hbm>
    ascend.launch "aclnnInplaceZero"() -> (%dw) {} : () -> !ascend.buffer<2x4xf32, hbm>
  }
  ascend.routine @forward(%x: !ascend.buffer<4x4xf32, hbm>) attributes {layout = @residuals} {
    %w = ascend.global @w : !ascend.buffer<2x4xf32, hbm>
    %r = ascend.slot 0 : !ascend.buffer<2x4xf32, hbm>
    %h = ascend.alloc : !ascend.buffer<2x4xf32, hbm>
    %H = ascend.alloc : !ascend.buffer<4x4xf32, hbm>
    %a = ascend.alloc : !ascend.buffer<2x4xf32, hbm>
    ascend.launch "aclnnAdd"(%w, %w) -> (%h) {} cell "layers.0.up" : (!ascend.buffer<2x4xf32, hbm>, !ascend.buffer<2x4xf32, hbm>) -> !ascend.buffer<2x4xf32, hbm>
    %ready = ascend.record @compute
    %gathered = ascend.collective all_gather %h to %H over <mp> channel "mp" cell "layers.0.gather" on @mp after %ready : !ascend.buffer<2x4xf32, hbm> to !ascend.buffer<4x4xf32, hbm> -> !ascend.event
    ascend.launch "aclnnNeg"(%w) -> (%a) {} cell "layers.0.neg" : (!ascend.buffer<2x4xf32, hbm>) -> !ascend.buffer<2x4xf32, hbm>
    ascend.launch "aclnnMuls"(%a) -> (%r) {value = -3.0} cell "layers.0.beside" : (!ascend.buffer<2x4xf32, hbm>) -> !ascend.buffer<2x4xf32, hbm>
    ascend.wait @compute for %gathered
    ascend.launch "aclnnMul"(%H, %H) -> (%x) {} cell "layers.0.square" : (!ascend.buffer<4x4xf32, hbm>, !ascend.buffer<4x4xf32, hbm>) -> !ascend.buffer<4x4xf32, hbm>
  }
  ascend.routine @backward(%g: !ascend.buffer<4x4xf32, hbm>) attributes {layout = @residuals} {
    %dw = ascend.global @dw : !ascend.buffer<2x4xf32, hbm>
    %r = ascend.slot 0 : !ascend.buffer<2x4xf32, hbm>
    %part = ascend.alloc : !ascend.buffer<2x4xf32, hbm>
    %s = ascend.alloc : !ascend.buffer<2x4xf32, hbm>
    %t = ascend.alloc : !ascend.buffer<2x4xf32, hbm>
    %ready = ascend.record @compute
    %scattered = ascend.collective reduce_scatter %g to %part over <mp> channel "mp" cell "layers.0.scatter" on @mp after %ready : !ascend.buffer<4x4xf32, hbm> to !ascend.buffer<2x4xf32, hbm> -> !ascend.event
    ascend.launch "aclnnMuls"(%r) -> (%s) {value = -0.5} cell "layers.0.beside.grad" : (!ascend.buffer<2x4xf32, hbm>) -> !ascend.buffer<2x4xf32, hbm>
    ascend.wait @compute for %scattered
    ascend.launch "aclnnMul"(%part, %s) -> (%t) {} cell "layers.0.mul.grad" : (!ascend.buffer<2x4xf32, hbm>, !ascend.buffer<2x4xf32, hbm>) -> !ascend.buffer<2x4xf32, hbm>
    ascend.launch "aclnnInplaceAdd"(%t) -> (%dw) {} cell "w.accumulate" : (!ascend.buffer<2x4xf32, hbm>) -> !ascend.buffer<2x4xf32, hbm>
  }
  ascend.routine @update() attributes {updates_parameters} {
    %dw = ascend.global @dw : !ascend.buffer<2x4xf32, hbm>
    %w = ascend.global @w : !ascend.buffer<2x4xf32, hbm>
    %norm = ascend.global @norm : !ascend.buffer<f32, hbm>
    %count = ascend.alloc : !ascend.buffer<f32, hbm>
    %t = ascend.alloc : !ascend.buffer<2x4xf32, hbm>
    ascend.launch "aclnnReduceSum"(%dw) -> (%norm) {axes = array<i64: 0, 1>} cell "norm" : (!ascend.buffer<2x4xf32, hbm>) -> !ascend.buffer<f32, hbm>
    ascend.launch "aclnnReduceSum"(%w) -> (%count) {axes = array<i64: 0, 1>} cell "count" : (!ascend.buffer<2x4xf32, hbm>) -> !ascend.buffer<f32, hbm>
    %ready = ascend.record @compute
    %n = ascend.collective all_reduce %norm to %norm over <pp, mp> channel "world" cell "norm" on @world after %ready : !ascend.buffer<f32, hbm> to !ascend.buffer<f32, hbm> -> !ascend.event
    %c = ascend.collective all_reduce %count to %count over <pp, mp> channel "world" cell "count" on @world after %ready : !ascend.buffer<f32, hbm> to !ascend.buffer<f32, hbm> -> !ascend.event
    ascend.launch "aclnnMuls"(%dw) -> (%t) {value = 0.0625} cell "scale" : (!ascend.buffer<2x4xf32, hbm>) -> !ascend.buffer<2x4xf32, hbm>
    ascend.launch "aclnnInplaceAdd"(%t) -> (%w) {} cell "update" : (!ascend.buffer<2x4xf32, hbm>) -> !ascend.buffer<2x4xf32, hbm>
    ascend.wait @compute for %n
    ascend.wait @compute for %c
  }
  ascend.step {
    %x0 = ascend.message : !ascend.buffer<4x4xf32, hbm>
    %g0 = ascend.message : !ascend.buffer<4x4xf32, hbm>
    %f0 = ascend.frame @residuals micro_batch 0 : !ascend.frame<@residuals>
    %x1 = ascend.message : !ascend.buffer<4x4xf32, hbm>
    %g1 = ascend.message : !ascend.buffer<4x4xf32, hbm>
    %f1 = ascend.frame @residuals micro_batch 1 : !ascend.frame<@residuals>
    ascend.call @begin() : () -> ()
    ascend.call @forward(%x0) frame %f0 : !ascend.frame<@residuals> micro_batch 0 : (!ascend.buffer<4x4xf32, hbm>) -> ()
    %made0 = ascend.record @compute
    %sent0 = ascend.send %x0 to <pp + 1> channel "forward" on @to_next after %made0 : !ascend.buffer<4x4xf32, hbm> -> !ascend.event
    ascend.call @forward(%x1) frame %f1 : !ascend.frame<@residuals> micro_batch 1 : (!ascend.buffer<4x4xf32, hbm>) -> ()
    %made1 = ascend.record @compute
    %sent1 = ascend.send %x1 to <pp + 1> channel "forward" on @to_next after %made1 : !ascend.buffer<4x4xf32, hbm> -> !ascend.event
    %here0 = ascend.receive %g0 from <pp + 1> channel "backward" on @to_last after %made1 : !ascend.buffer<4x4xf32, hbm> -> !ascend.event
    ascend.call @backward(%g0) frame %f0 : !ascend.frame<@residuals> micro_batch 0 after %here0, %sent0 : (!ascend.buffer<4x4xf32, hbm>) -> ()
    %here1 = ascend.receive %g1 from <pp + 1> channel "backward" on @to_last after %made1 : !ascend.buffer<4x4xf32, hbm> -> !ascend.event
    ascend.call @backward(%g1) frame %f1 : !ascend.frame<@residuals> micro_batch 1 after %here1, %sent1 : (!ascend.buffer<4x4xf32, hbm>) -> ()
    ascend.call @update() : () -> ()
  }
}
ascend.program @stage1 stage 1 attributes {micro_batches = 2, micro_batch_size = 1, sequence_length = 4, vocab_size = 16, pad_token_id = -1, ignore_index = -100} {
  ascend.stream @compute compute
  ascend.stream @d2h d2h
  ascend.stream @mp communication
  ascend.stream @world communication
  ascend.stream @to_next communication
  ascend.stream @to_last communication
  ascend.static @v parameter of "v" : !ascend.buffer<4x4xf32, hbm> {init = #mf.init<ones>}
  ascend.static @dv gradient of "v" : !ascend.buffer<4x4xf32, hbm>
  ascend.static @loss report of "loss" : !ascend.buffer<f32, hbm>
  ascend.static @norm report of "global_norm" : !ascend.buffer<f32, hbm>
  ascend.static @host.loss report of "loss" : !ascend.buffer<f32, host>
  ascend.static @host.norm report of "global_norm" : !ascend.buffer<f32, host>
  ascend.frame_layout @residuals [!ascend.buffer<2x4xf32, hbm>] of ["layers.1.scatter"]
  ascend.routine @begin() {
    %dv = ascend.global @dv : !ascend.buffer<4x4xf32, hbm>
    %loss = ascend.global @loss : !ascend.buffer<f32, hbm>
    ascend.launch "aclnnInplaceZero"() -> (%dv) {} : () -> !ascend.buffer<4x4xf32, hbm>
    ascend.launch "aclnnInplaceZero"() -> (%loss) {} : () -> !ascend.buffer<f32, hbm>
  }
  ascend.routine @forward(%x: !ascend.buffer<4x4xf32, hbm>) attributes {layout = @residuals} {
    %v = ascend.global @v : !ascend.buffer<4x4xf32, hbm>
    %loss = ascend.global @loss : !ascend.buffer<f32, hbm>
    %part = ascend.slot 0 : !ascend.buffer<2x4xf32, hbm>
    %y = ascend.alloc : !ascend.buffer<4x4xf32, hbm>
    %sum = ascend.alloc : !ascend.buffer<f32, hbm>
    ascend.launch "aclnnMul"(%x, %v) -> (%y) {} cell "layers.1.mul" : (!ascend.buffer<4x4xf32, hbm>, !ascend.buffer<4x4xf32, hbm>) -> !ascend.buffer<4x4xf32, hbm>
    %ready = ascend.record @compute
    %scattered = ascend.collective reduce_scatter %y to %part over <mp> channel "mp" cell "layers.1.scatter" on @mp after %ready : !ascend.buffer<4x4xf32, hbm> to !ascend.buffer<2x4xf32, hbm> -> !ascend.event
    ascend.wait @compute for %scattered
    ascend.launch "aclnnReduceSum"(%part) -> (%sum) {axes = array<i64: 0, 1>} cell "loss" : (!ascend.buffer<2x4xf32, hbm>) -> !ascend.buffer<f32, hbm>
    %summed = ascend.record @compute
    %reduced = ascend.collective all_reduce %sum to %sum over <mp> channel "mp" cell "loss.reduce" on @mp after %summed : !ascend.buffer<f32, hbm> to !ascend.buffer<f32, hbm> -> !ascend.event
    ascend.wait @compute for %reduced
    ascend.launch "aclnnInplaceAdd"(%sum) -> (%loss) {} cell "loss.accumulate" : (!ascend.buffer<f32, hbm>) -> !ascend.buffer<f32, hbm>
  }
  ascend.routine @backward(%x: !ascend.buffer<4x4xf32, hbm>, %g: !ascend.buffer<4x4xf32, hbm>) attributes {layout = @residuals} {
    %dv = ascend.global @dv : !ascend.buffer<4x4xf32, hbm>
    %part = ascend.slot 0 : !ascend.buffer<2x4xf32, hbm>
    %t = ascend.alloc : !ascend.buffer<4x4xf32, hbm>
    %ready = ascend.record @compute
    %whole = ascend.collective all_gather %part to %g over <mp> channel "mp" cell "layers.1.gather" on @mp after %ready : !ascend.buffer<2x4xf32, hbm> to !ascend.buffer<4x4xf32, hbm> -> !ascend.event
    ascend.wait @compute for %whole
    ascend.launch "aclnnMul"(%g, %x) -> (%t) {} cell "layers.1.mul.grad" : (!ascend.buffer<4x4xf32, hbm>, !ascend.buffer<4x4xf32, hbm>) -> !ascend.buffer<4x4xf32, hbm>
    ascend.launch "aclnnInplaceAdd"(%t) -> (%dv) {} cell "v.accumulate" : (!ascend.buffer<4x4xf32, hbm>) -> !ascend.buffer<4x4xf32, hbm>
  }
  ascend.routine @update() attributes {updates_parameters} {
    %dv = ascend.global @dv : !ascend.buffer<4x4xf32, hbm>
    %v = ascend.global @v : !ascend.buffer<4x4xf32, hbm>
    %norm = ascend.global @norm : !ascend.buffer<f32, hbm>
    %count = ascend.alloc : !ascend.buffer<f32, hbm>
    %t = ascend.alloc : !ascend.buffer<4x4xf32, hbm>
    ascend.launch "aclnnReduceSum"(%dv) -> (%norm) {axes = array<i64: 0, 1>} cell "norm" : (!ascend.buffer<4x4xf32, hbm>) -> !ascend.buffer<f32, hbm>
    ascend.launch "aclnnReduceSum"(%v) -> (%count) {axes = array<i64: 0, 1>} cell "count" : (!ascend.buffer<4x4xf32, hbm>) -> !ascend.buffer<f32, hbm>
    %ready = ascend.record @compute
    %n = ascend.collective all_reduce %norm to %norm over <pp, mp> channel "world" cell "norm" on @world after %ready : !ascend.buffer<f32, hbm> to !ascend.buffer<f32, hbm> -> !ascend.event
    %c = ascend.collective all_reduce %count to %count over <pp, mp> channel "world" cell "count" on @world after %ready : !ascend.buffer<f32, hbm> to !ascend.buffer<f32, hbm> -> !ascend.event
    ascend.launch "aclnnMuls"(%dv) -> (%t) {value = 0.0625} cell "scale" : (!ascend.buffer<4x4xf32, hbm>) -> !ascend.buffer<4x4xf32, hbm>
    ascend.launch "aclnnInplaceAdd"(%t) -> (%v) {} cell "update" : (!ascend.buffer<4x4xf32, hbm>) -> !ascend.buffer<4x4xf32, hbm>
    ascend.wait @compute for %n
    ascend.wait @compute for %c
  }
  ascend.step {
    %x0 = ascend.message : !ascend.buffer<4x4xf32, hbm>
    %g0 = ascend.message : !ascend.buffer<4x4xf32, hbm>
    %f0 = ascend.frame @residuals micro_batch 0 : !ascend.frame<@residuals>
    %x1 = ascend.message : !ascend.buffer<4x4xf32, hbm>
    %g1 = ascend.message : !ascend.buffer<4x4xf32, hbm>
    %f1 = ascend.frame @residuals micro_batch 1 : !ascend.frame<@residuals>
    ascend.call @begin() : () -> ()
    %begun0 = ascend.record @compute
    %here0 = ascend.receive %x0 from <pp - 1> channel "forward" on @to_next after %begun0 : !ascend.buffer<4x4xf32, hbm> -> !ascend.event
    ascend.call @forward(%x0) frame %f0 : !ascend.frame<@residuals> micro_batch 0 after %here0 : (!ascend.buffer<4x4xf32, hbm>) -> ()
    ascend.call @backward(%x0, %g0) frame %f0 : !ascend.frame<@residuals> micro_batch 0 : (!ascend.buffer<4x4xf32, hbm>, !ascend.buffer<4x4xf32, hbm>) -> ()
    %made0 = ascend.record @compute
    %sent0 = ascend.send %g0 to <pp - 1> channel "backward" on @to_last after %made0 : !ascend.buffer<4x4xf32, hbm> -> !ascend.event
    %begun1 = ascend.record @compute
    %here1 = ascend.receive %x1 from <pp - 1> channel "forward" on @to_next after %begun1 : !ascend.buffer<4x4xf32, hbm> -> !ascend.event
    ascend.call @forward(%x1) frame %f1 : !ascend.frame<@residuals> micro_batch 1 after %here1 : (!ascend.buffer<4x4xf32, hbm>) -> ()
    ascend.call @backward(%x1, %g1) frame %f1 : !ascend.frame<@residuals> micro_batch 1 after %sent0 : (!ascend.buffer<4x4xf32, hbm>, !ascend.buffer<4x4xf32, hbm>) -> ()
    %made1 = ascend.record @compute
    %sent1 = ascend.send %g1 to <pp - 1> channel "backward" on @to_last after %made1 : !ascend.buffer<4x4xf32, hbm> -> !ascend.event
    ascend.call @update() after %sent1 : () -> ()
    %done = ascend.record @compute
    %loss = ascend.global @loss : !ascend.buffer<f32, hbm>
    %norm = ascend.global @norm : !ascend.buffer<f32, hbm>
    %host.loss = ascend.global @host.loss : !ascend.buffer<f32, host>
    %host.norm = ascend.global @host.norm : !ascend.buffer<f32, host>
    ascend.copy %loss to %host.loss on @d2h after %done : !ascend.buffer<f32, hbm> to !ascend.buffer<f32, host>
    ascend.copy %norm to %host.norm on @d2h after %done : !ascend.buffer<f32, hbm> to !ascend.buffer<f32, host>
  }
}
}
