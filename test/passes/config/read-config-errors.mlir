// Each wrong file: where, what, and what was expected; and a failure.
// RUN: split-file --leading-lines %s %t
// RUN: not mf-opt --mf-read-config %t/model.mlir 2>&1 | FileCheck %s --check-prefix=OPTION
// RUN: not mf-opt --mf-read-config="file=%t/unknown-key.yaml gradient-accumulation-steps=-1" %t/model.mlir 2>&1 | FileCheck %s --check-prefix=NEGATIVE
// RUN: not mf-opt --mf-read-config=file=%t/missing.yaml %t/model.mlir 2>&1 | FileCheck %s --check-prefix=MISSING
// RUN: not mf-opt --mf-read-config=file=%t %t/model.mlir 2>&1 | FileCheck %s --check-prefix=FOLDER
// RUN: not mf-opt --mf-read-config=file=%t/syntax.yaml %t/model.mlir 2>&1 | FileCheck %s --check-prefix=SYNTAX
// RUN: not mf-opt --mf-read-config=file=%t/unknown-key.yaml %t/model.mlir 2>&1 | FileCheck %s --check-prefix=KEY
// RUN: not mf-opt --mf-read-config=file=%t/type.yaml %t/model.mlir 2>&1 | FileCheck %s --check-prefix=TYPE
// RUN: not mf-opt --mf-read-config=file=%t/optimizer.yaml %t/model.mlir 2>&1 | FileCheck %s --check-prefix=OPTIMIZER
// RUN: not mf-opt --mf-read-config=file=%t/schedule.yaml %t/model.mlir 2>&1 | FileCheck %s --check-prefix=SCHEDULE
// RUN: not mf-opt --mf-read-config=file=%t/norm.yaml %t/model.mlir 2>&1 | FileCheck %s --check-prefix=NORM
// RUN: not mf-opt --mf-read-config=file=%t/memory.yaml %t/model.mlir 2>&1 | FileCheck %s --check-prefix=MEMORY
// RUN: not mf-opt --mf-read-config=file=%t/batches.yaml %t/model.mlir 2>&1 | FileCheck %s --check-prefix=BATCHES
// RUN: mf-opt --mf-read-config=file=%t/unsharded.yaml %t/model.mlir 2>&1 | FileCheck %s --check-prefix=UNSHARDED

//--- model.mlir
mf.model @model attributes {micro_batch_size = 1 : i64, sequence_length = 8 : i64, vocab_size = 16 : i64} {
}

// OPTION: error: mf-read-config needs the option file=<yaml>
// NEGATIVE: error: expected gradient-accumulation-steps to be positive, or 0 for the YAML's, but got -1
// MISSING: missing.yaml{{.*}}: error: cannot read the file
// FOLDER: error: cannot read the file

//--- syntax.yaml
# SYNTAX: syntax.yaml:[[#@LINE+4]]:1: error: invalid YAML: end of sequence flow not found
recompute_config:
  recompute: [1, 2

//--- unknown-key.yaml
# KEY: unknown-key.yaml:[[#@LINE+2]]:3: error: unknown key 'recomptue' in recompute_config; did you mean 'recompute'?
recompute_config:
  recomptue: True

//--- type.yaml
# TYPE: type.yaml:[[#@LINE+2]]:14: error: expected a bool, a list of ints (layers per stage) or a list of such lists (one per interleave) for 'recompute', but got a map, {'a': 1}
recompute_config:
  recompute: {a: 1}

//--- optimizer.yaml
# OPTIMIZER: optimizer.yaml:[[#@LINE+2]]:3: error: optimizer 'Lamb' is not supported; expected AdamW, FP32StateAdamWeightDecay or AdamWeightDecay
optimizer:
  type: Lamb

//--- schedule.yaml
# SCHEDULE: schedule.yaml:[[#@LINE+2]]:3: error: learning rate schedule 'Sawtooth' is not supported
lr_schedule:
  type: Sawtooth
  learning_rate: 1.e-5

//--- norm.yaml
# NORM: norm.yaml:[[#@LINE+3]]:18: error: expected a positive number for 'max_grad_norm', but got a float, -1.0
runner_wrapper:
  use_clip_grad: True
  max_grad_norm: -1.0

//--- memory.yaml
# MEMORY: memory.yaml:[[#@LINE+2]]:22: error: expected a size such as '58GB' for 'max_device_memory', but got a string, 'much'
context:
  max_device_memory: "much"

//--- batches.yaml
# BATCHES: error: expected stages, interleave and micro_batches to be from 1 to 65536, but got 1, 1 and 1000000
runner_config:
  gradient_accumulation_steps: 1000000

//--- unsharded.yaml
# What is not lowered is said, not swallowed.
# UNSHARDED: unsharded.yaml:[[#@LINE+2]]:3: warning: model_parallel 4 is not lowered; the program is that of one rank with whole tensors
parallel_config:
  model_parallel: 4
