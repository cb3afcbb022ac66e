// Kernels that would spoil their own operands, or add to what nobody wrote, are refused where their addresses show it.
// Where one value shows it, the operation itself is refused: dialects/ascend/launch-errors.mlir.
// RUN: %variants %s | %roundtrip --ascend-verify-program --split-input-file --verify-diagnostics

// An elementwise kernel may work on a view of its input, and an addition on what another kernel wrote.
ascend.program @stage0 stage 0 attributes {micro_batches = 1, micro_batch_size = 1, sequence_length = 4, vocab_size = 16, pad_token_id = -1, ignore_index = -100, arena_bytes = 512, host_bytes = 0} {
  ascend.stream @compute compute
  ascend.static @w parameter of "w" : !ascend.buffer<4x4xf32, hbm> at 0 {init = #mf.init<ones>}
  ascend.static @v parameter of "v" : !ascend.buffer<4x4xf32, hbm> at 64 {init = #mf.init<ones>}
  ascend.routine @layer() {
    %v = ascend.global @v : !ascend.buffer<4x4xf32, hbm>
    %t = ascend.alloc in scratch at 0 : !ascend.buffer<4x4xf32, hbm>
    %u = ascend.view %t : !ascend.buffer<4x4xf32, hbm> to !ascend.buffer<4x4xf32, hbm>
    ascend.launch "aclnnNeg"(%w) -> (%t) {} cell "fill" : (!ascend.buffer<4x4xf32, hbm>) -> !ascend.buffer<4x4xf32, hbm>
    ascend.launch "aclnnAdd"(%t, %v) -> (%u) {} cell "use" : (!ascend.buffer<4x4xf32, hbm>, !ascend.buffer<4x4xf32, hbm>) -> !ascend.buffer<4x4xf32, hbm>
    ascend.launch "aclnnInplaceAdd"(%w) -> (%t) {} cell "sum" : (!ascend.buffer<4x4xf32, hbm>) -> !ascend.buffer<4x4xf32, hbm>
  }
  ascend.step {
    ascend.call @layer() scratch at 128 : () -> ()
  }
}

// A product at the offset of its operand.
= %u = ascend.alloc in scratch at 0 : !ascend.buffer<4x4xf32, hbm>
- ascend.launch "aclnnAdd"
+ // expected-error@+1 {{aclnnMatmul ('use', task 'layer', stream 'compute') writes result of 'use', but it overlaps result of 'fill', which the same operation reads}}
+ ascend.launch "aclnnMatmul"(%t, %v) -> (%u) {} cell "use" : (!ascend.buffer<4x4xf32, hbm>, !ascend.buffer<4x4xf32, hbm>) -> !ascend.buffer<4x4xf32, hbm>

// A product that lies partly over its operand.
= %u = ascend.alloc in scratch at 32 : !ascend.buffer<4x4xf32, hbm>
- ascend.launch "aclnnAdd"
+ // expected-error@+1 {{aclnnMatmul ('use', task 'layer', stream 'compute') writes result of 'use', but it overlaps result of 'fill', which the same operation reads}}
+ ascend.launch "aclnnMatmul"(%t, %v) -> (%u) {} cell "use" : (!ascend.buffer<4x4xf32, hbm>, !ascend.buffer<4x4xf32, hbm>) -> !ascend.buffer<4x4xf32, hbm>

// A product on a view of its operand.
- ascend.launch "aclnnAdd"
+ // expected-error@+1 {{aclnnMatmul ('use', task 'layer', stream 'compute') writes result of 'fill', but it may not be the memory of result of 'fill', which the same operation reads}}
+ ascend.launch "aclnnMatmul"(%t, %v) -> (%u) {} cell "use" : (!ascend.buffer<4x4xf32, hbm>, !ascend.buffer<4x4xf32, hbm>) -> !ascend.buffer<4x4xf32, hbm>

// A permutation at the offset of its operand.
= %u = ascend.alloc in scratch at 0 : !ascend.buffer<4x4xf32, hbm>
- ascend.launch "aclnnAdd"
+ // expected-error@+1 {{aclnnPermute ('use', task 'layer', stream 'compute') writes result of 'use', but it overlaps result of 'fill', which the same operation reads}}
+ ascend.launch "aclnnPermute"(%t) -> (%u) {perm = array<i64: 1, 0>} cell "use" : (!ascend.buffer<4x4xf32, hbm>) -> !ascend.buffer<4x4xf32, hbm>

// An addition to what nobody wrote.
= %u = ascend.alloc in scratch at 0 : !ascend.buffer<4x4xf32, hbm>
- ascend.launch "aclnnNeg"
- ascend.launch "aclnnAdd"
+ // expected-error@+1 {{aclnnInplaceAdd ('sum', task 'layer', stream 'compute') reads result of 'sum', but nothing wrote its bytes 0 to 64 before}}
+ ascend.launch "aclnnInplaceAdd"(%w) -> (%t) {} cell "sum" : (!ascend.buffer<4x4xf32, hbm>) -> !ascend.buffer<4x4xf32, hbm>
- ascend.launch "aclnnInplaceAdd"

// An addition to what was written as another value.
= %u = ascend.alloc in scratch at 0 : !ascend.buffer<4x4xf32, hbm>
+ // expected-note@+1 {{that is here}}
- ascend.launch "aclnnAdd"
+ // expected-error@+1 {{aclnnInplaceAdd ('sum', task 'layer', stream 'compute') reads result of 'sum', but aclnnNeg ('fill', task 'layer', stream 'compute') wrote result of 'fill' to the same memory before}}
+ ascend.launch "aclnnInplaceAdd"(%w) -> (%u) {} cell "sum" : (!ascend.buffer<4x4xf32, hbm>) -> !ascend.buffer<4x4xf32, hbm>
- ascend.launch "aclnnInplaceAdd"

// An addition of a value to a view of it.
- ascend.launch "aclnnAdd"
+ // expected-error@+1 {{aclnnInplaceAdd ('sum', task 'layer', stream 'compute') writes result of 'fill', but it may not be the memory of result of 'fill', which the same operation reads}}
+ ascend.launch "aclnnInplaceAdd"(%t) -> (%u) {} cell "sum" : (!ascend.buffer<4x4xf32, hbm>) -> !ascend.buffer<4x4xf32, hbm>
- ascend.launch "aclnnInplaceAdd"

// A scale of what nobody wrote.
= %u = ascend.alloc in scratch at 0 : !ascend.buffer<4x4xf32, hbm>
- ascend.launch "aclnnNeg"
- ascend.launch "aclnnAdd"
+ %s = ascend.alloc in scratch at 128 : !ascend.buffer<f32, hbm>
+ ascend.launch "aclnnReduceSum"(%w) -> (%s) {axes = array<i64: 0, 1>} cell "scalar" : (!ascend.buffer<4x4xf32, hbm>) -> !ascend.buffer<f32, hbm>
+ // expected-error@+1 {{aclnnForeachMulScalar ('scale', task 'layer', stream 'compute') reads result of 'scale', but nothing wrote its bytes 0 to 64 before}}
+ ascend.launch "aclnnForeachMulScalar"(%s) -> (%t) {} cell "scale" : (!ascend.buffer<f32, hbm>) -> !ascend.buffer<4x4xf32, hbm>
- ascend.launch "aclnnInplaceAdd"
