// Prefetches that reach into an earlier call, on several ranks: nothing races, and all streams come to their end.
// RUN: echo "parallel_config: {pipeline_stage: 2, micro_batch_num: 4}" > %t.yaml
// RUN: echo "runner_config: {batch_size: 1}" >> %t.yaml
// RUN: echo "swap_config: {swap: True, layer_swap: [{backward_prefetch: 3, layers: True}]}" >> %t.yaml
// RUN: mf-translate --import-mindformers %examples/llama_tiny.yaml -o %t.mlir
// RUN: %roundtrip --quiet --recompute-config=%t.yaml %t.mlir -o %t.step.mlir
// RUN: FileCheck %s < %t.step.mlir
// RUN: %roundtrip --ascend-verify-program %t.step.mlir -o /dev/null
// CHECK: ascend.call @chunk0.forward({{.*}} micro_batch 1 {{.*}} records [
