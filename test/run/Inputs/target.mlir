// A target for tests. Its numbers are round.
module attributes {dlti.target_system_spec = #dlti.target_system_spec<"NPU" = #ascend.device<"round",
  engines = {
    cube = <bf16 = 300.0e12, f32 = 75e12>,
    vector = <f32 = 9.0e12>
  },
  // Streams: a > b, "quotes" (and such.
  memory = <bytes = 65464696832, bytes_per_second = 1.1e12, cache_gain = 0.8, cache_bytes = 6.4e7>,
  host = <to_host_bytes_per_second = 2.5e10, to_device_bytes_per_second = 2.5e10>,
  kernels = {
    matmul = <peak_share = 0.85, latency = 4e-6>, // products
    attention = <peak_share = 0.41, latency = 4e-6,
                 keys = <half = 500>, head_size = <full = 128, power = 0.7>>,
    norm = <passes = 1.0, fused_passes = 0.75, latency = 4e-6>
  },
  networks = {
    hccs = <of = npu, wiring = mesh, size = 8, bytes_per_second = 2.8e10,
            collective_share = 0.48, message_share = 0.64>,
    roce = <of = hccs, wiring = switch, bytes_per_second = 2.5e10>
  },
  step_latency = 0.018>>} {
}
