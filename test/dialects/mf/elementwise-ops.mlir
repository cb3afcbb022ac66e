// RUN: %roundtrip -allow-unregistered-dialect %s | %roundtrip -allow-unregistered-dialect | FileCheck %s
// RUN: %roundtrip -allow-unregistered-dialect -mlir-print-op-generic %s | %roundtrip -allow-unregistered-dialect | FileCheck %s

%x = "test.value"() : () -> tensor<2x4xf32>
%y = "test.value"() : () -> tensor<2x4xf32>
%bias = "test.value"() : () -> tensor<4xf32>
%scalar = "test.value"() : () -> tensor<f32>

// The right operand may have fewer dimensions, down to none.
// CHECK: mf.add %{{.*}}, %{{.*}} {name = "attention.add"} : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
%add = mf.add %x, %y {name = "attention.add"} : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
// CHECK: mf.add %{{.*}}, %{{.*}} : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
%add_bias = mf.add %x, %bias : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
// CHECK: mf.mul %{{.*}}, %{{.*}} : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
%mul = mf.mul %x, %scalar : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>

// CHECK: mf.scale %{{.*}} {value = 1.250000e-01 : f64} : (tensor<2x4xf32>) -> tensor<2x4xf32>
%scale = mf.scale %x {value = 0.125 : f64} : (tensor<2x4xf32>) -> tensor<2x4xf32>
// CHECK: mf.neg
%neg = mf.neg %x : (tensor<2x4xf32>) -> tensor<2x4xf32>

// Each kind of recompute mark.
// CHECK: mf.silu %{{.*}} {name = "feed_forward.w1.activation.silu", recompute = #mf.recompute<select>}
%silu = mf.silu %x {name = "feed_forward.w1.activation.silu", recompute = #mf.recompute<select>} : (tensor<2x4xf32>) -> tensor<2x4xf32>
// CHECK: mf.gelu %{{.*}} {name = "output.mapping.activation.gelu"}
%gelu = mf.gelu %x {name = "output.mapping.activation.gelu"} : (tensor<2x4xf32>) -> tensor<2x4xf32>
// CHECK: mf.gelu_grad %{{.*}}, %{{.*}} :
%gelu_grad = mf.gelu_grad %x, %y : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
// CHECK: mf.fast_gelu %{{.*}} {name = "output.mapping.activation.fast_gelu"}
%fast_gelu = mf.fast_gelu %x {name = "output.mapping.activation.fast_gelu"} : (tensor<2x4xf32>) -> tensor<2x4xf32>
// CHECK: mf.fast_gelu_grad %{{.*}}, %{{.*}} :
%fast_gelu_grad = mf.fast_gelu_grad %x, %y : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
// CHECK: mf.silu_grad %{{.*}}, %{{.*}} {recompute = #mf.recompute<excluded>}
%silu_grad = mf.silu_grad %x, %y {recompute = #mf.recompute<excluded>} : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
// CHECK: mf.cast %{{.*}} {recompute = #mf.recompute<preset>} : (tensor<2x4xf32>) -> tensor<2x4xbf16>
%narrow = mf.cast %x {recompute = #mf.recompute<preset>} : (tensor<2x4xf32>) -> tensor<2x4xbf16>
// CHECK: mf.cast %{{.*}} {recompute = #mf.recompute<full>} : (tensor<2x4xbf16>) -> tensor<2x4xf16>
%half = mf.cast %narrow {recompute = #mf.recompute<full>} : (tensor<2x4xbf16>) -> tensor<2x4xf16>

// CHECK: mf.sqrt_softplus %{{.*}} : (tensor<4xf32>) -> tensor<4xf32>
%score = mf.sqrt_softplus %bias : (tensor<4xf32>) -> tensor<4xf32>
// CHECK: mf.sqrt_softplus_grad %{{.*}}, %{{.*}} :
%score_grad = mf.sqrt_softplus_grad %x, %y : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
// CHECK: mf.stop_gradient %{{.*}} : (tensor<4xf32>) -> tensor<4xf32>
%stopped = mf.stop_gradient %bias : (tensor<4xf32>) -> tensor<4xf32>

// Arithmetic of the clipping coefficient.
// CHECK: mf.sqrt
%sqrt = mf.sqrt %scalar : (tensor<f32>) -> tensor<f32>
// CHECK: mf.reciprocal
%reciprocal = mf.reciprocal %scalar : (tensor<f32>) -> tensor<f32>
// CHECK: mf.add_scalar %{{.*}} {value = 9.9999999999999995E-7 : f64}
%add_scalar = mf.add_scalar %scalar {value = 1.0e-6 : f64} : (tensor<f32>) -> tensor<f32>
// CHECK: mf.clamp_min %{{.*}} {value = 1.000000e+00 : f64}
%clamp_min = mf.clamp_min %scalar {value = 1.0 : f64} : (tensor<f32>) -> tensor<f32>
// CHECK: mf.clamp_max %{{.*}} {value = 1.000000e+00 : f64}
%clamp_max = mf.clamp_max %scalar {value = 1.0 : f64} : (tensor<f32>) -> tensor<f32>
