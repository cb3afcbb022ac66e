// What kernels' signatures allow.
// RUN: mf-opt -allow-unregistered-dialect %s | FileCheck %s

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
