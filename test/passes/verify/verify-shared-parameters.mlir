// Two of three stages have a copy of one parameter: each updates it by the sum of their gradients, which counts once in
// the norm.
// RUN: %roundtrip --ascend-verify-program %s -o /dev/null

// Without the sum on any stage, and where only the update reads the gradient.
// RUN: sed '/channel "tied"/d; /for %%summed/d' %s > %t.no-sum.mlir
// RUN: not %roundtrip --ascend-verify-program %t.no-sum.mlir 2>&1 | FileCheck %s --check-prefix=NORM
// NORM: error: aclnnForeachNorm (task 'update', stream 'compute') takes gradient 'w', which over 'pp' is a summand of a sum: the kernel is not linear in it
// RUN: sed 's/ForeachNorm"(%%g)/ForeachNorm"(%%x)/' %t.no-sum.mlir > %t.update.mlir
// RUN: not %roundtrip --ascend-verify-program %t.update.mlir 2>&1 | FileCheck %s --check-prefix=UPDATE
// UPDATE: error: aclnnInplaceAdd (task 'update', stream 'compute') takes parameter 'w', which over 'pp' is the same on the stages that share it: expected a summand like what it is added to, or the sum of that

// Summed up twice.
// RUN: sed '/channel "tied"/{h; s/%%summed = //; s/ -> !ascend.event//; p; g}' %s > %t.twice.mlir
// RUN: not %roundtrip --ascend-verify-program %t.twice.mlir 2>&1 | FileCheck %s --check-prefix=TWICE
// TWICE: error: all_reduce (channel 'tied', task 'update', stream 'pp') takes gradient '{{.*}}', which over 'pp' is the same on the stages that share it: expected a summand: the sum would be of something else

// Both stages count it.
// RUN: sed '/@stage[1]/,/@stage[2]/ s/ForeachNorm"(%%x)/ForeachNorm"(%%g)/' %s > %t.counted.mlir
// RUN: not %roundtrip --ascend-verify-program %t.counted.mlir 2>&1 | FileCheck %s --check-prefix=COUNTED
// COUNTED: error: all_reduce (channel 'norm', task 'update', stream 'pp') takes temporary {{.*}}, which over 'pp' is a summand of a sum: it counts 'w', which stage {{[01]}} counts, too: expected one of the stages that share it

// A norm of these stages alone.
// RUN: sed 's/over <pp> channel "norm"/over <pp stages [0, 1]> channel "norm"/; /@stage[2]/,$ {/channel/d; /for %%normed/d}' %s > %t.some.mlir
// RUN: not %roundtrip --ascend-verify-program %t.some.mlir 2>&1 | FileCheck %s --check-prefix=SOME
// SOME: error: all_reduce (channel 'norm', task 'update', stream 'pp') takes temporary {{.*}}, which over 'pp' is a summand of a sum: expected all stages: others have more of it

// An update by what one stage has alone.
// RUN: sed '/@stage[1]/,/@stage[2]/ s/InplaceAdd"(%%g)/InplaceAdd"(%%x)/' %s > %t.own.mlir
// RUN: not %roundtrip --ascend-verify-program %t.own.mlir 2>&1 | FileCheck %s --check-prefix=OWN
// OWN: error: parameter 'copy' is declared the same on the stages that share it over 'pp', but the step leaves in it a part of a whole: the stages' copies would differ

