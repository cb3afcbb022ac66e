// Atlas 900 A3 SuperPoD: nodes of 8 packages of two dies, one network over all
// nodes. A rank is a die.
//
// Sizes, peaks and links are those of a vendor's model of the device
// (Ascend/msmodeling, its die of 752 TOPS). Nothing is
// fitted: shares are those of Atlas 800T A2 or msmodeling's, as each comment says.
module attributes {dlti.target_system_spec = #dlti.target_system_spec<"NPU" = #ascend.device<"atlas-900-a3",
  // Floating-point operations per second.
  engines = {
    // f32 is in the proportion of Atlas 800T A2: doubtful.
    cube = <bf16 = 353.9e12, f16 = 376.0e12, f32 = 99.6e12>,
    vector = <bf16 = 22.0e12, f16 = 22.0e12, f32 = 11.0e12>
  },
  // 64 GB of a die, of which a process is taken to see what it sees on A2. The
  // rate is 0.656 of a nominal 1.6e12, as on A2.
  memory = <bytes = 65464696832, bytes_per_second = 1.05e12, cache_gain = 0.69, cache_bytes = 6.4e7>,
  // PCIe, each way, as on A2: doubtful.
  host = <to_host_bytes_per_second = 2.5e10, to_device_bytes_per_second = 2.5e10, latency = 1.0e-5>,
  // Carried over from Atlas 800T A2, where they were fitted: doubtful here. Peak
  // shares are of an engine's peak. Passes are the bytes that MindSpore's unfused
  // operators move, divided by those that the kernel's record counts; with
  // jit_level O1 they are 0.52 of them, fused_passes.
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
  // Each way. Collectives and messages reach 0.7 of a port: the share that
  // msmodeling takes, not measured. How much is hidden is that of A2.
  networks = {
    // Two dies of a package.
    sio = <of = npu, wiring = switch, size = 2, bytes_per_second = 2.24e11,
           collective_share = 0.7, message_share = 0.7,
           collective_latency = 15e-6, message_latency = 60e-6, hidden = 0.255>,
    // 8 packages of a node. A die reaches 196e9 of its links.
    hccs = <of = sio, wiring = switch, size = 8, bytes_per_second = 1.96e11,
            collective_share = 0.7, message_share = 0.7,
            collective_latency = 15e-6, message_latency = 60e-6, hidden = 0.255>,
    // Up to 48 nodes of a SuperPoD: CloudMatrix384 measures less than 3 % less
    // than inside a node.
    pod = <of = hccs, wiring = switch, bytes_per_second = 1.96e11,
           collective_share = 0.68, message_share = 0.68,
           collective_latency = 2e-5, message_latency = 65e-6, hidden = 0.255>
  },
  // Not fitted.
  step_latency = 0.018>>} {
}
