// A chain prints its kernels readably, and parses what it prints.
// RUN: %variants %s | %prints-itself %roundtrip

%z = "test.value"() : () -> !ascend.buffer<4x8xbf16, hbm>
ascend.launch "mfChain"(%x, %y) -> (%z) {steps = #ascend.steps<aclnnMul(in0, in1) : tensor<4x8xf32>, aclnnMuls(t0) {value = 5.000000e-01 : f64} : tensor<4x8xf32>, aclnnCast(t1) : tensor<4x8xbf16>>} cell "layer.mul" : (!ascend.buffer<4x8xf32, hbm>, !ascend.buffer<8xf32, hbm>) -> !ascend.buffer<4x8xbf16, hbm>
// In place.
ascend.launch "mfChain"(%x) -> (%x) {steps = #ascend.steps<aclnnSliceV2(in0) {sizes = [4, 2], starts = [0, 6]} : tensor<4x2xf32>, aclnnConstantPadNd(t0) {high = [0, 6], low = [0, 0]} : tensor<4x8xf32>>} : (!ascend.buffer<4x8xf32, hbm>) -> !ascend.buffer<4x8xf32, hbm>
