// RUN: %roundtrip -allow-unregistered-dialect %s | %roundtrip -allow-unregistered-dialect | FileCheck %s
// RUN: %roundtrip -allow-unregistered-dialect -mlir-print-op-generic %s | %roundtrip -allow-unregistered-dialect | FileCheck %s

%scores = "test.value"() : () -> tensor<3x8xf32>

// CHECK: mf.top_k %{{.*}} {k = 2 : i64, name = "topk"} : (tensor<3x8xf32>) -> (tensor<3x2xf32>, tensor<3x2xi32>)
%values, %indices = mf.top_k %scores {k = 2 : i64, name = "topk"} : (tensor<3x8xf32>) -> (tensor<3x2xf32>, tensor<3x2xi32>)
// CHECK: mf.gather_elements %{{.*}}, %{{.*}} {name = "gate_gather"} : (tensor<3x8xf32>, tensor<3x2xi32>) -> tensor<3x2xf32>
%gate = mf.gather_elements %scores, %indices {name = "gate_gather"} : (tensor<3x8xf32>, tensor<3x2xi32>) -> tensor<3x2xf32>
// CHECK: mf.scatter_elements
%scattered = mf.scatter_elements %gate, %indices : (tensor<3x2xf32>, tensor<3x2xi32>) -> tensor<3x8xf32>
// CHECK: mf.one_hot %{{.*}} : (tensor<3x2xi32>) -> tensor<3x2x8xf32>
%mask = mf.one_hot %indices : (tensor<3x2xi32>) -> tensor<3x2x8xf32>
// CHECK: mf.cumsum %{{.*}} {axis = 1 : i64}
%positions = mf.cumsum %mask {axis = 1 : i64} : (tensor<3x2x8xf32>) -> tensor<3x2x8xf32>
// CHECK: mf.sort
%sorted, %order = mf.sort %gate : (tensor<3x2xf32>) -> (tensor<3x2xf32>, tensor<3x2xi32>)

%experts = "test.value"() : () -> tensor<2x3x2xi32>
// CHECK: mf.top_k_router %{{.*}} {k_major = true} : (tensor<2x3x2xi32>) -> (tensor<2x8x4xi32>, tensor<2x3x2xi32>)
%dispatch, %combine = mf.top_k_router %experts {k_major = true} : (tensor<2x3x2xi32>) -> (tensor<2x8x4xi32>, tensor<2x3x2xi32>)

%bias = "test.value"() : () -> tensor<8xf32>
// CHECK: mf.track_load %{{.*}}, %{{.*}}, %{{.*}} {choices = 6 : i64} : (tensor<3x2xf32>, tensor<8xf32>, tensor<3x2xi32>) -> tensor<3x2xf32>
%tracked = mf.track_load %gate, %bias, %indices {choices = 6 : i64} : (tensor<3x2xf32>, tensor<8xf32>, tensor<3x2xi32>) -> tensor<3x2xf32>
%share = "test.value"() : () -> tensor<2x8xf32>
%statistic = "test.value"() : () -> tensor<2x8xf32>
%hidden = "test.value"() : () -> tensor<2x3x4xf32>
// CHECK: mf.record
%recorded = mf.record %hidden, %statistic, %share : (tensor<2x3x4xf32>, tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x3x4xf32>
%attended = "test.value"() : () -> tensor<1x2x4x8xf32>
%maxima = "test.value"() : () -> tensor<1x2x4xf32>
%heads = "test.value"() : () -> tensor<2xf32>
// CHECK: mf.track_largest %{{.*}}, %{{.*}}, %{{.*}} : (tensor<1x2x4x8xf32>, tensor<2xf32>, tensor<1x2x4xf32>) -> tensor<1x2x4x8xf32>
%noted = mf.track_largest %attended, %heads, %maxima : (tensor<1x2x4x8xf32>, tensor<2xf32>, tensor<1x2x4xf32>) -> tensor<1x2x4x8xf32>
// CHECK: mf.maximum %{{.*}}, %{{.*}} : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
%larger = mf.maximum %heads, %heads : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>

// CHECK: mf.compare_scalar %{{.*}} {comparison = #mf.comparison<greater>, value = 0.000000e+00 : f64}
%kept = mf.compare_scalar %gate {comparison = #mf.comparison<greater>, value = 0.0 : f64} : (tensor<3x2xf32>) -> tensor<3x2xf32>
%threshold = "test.value"() : () -> tensor<3x1xf32>
// CHECK: mf.at_least %{{.*}}, %{{.*}} : (tensor<3x8xf32>, tensor<3x1xf32>) -> tensor<3x8xf32>
%stays = mf.at_least %scores, %threshold : (tensor<3x8xf32>, tensor<3x1xf32>) -> tensor<3x8xf32>
// CHECK: mf.div %{{.*}}, %{{.*}} {name = "div_3d"} : (tensor<3x8xf32>, tensor<3x1xf32>) -> tensor<3x8xf32>
%normal = mf.div %scores, %threshold {name = "div_3d"} : (tensor<3x8xf32>, tensor<3x1xf32>) -> tensor<3x8xf32>
// CHECK: mf.remainder %{{.*}} {value = 3.000000e+00 : f64}
%token = mf.remainder %gate {value = 3.0 : f64} : (tensor<3x2xf32>) -> tensor<3x2xf32>
// CHECK: mf.floor_divide %{{.*}} {value = 2.000000e+00 : f64}
%choice = mf.floor_divide %gate {value = 2.0 : f64} : (tensor<3x2xf32>) -> tensor<3x2xf32>
// CHECK: mf.cast %{{.*}} : (tensor<3x2xf32>) -> tensor<3x2xi32>
%integers = mf.cast %token : (tensor<3x2xf32>) -> tensor<3x2xi32>
