// NVIDIA B200: nodes of 8 GPUs joined by NVLink, InfiniBand between nodes. With
// Megatron's kernels: fused norms, activations, optimizer and losses; nothing of
// the communication is hidden.
//
// Fitted to 23 measured steps of 8 GPUs (benchmarks/b200.py --fit, docs/dev/b200.md):
// the memory's rate, peak_share and half of matmul, grouped_matmul and attention,
// passes, the latency of router, the share and latency of NVLink, step_latency.
// Peaks and sizes are the vendor's; what is said to be a guess is one.
module attributes {dlti.target_system_spec = #dlti.target_system_spec<"NPU" = #ascend.device<"b200",
  // Floating-point operations per second: the tensor cores, without sparsity,
  // and all others.
  engines = {
    cube = <bf16 = 2.25e15, f16 = 2.25e15, f32 = 7.5e13>,
    vector = <bf16 = 1.5e14, f16 = 1.5e14, f32 = 7.5e13>
  },
  // Of a nominal 8e12.
  memory = <bytes = 192265846784, bytes_per_second = 5.785e12>,
  // PCIe, each way. A guess.
  host = <to_host_bytes_per_second = 5.0e10, to_device_bytes_per_second = 5.0e10, latency = 1.0e-5>,
  kernels = {
    // Half of the share is left at 66 GFLOP.
    matmul = <peak_share = 0.457, flops = <half = 6.63e10>>,
    // Half of the share is left at 207 rows an expert.
    grouped_matmul = <peak_share = 0.387, rows = <half = 207>>,
    // Causal; query rows are those of all heads.
    attention = <peak_share = 0.4505, query_rows = <half = 1.9e4>>,
    attention_grad = <peak_share = 0.3913, query_rows = <half = 1.89e4>>,
    // The latency of kernels is a guess.
    norm = <latency = 2e-6>,
    norm_grad = <latency = 2e-6>,
    rotary = <latency = 2e-6>,
    activation = <latency = 2e-6>,
    activation_grad = <latency = 2e-6>,
    elementwise = <passes = 0.978, latency = 2e-6>,
    cast = <latency = 2e-6>,
    // Attention takes any order of heads and rows: most of these do not run.
    copy = <passes = 0.403, latency = 2e-6>,
    transpose = <passes = 0.392, latency = 2e-6>,
    embedding = <latency = 2e-6>,
    softmax = <latency = 2e-6>,
    loss = <latency = 2e-6>,
    loss_grad = <latency = 2e-6>,
    reduction = <latency = 2e-6>,
    optimizer = <passes = 0.976, latency = 2e-6>,
    // 0.4 ms a layer with experts, over some 20 launches.
    router = <latency = 2.01e-5>,
    permutation = <passes = 0.991, latency = 2e-5>
  },
  networks = {
    // Collectives reach 586e9 of the port's nominal 900e9 each way.
    nvlink = <of = npu, wiring = switch, size = 8, bytes_per_second = 9.0e11,
              collective_share = 0.651, message_share = 0.651,
              collective_latency = 33.4e-6, message_latency = 34e-6, hidden = 0>,
    // 400 Gb/s of each GPU. Shares and latencies are guesses.
    infiniband = <of = nvlink, wiring = switch, bytes_per_second = 5.0e10,
                  collective_share = 0.7, message_share = 0.7,
                  collective_latency = 34e-6, message_latency = 34e-6, hidden = 0>
  },
  step_latency = 2.95e-3>>} {
}
