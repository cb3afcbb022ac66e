// The machine that mf-run executes steps on. Ranks are threads, devices memory of
// the process, and kernels mf's own. Numbers are about those of two cores of a
// server, for one rank; calibrate them to a profile of this very machine:
//
//   mf-run step.mlir --steps 3 --data FILE --profile FOLDER
//   mf-run --calibrate=FOLDER --target=this-machine -o here.mlir
module attributes {dlti.target_system_spec = #dlti.target_system_spec<"NPU" = #ascend.device<"this-machine",
  // Floating-point operations per second of both cores.
  engines = {
    // Matrix products.
    cube = <bf16 = 4.0e11, f16 = 4.0e11, f32 = 4.0e11>,
    // All else.
    vector = <bf16 = 4.0e10, f16 = 4.0e10, f32 = 4.0e10>
  },
  memory = <bytes = 8589934592, bytes_per_second = 1.0e10, cache_gain = 1.0, cache_bytes = 1.0e6>,
  // Copies inside memory.
  host = <to_host_bytes_per_second = 5.0e9, to_device_bytes_per_second = 5.0e9, latency = 1.0e-5>,
  // A launch is a task of a thread. Kernels whose operations take longer than
  // their bytes have a share of the peak.
  kernels = {
    matmul = <peak_share = 0.5, latency = 5e-6, flops = <half = 1.0e7>>,
    grouped_matmul = <peak_share = 0.4, latency = 5e-6, flops = <half = 1.0e7>>,
    // bf16 is converted first.
    attention = <peak_share = 0.15, latency = 5e-6,
                 element_bytes = <full = 4, power = 1>>,
    attention_grad = <peak_share = 0.15, latency = 5e-6,
                      element_bytes = <full = 4, power = 1>>,
    norm = <latency = 5e-6>,
    norm_grad = <latency = 5e-6>,
    rotary = <latency = 5e-6>,
    activation = <peak_share = 0.1, latency = 5e-6>,
    activation_grad = <peak_share = 0.1, latency = 5e-6>,
    elementwise = <latency = 5e-6>,
    cast = <latency = 5e-6>,
    copy = <latency = 5e-6>,
    transpose = <latency = 5e-6>,
    embedding = <latency = 5e-6>,
    softmax = <peak_share = 0.1, latency = 5e-6>,
    loss = <peak_share = 0.1, latency = 5e-6>,
    loss_grad = <peak_share = 0.1, latency = 5e-6>,
    reduction = <latency = 5e-6>,
    optimizer = <latency = 5e-6>,
    router = <latency = 5e-6>,
    permutation = <latency = 5e-6>
  },
  networks = {
    // Ranks are threads that copy from each other, each as fast as its own.
    threads = <of = npu, wiring = switch, bytes_per_second = 3.0e9,
               collective_latency = 5e-5, message_latency = 5e-5>
  },
  step_latency = 1e-4>>} {
}
