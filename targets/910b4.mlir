// 910B4: 20 cores at a lower clock, with half of the memory. A chip: peaks and
// size are its own, all else is as on Atlas 800T A2, whose nodes it is placed
// in. No published step time names it, and its memory is likely to be slower.
module attributes {dlti.target_system_spec = #dlti.target_system_spec<"NPU" = #ascend.device<"910b4",
  // Floating-point operations per second.
  engines = {
    // The third of three bins, in a vendor's model of the device.
    cube = <bf16 = 245.8e12, f16 = 245.8e12, f32 = 75.0e12>,
    vector = <bf16 = 16.0e12, f16 = 16.0e12, f32 = 8.0e12>
  },
  // Half of what a process sees of 64 GiB.
  // The rate is what vector operators reach of a nominal 1.6e12.
  // Beside tensors, as the dynamic graph took it on eight 910B devices of 64 GB
  // (docs/memory.md#what-a-device-needs-in-all): what npu-smi counts before a
  // job, the allocator's pages, the pool beyond live blocks, HCCL's
  // buffers, and what is neither.
  memory = <bytes = 32732348416, bytes_per_second = 1.05e12, cache_gain = 0.69, cache_bytes = 6.4e7,
            device_bytes = 34359738368, idle_bytes = 3586129920,
            page_bytes = 2097152,
            pool_least_bytes = 7971840, pool_most_bytes = 1225821696,
            communicator_buffers = 2,
            runtime_least_bytes = 180355072, runtime_most_bytes = 5958008832>,
  // PCIe, each way. Not fitted.
  host = <to_host_bytes_per_second = 2.5e10, to_device_bytes_per_second = 2.5e10, latency = 1.0e-5>,
  // Peak shares are of an engine's peak. Passes are the bytes that MindSpore's
  // unfused operators move, divided by those that the kernel's record counts;
  // fused_passes, with jit_level O1, are 0.52 of them: fitted.
  kernels = {
    matmul = <peak_share = 0.878, latency = 4e-6>,
    grouped_matmul = <peak_share = 0.878, latency = 4e-6>,
    // Softmax runs on the vector units: half of what is reached with many keys
    // is left at 500, less with heads narrower than 128. Backward reaches 0.85
    // of forward.
    attention = <peak_share = 0.395, latency = 4e-6,
                 keys = <half = 500>, head_size = <full = 128, power = 0.7>>,
    attention_grad = <peak_share = 0.335, latency = 4e-6,
                      keys = <half = 500>, head_size = <full = 128, power = 0.7>>,
    // With the casts around them 20 and 30 bytes an element, as in the program.
    norm = <passes = 1.0, fused_passes = 0.52, latency = 4e-6>,
    norm_grad = <passes = 1.0, fused_passes = 0.52, latency = 4e-6>,
    rotary = <passes = 1.0, fused_passes = 0.52, latency = 4e-6>,
    // 10 bytes of silu and product, 18 of their gradients.
    activation = <passes = 1.0, fused_passes = 0.52, latency = 4e-6>,
    activation_grad = <passes = 1.0, fused_passes = 0.52, latency = 4e-6>,
    elementwise = <passes = 1.0, fused_passes = 0.52, latency = 4e-6>,
    cast = <passes = 1.0, fused_passes = 0.52, latency = 4e-6>,
    // Halves are rotated without a copy of each: 48, 26 and 18 bytes for a rotary
    // type of fp32, of 16 bits and the same as q's, where records count 60, 32
    // and 24.
    copy = <passes = 0.25, fused_passes = 0.13, latency = 4e-6>,
    transpose = <passes = 1.0, fused_passes = 0.52, latency = 4e-6>,
    embedding = <passes = 1.0, fused_passes = 0.52, latency = 4e-6>,
    softmax = <passes = 1.0, fused_passes = 0.52, latency = 4e-6>,
    // Some 15 fp32 operators: 66 and 42 bytes a logit, 6 of each its casts. The
    // records count 4 and 8.
    loss = <passes = 15.0, fused_passes = 7.8, latency = 4e-6>,
    loss_grad = <passes = 4.5, fused_passes = 2.34, latency = 4e-6>,
    reduction = <passes = 1.0, fused_passes = 0.52, latency = 4e-6>,
    // Some 12 operators: 100 bytes a parameter, where the record counts 28.
    optimizer = <passes = 3.57, fused_passes = 1.8564, latency = 4e-6>,
    router = <passes = 1.0, fused_passes = 0.52, latency = 4e-6>,
    permutation = <passes = 1.0, fused_passes = 0.52, latency = 4e-6>
  },
  // Each way. Messages between ranks reach 18e9, across nodes and, for want of
  // other data, inside them.
  networks = {
    // 7 links of each NPU, one to each other NPU of the node. Collectives reach
    // 13.7e9 of each; 0.255 of their time is hidden behind other work.
    hccs = <of = npu, wiring = mesh, size = 8, bytes_per_second = 2.8e10,
            collective_share = 0.491, message_share = 0.64,
            collective_latency = 15e-6, message_latency = 60e-6, hidden = 0.255>,
    // 200 Gb/s of each NPU.
    roce = <of = hccs, wiring = switch, bytes_per_second = 2.5e10,
            collective_share = 0.72, message_share = 0.72,
            collective_latency = 15e-6, message_latency = 60e-6, hidden = 0.9>
  },
  // Not fitted.
  step_latency = 0.018>>} {
}
