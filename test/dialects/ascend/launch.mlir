// What kernels' signatures allow.
// RUN: %roundtrip -allow-unregistered-dialect %s | FileCheck %s

%x = "test.buffer"() : () -> !ascend.buffer<4xf32, hbm>
%y = "test.buffer"() : () -> !ascend.buffer<4xf32, hbm>
%z = "test.buffer"() : () -> !ascend.buffer<12xf32, hbm>

// An elementwise kernel may work in place.
// CHECK: ascend.launch "aclnnMul"(%[[X:.*]], %[[Y:.*]]) -> (%[[X]]) {}
ascend.launch "aclnnMul"(%x, %y) -> (%x) {} : (!ascend.buffer<4xf32, hbm>, !ascend.buffer<4xf32, hbm>) -> !ascend.buffer<4xf32, hbm>
// CHECK: ascend.launch "aclnnMul"(%[[X]], %[[X]]) -> (%[[X]]) {}
ascend.launch "aclnnMul"(%x, %x) -> (%x) {} : (!ascend.buffer<4xf32, hbm>, !ascend.buffer<4xf32, hbm>) -> !ascend.buffer<4xf32, hbm>

// Any number of tensors is joined.
// CHECK: ascend.launch "aclnnCat"(%[[X]], %[[X]], %[[Y]]) -> (%{{.*}}) {axis = 0 : i64}
ascend.launch "aclnnCat"(%x, %x, %y) -> (%z) {axis = 0} : (!ascend.buffer<4xf32, hbm>, !ascend.buffer<4xf32, hbm>, !ascend.buffer<4xf32, hbm>) -> !ascend.buffer<12xf32, hbm>

// A workspace is printed where there is one; it may be larger than it must, and be there without need.
%large = "test.buffer"() : () -> !ascend.buffer<100000xf32, hbm>
%norm = "test.buffer"() : () -> !ascend.buffer<f32, hbm>
%workspace = "test.buffer"() : () -> !ascend.buffer<16xi32, hbm>
// CHECK: ascend.launch "aclnnForeachNorm"(%[[LARGE:.*]]) -> (%[[NORM:.*]]) workspace(%{{.*}} : !ascend.buffer<16xi32, hbm>) {} cell "a" : (!ascend.buffer<100000xf32, hbm>) -> !ascend.buffer<f32, hbm>
ascend.launch "aclnnForeachNorm"(%large) -> (%norm) workspace(%workspace : !ascend.buffer<16xi32, hbm>) {} cell "a" : (!ascend.buffer<100000xf32, hbm>) -> !ascend.buffer<f32, hbm>
// CHECK: ascend.launch "aclnnNeg"(%[[X]]) -> (%[[Y]]) workspace(%{{.*}} : !ascend.buffer<16xi32, hbm>)
ascend.launch "aclnnNeg"(%x) -> (%y) workspace(%workspace : !ascend.buffer<16xi32, hbm>) {} : (!ascend.buffer<4xf32, hbm>) -> !ascend.buffer<4xf32, hbm>
