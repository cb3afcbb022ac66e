// RUN: %variants %s | %prints-itself %roundtrip

%mask = mf.dropout_mask %x, %draw, %first {cut_dims = array<i64: 1>, name = "dropout", rate = 1.000000e-01 : f64, shape = array<i64: 1, 8, 16>, source = "layers.0.dropout", starts = array<i64: 0, 0, 0>} : (tensor<1x4x16xf32>, tensor<3xi64>, tensor<1xi32>) -> tensor<1x4x16xi1>
%y = mf.dropout %x, %mask {name = "dropout", rate = 1.000000e-01 : f64} : (tensor<1x4x16xf32>, tensor<1x4x16xi1>) -> tensor<1x4x16xf32>

// A mask may be kept behind a barrier, or in host memory.
%kept = mf.barrier %mask, %y : (tensor<1x4x16xi1>, tensor<1x4x16xf32>) -> tensor<1x4x16xi1>
%host = mf.offload %mask {distance = 2 : i64} : tensor<1x4x16xi1>
