// What upstream's simplifications may do to operators, and what they must not.
// RUN: %roundtrip -allow-unregistered-dialect --canonicalize --cse %s | FileCheck %s

%x = "test.value"() : () -> tensor<2x4xf32>
%gradient = "test.value"() : () -> tensor<4xf32>

// A cast to the type it has and a reshape to the shape it has are nothing.
// CHECK: "test.no_cast"(%[[X:.*]]) :
%same_type = mf.cast %x : (tensor<2x4xf32>) -> tensor<2x4xf32>
"test.no_cast"(%same_type) : (tensor<2x4xf32>) -> ()
// CHECK: "test.no_reshape"(%[[X]]) :
%same_shape = mf.reshape %x : (tensor<2x4xf32>) -> tensor<2x4xf32>
"test.no_reshape"(%same_shape) : (tensor<2x4xf32>) -> ()

// Casting down and up again rounds: both casts stay.
// CHECK: %[[NARROW:.*]] = mf.cast %[[X]]
// CHECK: %[[WIDE:.*]] = mf.cast %[[NARROW]]
// CHECK: "test.rounded"(%[[WIDE]])
%narrow = mf.cast %x : (tensor<2x4xf32>) -> tensor<2x4xbf16>
%wide = mf.cast %narrow : (tensor<2x4xbf16>) -> tensor<2x4xf32>
"test.rounded"(%wide) : (tensor<2x4xf32>) -> ()

// The same operator on the same value is computed once.
// CHECK: %[[ONCE:.*]] = mf.silu %[[X]]
// CHECK: "test.same"(%[[ONCE]], %[[ONCE]])
%first = mf.silu %x : (tensor<2x4xf32>) -> tensor<2x4xf32>
%second = mf.silu %x : (tensor<2x4xf32>) -> tensor<2x4xf32>
"test.same"(%first, %second) : (tensor<2x4xf32>, tensor<2x4xf32>) -> ()

// Behind a barrier it is computed again, from a value that looks different.
// CHECK: %[[BARRIER:.*]] = mf.barrier %[[X]], %{{.*}}
// CHECK: %[[AGAIN:.*]] = mf.silu %[[BARRIER]]
// CHECK: "test.different"(%[[ONCE]], %[[AGAIN]])
%barrier = mf.barrier %x, %gradient : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
%again = mf.silu %barrier : (tensor<2x4xf32>) -> tensor<2x4xf32>
"test.different"(%first, %again) : (tensor<2x4xf32>, tensor<2x4xf32>) -> ()

// An operator without users goes away.
// CHECK-NOT: mf.neg
%unused = mf.neg %x : (tensor<2x4xf32>) -> tensor<2x4xf32>
