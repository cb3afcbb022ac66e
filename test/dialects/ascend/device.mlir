// Device descriptions: keys in any order, numbers of any spelling, printed in one way.
// RUN: %roundtrip %s -split-input-file -o %t.mlir && FileCheck %s < %t.mlir
// RUN: %roundtrip %t.mlir -split-input-file | diff - %t.mlir
// RUN: %roundtrip -mlir-print-op-generic -split-input-file %s | %roundtrip -split-input-file | diff - %t.mlir

// CHECK:      module attributes {dlti.target_system_spec = #dlti.target_system_spec<"NPU" = #ascend.device<"small",
// CHECK-NEXT:   engines = {
// CHECK-NEXT:     cube = <bf16 = 2.949e+14, f32 = 7.5e+13>,
// CHECK-NEXT:     vector = <bf16 = 1.6e+13, f32 = 8.0e+12>
// CHECK-NEXT:   },
// CHECK-NEXT:   memory = <bytes = 65464696832, bytes_per_second = 1.1e+12>,
// CHECK-NEXT:   host = <to_host_bytes_per_second = 2.5e+10, to_device_bytes_per_second = 2.5e+10>,
// CHECK-NEXT:   kernels = {
// CHECK-NEXT:     matmul = <peak_share = 0.85, latency = 4.0e-06>,
// CHECK-NEXT:     attention = <peak_share = 0.41, latency = 4.0e-06, keys = <half = 500>>
// CHECK-NEXT:   },
// CHECK-NEXT:   networks = {
// CHECK-NEXT:     hccs = <of = npu, wiring = mesh, size = 8, bytes_per_second = 2.8e+10>,
// CHECK-NEXT:     roce = <of = hccs, wiring = switch, bytes_per_second = 2.5e+10>
// CHECK-NEXT:   },
// CHECK-NEXT:   step_latency = 0.018>>} {
// CHECK-NEXT: }
module attributes {dlti.target_system_spec = #dlti.target_system_spec<"NPU" = #ascend.device<"small",
  // Seconds.
  step_latency = 18e-3,
  networks = {
    hccs = <bytes_per_second = 28000000000, size = 8 : ui4, wiring = mesh, of = npu>,
    roce = <of = hccs, wiring = switch, bytes_per_second = 2.5E+10, hidden = 1,>,
  },
  kernels = {
    matmul = <latency = 4e-6, peak_share = 0.850>,
    attention = <peak_share = 0.41, passes = 1.0, keys = <power = 1.0, half = 5e2>, latency = 0.000004>
  },
  host = <to_device_bytes_per_second = 25e+9, to_host_bytes_per_second = 25e9, latency = -0.0>,
  memory = <bytes_per_second = 1.1e12 : f64, bytes = 65464696832 : i64>,
  engines = {
    // FLOPs per second.
    cube = <bf16 = 2.949e14, f32 = 75000000000000>,
    vector = <bf16 = 16e12, f32 = 8e12>
  }>>} {}

// -----

// Parts by themselves, all of their numbers, and parts by an alias.
#memory = #ascend.memory<bytes = 1024, bytes_per_second = 3.0, cache_gain = 0.8, cache_bytes = 64>
#fast = #ascend.kernel_rate<latency = 1e-6>
// CHECK-LABEL: "alias"
// CHECK: memory = <bytes = 1024, bytes_per_second = 3, cache_gain = 0.8, cache_bytes = 64>,
// CHECK: norm = <latency = 1.0e-06>,
// CHECK-NEXT: cast = <latency = 1.0e-06>
module attributes {dlti.target_system_spec = #dlti.target_system_spec<"NPU" = #ascend.device<"alias",
  engines = {vector = <f32 = 1>, cube = #ascend.engine<f32 = 2.0>},
  memory = #memory,
  host = <to_host_bytes_per_second = 1, to_device_bytes_per_second = 1>,
  kernels = {norm = #fast, cast = #fast}>>} {
  // CHECK: engine = #ascend.engine<f16 = 1.0e+15, bf16 = 2>
  // CHECK-SAME: host = #ascend.host_link<to_host_bytes_per_second = 2.5e+10, to_device_bytes_per_second = 2.4e+10, latency = 1.0e-05>
  // CHECK-SAME: network = #ascend.network<of = a, wiring = switch, size = 3, bytes_per_second = 1, collective_share = 0.5, message_share = 0.25, collective_latency = 2, message_latency = 3, hidden = 0>
  // CHECK-SAME: rate = #ascend.kernel_rate<peak_share = 0.41, passes = 2, fused_passes = 1.5, latency = 4.0e-06, keys = <half = 500>, head_size = <full = 128, power = 0.7>>
  // CHECK-SAME: saturation = #ascend.saturation<half = 1, full = 2, power = 3>
  module attributes {
    test.engine = #ascend.engine<f16 = 1.0e15, bf16 = 2>,
    test.host = #ascend.host_link<to_host_bytes_per_second = 25e9, to_device_bytes_per_second = 24e9, latency = 1e-5>,
    test.network = #ascend.network<of = a, wiring = switch, size = 3, bytes_per_second = 1, collective_share = 0.5, message_share = 0.25, collective_latency = 2, message_latency = 3, hidden = 0>,
    test.rate = #ascend.kernel_rate<peak_share = 0.41, passes = 2, fused_passes = 1.5, latency = 4.0e-06, keys = <half = 500>, head_size = <full = 128, power = 0.7>>,
    test.saturation = #ascend.saturation<half = 1, full = 2, power = 3>
  } {}
}
