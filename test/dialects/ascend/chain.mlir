// A chain prints its kernels readably, and parses what it prints.
// RUN: %roundtrip -allow-unregistered-dialect %s | %roundtrip -allow-unregistered-dialect | FileCheck %s
// RUN: %roundtrip -allow-unregistered-dialect -emit-bytecode %s | %roundtrip -allow-unregistered-dialect | FileCheck %s

%x = "test.buffer"() : () -> !ascend.buffer<4x8xf32, hbm>
%y = "test.buffer"() : () -> !ascend.buffer<8xf32, hbm>
%z = "test.buffer"() : () -> !ascend.buffer<4x8xbf16, hbm>
// CHECK: ascend.launch "mfChain"(%0, %1) -> (%2) {steps = #ascend.steps<aclnnMul(in0, in1) : tensor<4x8xf32>, aclnnMuls(t0) {value = 5.000000e-01 : f64} : tensor<4x8xf32>, aclnnCast(t1) : tensor<4x8xbf16>>} cell "layer.mul"
ascend.launch "mfChain"(%x, %y) -> (%z) {steps = #ascend.steps<
    aclnnMul(in0, in1) : tensor<4x8xf32>,
    aclnnMuls(t0) {value = 0.5 : f64} : tensor<4x8xf32>,
    aclnnCast(t1) : tensor<4x8xbf16>>} cell "layer.mul"
  : (!ascend.buffer<4x8xf32, hbm>, !ascend.buffer<8xf32, hbm>) -> !ascend.buffer<4x8xbf16, hbm>
// In place.
// CHECK: ascend.launch "mfChain"(%0) -> (%0)
ascend.launch "mfChain"(%x) -> (%x) {steps = #ascend.steps<
    aclnnSliceV2(in0) {sizes = [4, 2], starts = [0, 6]} : tensor<4x2xf32>,
    aclnnConstantPadNd(t0) {high = [0, 6], low = [0, 0]} : tensor<4x8xf32>>}
  : (!ascend.buffer<4x8xf32, hbm>) -> !ascend.buffer<4x8xf32, hbm>
