// RUN: %roundtrip -allow-unregistered-dialect %s | %roundtrip -allow-unregistered-dialect | FileCheck %s
// RUN: %roundtrip -allow-unregistered-dialect -mlir-print-op-generic %s | %roundtrip -allow-unregistered-dialect | FileCheck %s

%x = "test.value"() : () -> tensor<1x4x8xbf16>
%w = "test.value"() : () -> tensor<8x8xf32>
%factors = "test.value"() : () -> tensor<3xf32>
%bias = "test.value"() : () -> tensor<8xf32>
// CHECK: mf.mhc_pre %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} {count = 2 : i64, epsilon = 1.250000e-01 : f64, iterations = 3 : i64, least = 1.250000e-01 : f64, name = "attn_hc.mhc_pre"}
// CHECK-SAME: : (tensor<1x4x8xbf16>, tensor<8x8xf32>, tensor<3xf32>, tensor<8xf32>) -> (tensor<1x4x4xbf16>, tensor<1x4x2xf32>, tensor<1x4x2x2xf32>, tensor<1x4x2xf32>, tensor<1x4x8xf32>, tensor<1x4xf32>, tensor<6x1x4x2xf32>, tensor<6x1x4x2x2xf32>)
%y, %shares, %mixing, %saved:5 = mf.mhc_pre %x, %w, %factors, %bias {count = 2 : i64, epsilon = 1.250000e-01 : f64, iterations = 3 : i64, least = 1.250000e-01 : f64, name = "attn_hc.mhc_pre"}
    : (tensor<1x4x8xbf16>, tensor<8x8xf32>, tensor<3xf32>, tensor<8xf32>)
    -> (tensor<1x4x4xbf16>, tensor<1x4x2xf32>, tensor<1x4x2x2xf32>, tensor<1x4x2xf32>, tensor<1x4x8xf32>, tensor<1x4xf32>, tensor<6x1x4x2xf32>, tensor<6x1x4x2x2xf32>)
// 0 iterations are as one.
// CHECK: mf.mhc_pre {{.*}} iterations = 0 : i64{{.*}} tensor<2x1x4x2xf32>, tensor<2x1x4x2x2xf32>)
%y0, %shares0, %mixing0, %saved0:5 = mf.mhc_pre %x, %w, %factors, %bias {count = 2 : i64, epsilon = 1.250000e-01 : f64, iterations = 0 : i64, least = 1.250000e-01 : f64}
    : (tensor<1x4x8xbf16>, tensor<8x8xf32>, tensor<3xf32>, tensor<8xf32>)
    -> (tensor<1x4x4xbf16>, tensor<1x4x2xf32>, tensor<1x4x2x2xf32>, tensor<1x4x2xf32>, tensor<1x4x8xf32>, tensor<1x4xf32>, tensor<2x1x4x2xf32>, tensor<2x1x4x2x2xf32>)
// CHECK: mf.mhc_pre_grad {{.*}} {least = 1.250000e-01 : f64}
%dx, %dw, %dfactors, %dbias = mf.mhc_pre_grad %y, %shares, %mixing, %x, %w, %factors, %bias, %saved#0, %saved#1, %saved#2, %saved#3, %saved#4 {least = 1.250000e-01 : f64}
    : (tensor<1x4x4xbf16>, tensor<1x4x2xf32>, tensor<1x4x2x2xf32>, tensor<1x4x8xbf16>, tensor<8x8xf32>, tensor<3xf32>, tensor<8xf32>, tensor<1x4x2xf32>, tensor<1x4x8xf32>, tensor<1x4xf32>, tensor<6x1x4x2xf32>, tensor<6x1x4x2x2xf32>)
    -> (tensor<1x4x8xbf16>, tensor<8x8xf32>, tensor<3xf32>, tensor<8xf32>)
// CHECK: mf.mhc_post %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} {name = "attn_hc.output_cell.mhc_post"} : (tensor<1x4x8xbf16>, tensor<1x4x2x2xf32>, tensor<1x4x4xbf16>, tensor<1x4x2xf32>) -> tensor<1x4x8xbf16>
%z = mf.mhc_post %x, %mixing, %y, %shares {name = "attn_hc.output_cell.mhc_post"}
    : (tensor<1x4x8xbf16>, tensor<1x4x2x2xf32>, tensor<1x4x4xbf16>, tensor<1x4x2xf32>) -> tensor<1x4x8xbf16>
// CHECK: mf.mhc_post_grad
%d:4 = mf.mhc_post_grad %z, %x, %mixing, %y, %shares
    : (tensor<1x4x8xbf16>, tensor<1x4x8xbf16>, tensor<1x4x2x2xf32>, tensor<1x4x4xbf16>, tensor<1x4x2xf32>)
    -> (tensor<1x4x8xbf16>, tensor<1x4x2x2xf32>, tensor<1x4x4xbf16>, tensor<1x4x2xf32>)
