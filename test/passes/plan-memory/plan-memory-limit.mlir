// The option replaces the program's own limit; a limit that is just enough is enough.
// RUN: %roundtrip --pass-pipeline='builtin.module(ascend.program(ascend-plan-memory{hbm=2048B}))' %s | FileCheck %s
// RUN: %roundtrip --pass-pipeline='builtin.module(ascend.program(ascend-plan-memory{hbm=54GB}))' %s | FileCheck %s
// RUN: %roundtrip --pass-pipeline='builtin.module(ascend.program(ascend-plan-memory{hbm=none}))' %s | FileCheck %s
// RUN: not %roundtrip --pass-pipeline='builtin.module(ascend.program(ascend-plan-memory{hbm=2047B}))' %s 2>&1 | FileCheck %s --check-prefix=BELOW
// RUN: not %roundtrip --pass-pipeline='builtin.module(ascend.program(ascend-plan-memory))' %s 2>&1 | FileCheck %s --check-prefix=OWN
// RUN: not %roundtrip --pass-pipeline='builtin.module(ascend.program(ascend-plan-memory{hbm=much}))' %s 2>&1 | FileCheck %s --check-prefix=SIZE

// CHECK: arena_bytes = 2048 : i64
// BELOW: error: stage 0 needs 2048 bytes of device memory, but 2047 bytes are allowed
// SIZE: error: 'ascend.program' op got hbm=much; expected none or a size with a unit, such as 54GB, 512MiB or 4096B, but got 'much'{{$}}
// OWN: error: stage 0 needs 2048 bytes of device memory, but 1024 bytes are allowed
// OWN: note: what lives through the whole step (parameters, gradients, optimizer state) needs 2048 bytes: recompute and swap cannot help, fewer layers on the stage may
ascend.program @stage0 stage 0 attributes {
    micro_batches = 1 : i64, micro_batch_size = 1 : i64, sequence_length = 8 : i64,
    vocab_size = 16 : i64, pad_token_id = -1 : i64, ignore_index = -100 : i64, hbm_limit_bytes = 1024 : i64} {
  ascend.stream @compute compute
  ascend.static @w parameter of "w" : !ascend.buffer<512xf32, hbm>
  ascend.step {
  }
}