module attributes {mf.mesh = #mf.mesh<pp = 3>} {
ascend.program @stage0 stage 0 attributes {micro_batches = 1, micro_batch_size = 1, sequence_length = 4, vocab_size = 16, pad_token_id = -1, ignore_index = -100, arena_bytes = 2048, host_bytes = 64} {
  ascend.stream @compute compute
  ascend.stream @pp communication
  ascend.static @x0 parameter of "x0" : !ascend.buffer<4x4xf32, hbm> at 0
  ascend.static @w parameter of "w" : !ascend.buffer<4x4xf32, hbm> at 64
  ascend.static @gradient.w gradient of "w" : !ascend.buffer<4x4xf32, hbm> at 128
  ascend.routine @update() attributes {updates_parameters} {
    %x = ascend.global @x0 : !ascend.buffer<4x4xf32, hbm>
    %w = ascend.global @w : !ascend.buffer<4x4xf32, hbm>
    %g = ascend.global @gradient.w : !ascend.buffer<4x4xf32, hbm>
    %ready = ascend.record @compute
    %summed = ascend.collective all_reduce %g to %g over <pp stages [0, 1]> channel "tied" on @pp after %ready : !ascend.buffer<4x4xf32, hbm> to !ascend.buffer<4x4xf32, hbm> -> !ascend.event
    ascend.wait @compute for %summed
    %n = ascend.alloc in scratch at 0 : !ascend.buffer<f32, hbm>
    %k = ascend.alloc in scratch at 64 : !ascend.buffer<1xi32, hbm>
    ascend.launch "aclnnForeachNorm"(%g) -> (%n) workspace(%k : !ascend.buffer<1xi32, hbm>) {} : (!ascend.buffer<4x4xf32, hbm>) -> !ascend.buffer<f32, hbm>
    %s = ascend.alloc in scratch at 128 : !ascend.buffer<f32, hbm>
    ascend.launch "aclnnMul"(%n, %n) -> (%s) {} : (!ascend.buffer<f32, hbm>, !ascend.buffer<f32, hbm>) -> !ascend.buffer<f32, hbm>
    %squared = ascend.record @compute
    %normed = ascend.collective all_reduce %s to %s over <pp> channel "norm" on @pp after %squared : !ascend.buffer<f32, hbm> to !ascend.buffer<f32, hbm> -> !ascend.event
    ascend.wait @compute for %normed
    ascend.launch "aclnnInplaceAdd"(%g) -> (%w) {} : (!ascend.buffer<4x4xf32, hbm>) -> !ascend.buffer<4x4xf32, hbm>
  }
  ascend.routine @backward() {
    %x = ascend.global @x0 : !ascend.buffer<4x4xf32, hbm>
    %g = ascend.global @gradient.w : !ascend.buffer<4x4xf32, hbm>
    ascend.launch "aclnnInplaceCopy"(%x) -> (%g) {} : (!ascend.buffer<4x4xf32, hbm>) -> !ascend.buffer<4x4xf32, hbm>
  }
  ascend.step {
    ascend.call @backward() : () -> ()
    ascend.call @update() scratch at 1024 : () -> ()
  }
}
ascend.program @stage1 stage 1 attributes {micro_batches = 1, micro_batch_size = 1, sequence_length = 4, vocab_size = 16, pad_token_id = -1, ignore_index = -100, arena_bytes = 2048, host_bytes = 64} {
  ascend.stream @compute compute
  ascend.stream @pp communication
  ascend.static @x1 parameter of "x1" : !ascend.buffer<4x4xf32, hbm> at 0
  ascend.static @copy parameter of "copy" : !ascend.buffer<4x4xf32, hbm> at 64 {tied = @w}
  ascend.static @gradient.copy gradient of "copy" : !ascend.buffer<4x4xf32, hbm> at 128
  ascend.routine @update() attributes {updates_parameters} {
    %x = ascend.global @x1 : !ascend.buffer<4x4xf32, hbm>
    %w = ascend.global @copy : !ascend.buffer<4x4xf32, hbm>
    %g = ascend.global @gradient.copy : !ascend.buffer<4x4xf32, hbm>
    %ready = ascend.record @compute
    %summed = ascend.collective all_reduce %g to %g over <pp stages [0, 1]> channel "tied" on @pp after %ready : !ascend.buffer<4x4xf32, hbm> to !ascend.buffer<4x4xf32, hbm> -> !ascend.event
    ascend.wait @compute for %summed
    %n = ascend.alloc in scratch at 0 : !ascend.buffer<f32, hbm>
    %k = ascend.alloc in scratch at 64 : !ascend.buffer<1xi32, hbm>
    ascend.launch "aclnnForeachNorm"(%x) -> (%n) workspace(%k : !ascend.buffer<1xi32, hbm>) {} : (!ascend.buffer<4x4xf32, hbm>) -> !ascend.buffer<f32, hbm>
    %s = ascend.alloc in scratch at 128 : !ascend.buffer<f32, hbm>
    ascend.launch "aclnnMul"(%n, %n) -> (%s) {} : (!ascend.buffer<f32, hbm>, !ascend.buffer<f32, hbm>) -> !ascend.buffer<f32, hbm>
    %squared = ascend.record @compute
    %normed = ascend.collective all_reduce %s to %s over <pp> channel "norm" on @pp after %squared : !ascend.buffer<f32, hbm> to !ascend.buffer<f32, hbm> -> !ascend.event
    ascend.wait @compute for %normed
    ascend.launch "aclnnInplaceAdd"(%g) -> (%w) {} : (!ascend.buffer<4x4xf32, hbm>) -> !ascend.buffer<4x4xf32, hbm>
  }
  ascend.routine @backward() {
    %x = ascend.global @x1 : !ascend.buffer<4x4xf32, hbm>
    %g = ascend.global @gradient.copy : !ascend.buffer<4x4xf32, hbm>
    ascend.launch "aclnnInplaceCopy"(%x) -> (%g) {} : (!ascend.buffer<4x4xf32, hbm>) -> !ascend.buffer<4x4xf32, hbm>
  }
  ascend.step {
    ascend.call @backward() : () -> ()
    ascend.call @update() scratch at 1024 : () -> ()
  }
}
ascend.program @stage2 stage 2 attributes {micro_batches = 1, micro_batch_size = 1, sequence_length = 4, vocab_size = 16, pad_token_id = -1, ignore_index = -100, arena_bytes = 2048, host_bytes = 64} {
  ascend.stream @compute compute
  ascend.stream @pp communication
  ascend.static @x2 parameter of "x2" : !ascend.buffer<4x4xf32, hbm> at 0
  ascend.routine @update() attributes {updates_parameters} {
    %x = ascend.global @x2 : !ascend.buffer<4x4xf32, hbm>
    %n = ascend.alloc in scratch at 0 : !ascend.buffer<f32, hbm>
    %k = ascend.alloc in scratch at 64 : !ascend.buffer<1xi32, hbm>
    ascend.launch "aclnnForeachNorm"(%x) -> (%n) workspace(%k : !ascend.buffer<1xi32, hbm>) {} : (!ascend.buffer<4x4xf32, hbm>) -> !ascend.buffer<f32, hbm>
    %s = ascend.alloc in scratch at 128 : !ascend.buffer<f32, hbm>
    ascend.launch "aclnnMul"(%n, %n) -> (%s) {} : (!ascend.buffer<f32, hbm>, !ascend.buffer<f32, hbm>) -> !ascend.buffer<f32, hbm>
    %squared = ascend.record @compute
    %normed = ascend.collective all_reduce %s to %s over <pp> channel "norm" on @pp after %squared : !ascend.buffer<f32, hbm> to !ascend.buffer<f32, hbm> -> !ascend.event
    ascend.wait @compute for %normed
  }
  ascend.step {
    ascend.call @update() scratch at 1024 : () -> ()
  }
}
}
