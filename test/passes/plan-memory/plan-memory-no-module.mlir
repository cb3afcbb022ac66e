// Without a module there is no mesh.
// RUN: not mf-opt --no-implicit-module --pass-pipeline='ascend.program(ascend-plan-memory)' %s 2>&1 | FileCheck %s
// CHECK: error: expected a module around it, whose mesh says what ranks there are
ascend.program @stage0 stage 0 attributes {micro_batches = 1, micro_batch_size = 1, sequence_length = 4, vocab_size = 16, pad_token_id = -1, ignore_index = -100} {
  ascend.stream @compute compute
  ascend.step {
  }
}
