// RUN: %variants %s | %prints-itself %roundtrip

// The right operand may have fewer dimensions, down to none.
%add = mf.add %x, %y {name = "attention.add"} : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
%add_bias = mf.add %x, %bias : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
%mul = mf.mul %x, %scalar : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>

%scale = mf.scale %x {value = 1.250000e-01 : f64} : (tensor<2x4xf32>) -> tensor<2x4xf32>
%neg = mf.neg %x : (tensor<2x4xf32>) -> tensor<2x4xf32>

// Each kind of recompute mark.
%silu = mf.silu %x {name = "feed_forward.w1.activation.silu", recompute = #mf.recompute<select>} : (tensor<2x4xf32>) -> tensor<2x4xf32>
%gelu = mf.gelu %x {name = "output.mapping.activation.gelu"} : (tensor<2x4xf32>) -> tensor<2x4xf32>
%gelu_grad = mf.gelu_grad %x, %y : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
%fast_gelu = mf.fast_gelu %x {name = "output.mapping.activation.fast_gelu"} : (tensor<2x4xf32>) -> tensor<2x4xf32>
%fast_gelu_grad = mf.fast_gelu_grad %x, %y : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
%silu_grad = mf.silu_grad %x, %y {recompute = #mf.recompute<excluded>} : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
%narrow = mf.cast %x {recompute = #mf.recompute<preset>} : (tensor<2x4xf32>) -> tensor<2x4xbf16>
%half = mf.cast %narrow {recompute = #mf.recompute<full>} : (tensor<2x4xbf16>) -> tensor<2x4xf16>

%score = mf.sqrt_softplus %bias : (tensor<4xf32>) -> tensor<4xf32>
%score_grad = mf.sqrt_softplus_grad %x, %y : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
%stopped = mf.stop_gradient %bias : (tensor<4xf32>) -> tensor<4xf32>

// Arithmetic of the clipping coefficient.
%sqrt = mf.sqrt %scalar : (tensor<f32>) -> tensor<f32>
%reciprocal = mf.reciprocal %scalar : (tensor<f32>) -> tensor<f32>
%add_scalar = mf.add_scalar %scalar {value = 9.9999999999999995E-7 : f64} : (tensor<f32>) -> tensor<f32>
%clamp_min = mf.clamp_min %scalar {value = 1.000000e+00 : f64} : (tensor<f32>) -> tensor<f32>
%clamp_max = mf.clamp_max %scalar {value = 1.000000e+00 : f64} : (tensor<f32>) -> tensor<f32>
