// RUN: %variants %s | %prints-itself %roundtrip

%values, %indices = mf.top_k %scores {k = 2 : i64, name = "topk"} : (tensor<3x8xf32>) -> (tensor<3x2xf32>, tensor<3x2xi32>)
%gate = mf.gather_elements %scores, %indices {name = "gate_gather"} : (tensor<3x8xf32>, tensor<3x2xi32>) -> tensor<3x2xf32>
%scattered = mf.scatter_elements %gate, %indices : (tensor<3x2xf32>, tensor<3x2xi32>) -> tensor<3x8xf32>
%mask = mf.one_hot %indices : (tensor<3x2xi32>) -> tensor<3x2x8xf32>
%positions = mf.cumsum %mask {axis = 1 : i64} : (tensor<3x2x8xf32>) -> tensor<3x2x8xf32>
%sorted, %order = mf.sort %gate : (tensor<3x2xf32>) -> (tensor<3x2xf32>, tensor<3x2xi32>)

%dispatch, %combine = mf.top_k_router %experts {k_major = true} : (tensor<2x3x2xi32>) -> (tensor<2x8x4xi32>, tensor<2x3x2xi32>)

%tracked = mf.track_load %gate, %bias, %indices {choices = 6 : i64} : (tensor<3x2xf32>, tensor<8xf32>, tensor<3x2xi32>) -> tensor<3x2xf32>
%recorded = mf.record %hidden, %statistic, %share : (tensor<2x3x4xf32>, tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x3x4xf32>
%noted = mf.track_largest %attended, %heads, %maxima : (tensor<1x2x4x8xf32>, tensor<2xf32>, tensor<1x2x4xf32>) -> tensor<1x2x4x8xf32>
%larger = mf.maximum %heads, %heads : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>

%kept = mf.compare_scalar %gate {comparison = #mf.comparison<greater>, value = 0.000000e+00 : f64} : (tensor<3x2xf32>) -> tensor<3x2xf32>
%stays = mf.at_least %scores, %threshold : (tensor<3x8xf32>, tensor<3x1xf32>) -> tensor<3x8xf32>
%normal = mf.div %scores, %threshold {name = "div_3d"} : (tensor<3x8xf32>, tensor<3x1xf32>) -> tensor<3x8xf32>
%token = mf.remainder %gate {value = 3.000000e+00 : f64} : (tensor<3x2xf32>) -> tensor<3x2xf32>
%choice = mf.floor_divide %gate {value = 2.000000e+00 : f64} : (tensor<3x2xf32>) -> tensor<3x2xf32>
%integers = mf.cast %token : (tensor<3x2xf32>) -> tensor<3x2xi32>
