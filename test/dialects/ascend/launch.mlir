// What kernels' signatures allow.
// RUN: %variants %s | %prints-itself %roundtrip

// An elementwise kernel may work in place.
ascend.launch "aclnnMul"(%x, %y) -> (%x) {} : (!ascend.buffer<4xf32, hbm>, !ascend.buffer<4xf32, hbm>) -> !ascend.buffer<4xf32, hbm>
ascend.launch "aclnnMul"(%x, %x) -> (%x) {} : (!ascend.buffer<4xf32, hbm>, !ascend.buffer<4xf32, hbm>) -> !ascend.buffer<4xf32, hbm>

// Any number of tensors is joined.
%z = "test.value"() : () -> !ascend.buffer<12xf32, hbm>
ascend.launch "aclnnCat"(%x, %x, %y) -> (%z) {axis = 0 : i64} : (!ascend.buffer<4xf32, hbm>, !ascend.buffer<4xf32, hbm>, !ascend.buffer<4xf32, hbm>) -> !ascend.buffer<12xf32, hbm>

// A workspace is printed where there is one; it may be larger than it must, and be there without need.
%norm = "test.value"() : () -> !ascend.buffer<f32, hbm>
%y = "test.value"() : () -> !ascend.buffer<4xf32, hbm>
%workspace = "test.value"() : () -> !ascend.buffer<16xi32, hbm>
ascend.launch "aclnnForeachNorm"(%large) -> (%norm) workspace(%workspace : !ascend.buffer<16xi32, hbm>) {} cell "a" : (!ascend.buffer<100000xf32, hbm>) -> !ascend.buffer<f32, hbm>
ascend.launch "aclnnNeg"(%x) -> (%y) workspace(%workspace : !ascend.buffer<16xi32, hbm>) {} : (!ascend.buffer<4xf32, hbm>) -> !ascend.buffer<4xf32, hbm>
