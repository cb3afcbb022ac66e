// NVIDIA H100 SXM: nodes of 8 GPUs joined by NVLink, InfiniBand between nodes.
//
// Nothing is fitted. Peaks, sizes and links are the vendor's. Shares are round
// numbers of what public benchmarks of kernels reach, as each comment says.
module attributes {dlti.target_system_spec = #dlti.target_system_spec<"NPU" = #ascend.device<"h100",
  // Floating-point operations per second: the tensor cores, without sparsity,
  // and all others.
  engines = {
    cube = <bf16 = 9.89e14, f16 = 9.89e14, f32 = 6.7e13>,
    vector = <bf16 = 1.34e14, f16 = 1.34e14, f32 = 6.7e13>
  },
  // 0.9 of a nominal 3.35e12.
  memory = <bytes = 85899345920, bytes_per_second = 3.0e12>,
  // PCIe, each way. A guess.
  host = <to_host_bytes_per_second = 5.0e10, to_device_bytes_per_second = 5.0e10, latency = 1.0e-5>,
  kernels = {
    // Large products reach some 700e12, those of experts some 600e12.
    matmul = <peak_share = 0.7, latency = 2e-6>,
    grouped_matmul = <peak_share = 0.6, latency = 2e-6>,
    // Causal, heads of 128: forward some 550e12, backward some 450e12.
    attention = <peak_share = 0.55, latency = 2e-6>,
    attention_grad = <peak_share = 0.45, latency = 2e-6>,
    // Passes are those of the same software on B200, where they were fitted.
    norm = <latency = 2e-6>,
    norm_grad = <latency = 2e-6>,
    rotary = <latency = 2e-6>,
    activation = <latency = 2e-6>,
    activation_grad = <latency = 2e-6>,
    elementwise = <passes = 0.978, latency = 2e-6>,
    cast = <latency = 2e-6>,
    copy = <passes = 0.403, latency = 2e-6>,
    transpose = <passes = 0.392, latency = 2e-6>,
    embedding = <latency = 2e-6>,
    softmax = <latency = 2e-6>,
    loss = <latency = 2e-6>,
    loss_grad = <latency = 2e-6>,
    reduction = <latency = 2e-6>,
    optimizer = <passes = 0.976, latency = 2e-6>,
    router = <latency = 2.01e-5>,
    permutation = <passes = 0.991, latency = 2e-5>
  },
  // Exchanges run on 20 of 132 cores, as DeepEP has them by default: kernels
  // keep the rest. What kernels take from exchanges is not known.
  networks = {
    nvlink = <of = npu, wiring = switch, size = 8, bytes_per_second = 4.5e11,
              collective_share = 0.7, message_share = 0.7,
              collective_latency = 30e-6, message_latency = 30e-6, hidden = 0.848>,
    // 400 Gb/s of each GPU, of which DeepEP reaches nearly all.
    infiniband = <of = nvlink, wiring = switch, bytes_per_second = 5.0e10,
                  collective_share = 0.95, message_share = 0.9,
                  collective_latency = 30e-6, message_latency = 30e-6, hidden = 0.848>
  },
  // Not known.
  step_latency = 0>>} {
}
