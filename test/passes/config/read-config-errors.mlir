// Each wrong file: where, what, and what was expected; and a failure.
// RUN: split-file --leading-lines %s %t
// RUN: not %roundtrip --mf-read-config %t/model.mlir 2>&1 | FileCheck %s --check-prefix=OPTION
// RUN: not %roundtrip --mf-read-config="file=%t/unknown-key.yaml gradient-accumulation-steps=-1" %t/model.mlir 2>&1 | FileCheck %s --check-prefix=NEGATIVE
// RUN: not %roundtrip --mf-read-config=file=%t/missing.yaml %t/model.mlir 2>&1 | FileCheck %s --check-prefix=MISSING
// RUN: not %roundtrip --mf-read-config=file=%t %t/model.mlir 2>&1 | FileCheck %s --check-prefix=FOLDER
// RUN: not %roundtrip --mf-read-config=file=%t/syntax.yaml %t/model.mlir 2>&1 | FileCheck %s --check-prefix=SYNTAX
// RUN: not %roundtrip --mf-read-config=file=%t/unknown-key.yaml %t/model.mlir 2>&1 | FileCheck %s --check-prefix=KEY
// RUN: not %roundtrip --mf-read-config=file=%t/type.yaml %t/model.mlir 2>&1 | FileCheck %s --check-prefix=TYPE
// RUN: not %roundtrip --mf-read-config=file=%t/optimizer.yaml %t/model.mlir 2>&1 | FileCheck %s --check-prefix=OPTIMIZER
// RUN: not %roundtrip --mf-read-config=file=%t/factors.yaml %t/model.mlir 2>&1 | FileCheck %s --check-prefix=FACTORS
// RUN: not %roundtrip --mf-read-config=file=%t/schedule.yaml %t/model.mlir 2>&1 | FileCheck %s --check-prefix=SCHEDULE
// RUN: not %roundtrip --mf-read-config=file=%t/norm.yaml %t/model.mlir 2>&1 | FileCheck %s --check-prefix=NORM
// RUN: not %roundtrip --mf-read-config=file=%t/memory.yaml %t/model.mlir 2>&1 | FileCheck %s --check-prefix=MEMORY
// RUN: not %roundtrip --mf-read-config=file=%t/unit.yaml %t/model.mlir 2>&1 | FileCheck %s --check-prefix=UNIT
// RUN: not %roundtrip --mf-read-config=file=%t/batches.yaml %t/model.mlir 2>&1 | FileCheck %s --check-prefix=BATCHES
// RUN: %roundtrip --mf-read-config=file=%t/unsharded.yaml %t/model.mlir 2>&1 | FileCheck %s --check-prefix=UNSHARDED
// RUN: %roundtrip --mf-read-config=file=%t/step.yaml %t/model.mlir 2>&1 | FileCheck %s --check-prefix=STEP
// RUN: not %roundtrip --mf-read-config=file=%t/rows.yaml %t/model.mlir 2>&1 | FileCheck %s --check-prefix=ROWS
// RUN: not %roundtrip --mf-read-config=file=%t/degree.yaml %t/model.mlir 2>&1 | FileCheck %s --check-prefix=DEGREE
// RUN: not %roundtrip --mf-read-config=file=%t/level.yaml %t/model.mlir 2>&1 | FileCheck %s --check-prefix=LEVEL
// RUN: %roundtrip --mf-read-config=file=%t/devices.yaml %t/model.mlir 2>&1 | FileCheck %s --check-prefix=DEVICES
// RUN: %roundtrip --mf-read-config=file=%t/auto.yaml %t/model.mlir 2>&1 | FileCheck %s --check-prefix=AUTO
// RUN: %roundtrip --mf-read-config=file=%t/auto-none.yaml %t/model.mlir 2>&1 | FileCheck %s --check-prefix=AUTO-NONE
// RUN: not %roundtrip --mf-read-config=file=%t/auto-odd.yaml %t/model.mlir 2>&1 | FileCheck %s --check-prefix=AUTO-ODD
// RUN: %roundtrip --mf-read-config=file=%t/has-rate.yaml %t/model.mlir 2>&1 | FileCheck %s --check-prefix=HAS-RATE
// RUN: %roundtrip --mf-read-config=file=%t/alone.yaml %t/model.mlir 2>&1 | FileCheck %s --check-prefix=ALONE
// RUN: not %roundtrip --mf-read-config=file=%t/strategy.yaml %t/model.mlir 2>&1 | FileCheck %s --check-prefix=STRATEGY
// RUN: not %roundtrip --mf-read-config=file=%t/no-strategy.yaml %t/model.mlir 2>&1 | FileCheck %s --check-prefix=NO-STRATEGY
// RUN: not %roundtrip --mf-read-config=file=%t/strategy-name.yaml %t/model.mlir 2>&1 | FileCheck %s --check-prefix=STRATEGY-NAME
// RUN: %roundtrip --mf-read-config=file=%t/whole.yaml %t/model.mlir 2>&1 | FileCheck %s --check-prefix=WHOLE
// RUN: %roundtrip --mf-read-config=file=%t/names-of-layers.yaml %t/model.mlir 2>&1 | FileCheck %s --check-prefix=LAYERS
// RUN: not %roundtrip --mf-read-config=file=%t/names.yaml %t/model.mlir 2>&1 | FileCheck %s --check-prefix=NAMES
// RUN: not %roundtrip --mf-read-config=file=%t/rates.yaml %t/model.mlir 2>&1 | FileCheck %s --check-prefix=RATES
// RUN: not %roundtrip --mf-read-config=file=%t/groups.yaml %t/model.mlir 2>&1 | FileCheck %s --check-prefix=GROUPS

//--- model.mlir
mf.model @model attributes {family = "mcore", micro_batch_size = 8 : i64, sequence_length = 8 : i64, vocab_size = 16 : i64} {
}

// OPTION: error: mf-read-config needs the option file=<yaml>
// NEGATIVE: error: expected at least 1 for gradient_accumulation_steps, or 0 for the YAML's number, but got -1
// MISSING: missing.yaml{{.*}}: error: cannot read the file
// FOLDER: error: cannot read the file

//--- syntax.yaml
# SYNTAX: syntax.yaml:[[#@LINE+4]]:1: error: invalid YAML: end of sequence flow not found
recompute_config:
  recompute: [1, 2

//--- groups.yaml
# Groups of parameters with rates of their own.
# GROUPS: groups.yaml:[[#@LINE+4]]:3: error: expected grouped_lr_schedule to have a 'default', the schedule of parameters that no item of 'grouped' names
# GROUPS: groups.yaml:[[#@LINE+4]]:7: error: expected params of an item of grouped_lr_schedule to be a list of names or wildcards, [..]
# GROUPS: groups.yaml:[[#@LINE+4]]:17: error: expected a name or a wildcard in params of grouped_lr_schedule, but got 3
grouped_lr_schedule:
  grouped:
    - {learning_rate: 1.e-3}
    - {params: [3], learning_rate: 1.e-3}

//--- unknown-key.yaml
# KEY: unknown-key.yaml:[[#@LINE+2]]:3: error: unknown key 'recomptue' in recompute_config; did you mean 'recompute'?
recompute_config:
  recomptue: True

//--- type.yaml
# TYPE: type.yaml:[[#@LINE+2]]:14: error: expected a bool, a list of ints (layers per stage) or a list of such lists (one per interleave) for 'recompute', but got a map, {'a': 1}
recompute_config:
  recompute: {a: 1}

//--- optimizer.yaml
# OPTIMIZER: optimizer.yaml:[[#@LINE+2]]:9: error: optimizer 'Lamb' is not supported; expected AdamW, PmaAdamW, Muon, Came, FP32StateAdamWeightDecay, FusedAdamWeightDecay, AdamWeightDecayX or AdamWeightDecay
optimizer:
  type: Lamb

//--- factors.yaml
# FACTORS: factors.yaml:[[#@LINE+2]]:9: error: optimizer Came takes one learning rate for all parameters; expected lr_schedule in place of grouped_lr_schedule
optimizer:
  type: Came
grouped_lr_schedule:
  default: {type: ConstantWarmUpLR, learning_rate: 1.e-3}
  grouped: [{params: [norm], type: ConstantWarmUpLR, learning_rate: 1.e-4}]

//--- schedule.yaml
# SCHEDULE: schedule.yaml:[[#@LINE+2]]:9: error: learning rate schedule 'Sawtooth' is not supported; expected ConstantWarmUpLR,
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

//--- unit.yaml
# UNIT: unit.yaml:[[#@LINE+2]]:22: error: expected a size such as '58GB' (write '52.5GB') for 'max_device_memory', but got a string, '52.5'
context:
  max_device_memory: "52.5"

//--- batches.yaml
# BATCHES: batches.yaml:[[#@LINE+2]]:32: error: expected an int from 1 to 65536 for 'gradient_accumulation_steps', but got an int, 1000000
runner_config:
  gradient_accumulation_steps: 1000000

//--- unsharded.yaml
# What ranks share out is lowered; what there is nothing of to share out is said.
# UNSHARDED-NOT: warning
# UNSHARDED: unsharded.yaml:[[#@LINE+6]]:20: warning: expert_parallel 2 is not lowered; a dense model has no experts to distribute
# UNSHARDED-NOT: warning
parallel_config:
  data_parallel: 2
  model_parallel: 4
  context_parallel: 2
  expert_parallel: 2
  use_seq_parallel: True
  vocab_emb_dp: False
  context_parallel_algo: hybrid_cp
  ulysses_degree_in_cp: 2
parallel:
  full_batch: False
  dataset_strategy: [[2, 1], [2, 1]]
  gradients_mean: True

//--- strategy.yaml
# Each replica reads rows of its own, and dataset_strategy says so.
# STRATEGY: strategy.yaml:[[#@LINE+5]]:23: error: full_batch False needs a list as 'dataset_strategy' whose rows are cut into data_parallel 2 parts, such as {{\[\[}}2, 1]], but got 4
parallel_config:
  data_parallel: 2
parallel:
  full_batch: False
  dataset_strategy: [[4, 1], [4, 1]]

//--- no-strategy.yaml
# NO-STRATEGY: no-strategy.yaml:[[#@LINE+4]]:15: error: full_batch False needs a list as 'dataset_strategy' whose rows are cut into data_parallel 2 parts, such as {{\[\[}}2, 1]], but got none
parallel_config:
  data_parallel: 2
parallel:
  full_batch: False

//--- strategy-name.yaml
# STRATEGY-NAME: strategy-name.yaml:[[#@LINE+3]]:21: error: full_batch False needs a list as 'dataset_strategy' {{.*}}, but got 'full_batch'
parallel:
  full_batch: False
  dataset_strategy: full_batch

//--- whole.yaml
# Splits into one part, and what only matters with a split.
# WHOLE-NOT: warning
# WHOLE: training = #mf.training
# WHOLE-NOT: warning
parallel_config:
  data_parallel: 1
  model_parallel: 1
  context_parallel: 1
  expert_parallel: 1
  use_seq_parallel: True
  vocab_emb_dp: False
  context_parallel_algo: ulysses_cp
  ulysses_degree_in_cp: 1
parallel:
  full_batch: False
  dataset_strategy: [[1, 1]]
  gradients_mean: True
  enable_parallel_optimizer: True
  parallel_optimizer_config:
    parallel_optimizer_threshold: 32
runner_wrapper:
  type: MFTrainOneStepCell
  scale_sense:
    # The scale follows overflows.
    type: DynamicLossScaleUpdateCell
optimizer:
  learning_rate: 1.e-5
lr_schedule:
  type: cosine
  learning_rate: 1.e-5

//--- step.yaml
# Options of the step that change it and are not in the program.
# STEP-DAG: step.yaml:[[#@LINE+22]]:29: warning: calculate_per_token_loss is not lowered; the loss is the mean of each micro-batch's
# STEP-DAG: step.yaml:[[#@LINE+22]]:33: warning: use_skip_data_by_global_norm is not lowered; no step is skipped for a norm above 5.0
# STEP-DAG: step.yaml:[[#@LINE+22]]:15: warning: local_norm is not lowered; only the global norm is printed
# STEP-DAG: step.yaml:[[#@LINE+6]]:9: warning: optimizer.swap is not lowered; the optimizer's state stays on the device
# STEP-DAG: step.yaml:[[#@LINE+6]]:18: warning: optimizer.learning_rate 0.001 has no effect: without lr_schedule the rate is that of its defaults, 5e-05; add lr_schedule with the learning_rate that is meant
# STEP-DAG: step.yaml:[[#@LINE+9]]:18: warning: parallel_mode 0 is lowered as semi-auto parallel with data_parallel 8: the loss is the mean over the tokens of all replicas, not the mean of the replicas' means
# STEP-NOT: scale_sense
optimizer:
  type: AdamW
  swap: True
  learning_rate: 0.001
parallel_config:
  data_parallel: 8
parallel:
  parallel_mode: 0
  enable_parallel_optimizer: True
  parallel_optimizer_config:
    gradient_accumulation_shard: True
    parallel_optimizer_threshold: 128
    optimizer_weight_shard_size: 8
runner_wrapper:
  type: MFTrainOneStepCell
  calculate_per_token_loss: True
  use_skip_data_by_global_norm: True
  local_norm: True
  global_norm_spike_threshold: 5.0
  scale_sense:
    type: DynamicLossScaleUpdateCell

//--- rows.yaml
# ROWS: rows.yaml:[[#@LINE+2]]:18: error: 'model' has micro-batches of 8 rows, which do not divide over data_parallel 3; import it with this YAML, or with --batch-size, the rows of one of them
parallel_config:
  data_parallel: 3

//--- degree.yaml
# DEGREE: degree.yaml:[[#@LINE+4]]:25: error: expected a divisor of context_parallel 4 for 'ulysses_degree_in_cp', but got 3
parallel_config:
  context_parallel: 4
  context_parallel_algo: hybrid_cp
  ulysses_degree_in_cp: 3

//--- level.yaml
# LEVEL: level.yaml:[[#@LINE+4]]:34: error: expected an int of at least 1, or -1 for 'optimizer_weight_shard_size', but got an int, 0
# LEVEL: level.yaml:[[#@LINE+4]]:22: error: unknown optimizer_level 'level4'; did you mean 'level1'?; known are level1, level2, level3
parallel:
  parallel_optimizer_config:
    optimizer_weight_shard_size: 0
    optimizer_level: level4

//--- devices.yaml
# DEVICES: devices.yaml:[[#@LINE+4]]:15: warning: device_num 8 is not the number of ranks that parallel_config asks for; the program is for 4
parallel_config:
  data_parallel: 4
parallel:
  device_num: 8

//--- auto.yaml
# MindSpore's search for a layout is not repeated.
# AUTO: auto.yaml:[[#@LINE+5]]:18: warning: parallel_mode 2 is auto parallel: MindSpore searches a layout for each operator, which is not modelled; the step is that of parallel_mode 1 with data_parallel 2, model_parallel 1, pipeline_stage 1{{$}}
# AUTO: mf.mesh = #mf.mesh<pp = 1, dp = 2>
parallel_config:
  data_parallel: 2
parallel:
  parallel_mode: 2
runner_config:
  batch_size: 4

//--- auto-none.yaml
# Files without data_parallel give the rows of all ranks.
# AUTO-NONE: auto-none.yaml:[[#@LINE+5]]:18: warning: parallel_mode 'auto_parallel' is auto parallel: {{.*}}; parallel_config has none either, so the step is that of parallel_mode 1 with data_parallel 8, model_parallel 1, pipeline_stage 1 and batch_size 48, that of a stage, as 6 of each replica; set parallel_mode to 1, data_parallel and model_parallel, and batch_size to the rows of one replica{{$}}
# AUTO-NONE: mf.mesh = #mf.mesh<pp = 1, dp = 8>
parallel_config:
  mem_coeff: 0.25
parallel: {
  parallel_mode: auto_parallel}
runner_config:
  batch_size: 48

//--- auto-odd.yaml
# AUTO-ODD: auto-odd.yaml:[[#@LINE+2]]:15: error: batch_size 6 is that of a stage with parallel_mode 2 and no data_parallel, and does not divide over 4 ranks; set parallel_mode to 1, data_parallel and model_parallel, and batch_size to the rows of one replica
runner_config:
  batch_size: 6
parallel:
  parallel_mode: 2
  device_num: 4

//--- has-rate.yaml
# HAS-RATE: has-rate.yaml:[[#@LINE+2]]:18: warning: optimizer.learning_rate 0.001 has no effect: where lr_schedule is given, its learning_rate is the rate; change that
optimizer:
  learning_rate: 0.001
lr_schedule:
  type: cosine
  learning_rate: 1.e-5

//--- alone.yaml
# ALONE: alone.yaml:[[#@LINE+1]]:15: warning: use_parallel False trains on one device, not on the 4 of parallel_config; set it to True if the launcher does
use_parallel: False
parallel_config:
  data_parallel: 4

//--- names-of-layers.yaml
# The names that patterns match are the model's, whatever the YAML says.
# LAYERS: names-of-layers.yaml:[[#@LINE+1]]:13: warning: use_legacy has no effect: this model has the names of the mcore training graph
use_legacy: True

//--- names.yaml
# With swap on, lists are layers; with sequences split, no layer is recomputed whole.
# NAMES: names.yaml:[[#@LINE+6]]:14: error: full recompute does not work with seq_split_num > 1
# NAMES: names.yaml:[[#@LINE+6]]:21: error: expected a bool or a list of layer indices for 'select_recompute' with swap on, but got a list of strings
# NAMES: names.yaml:[[#@LINE+7]]:12: error: expected a bool or a list of layer indices for select_comm_recompute 'add' with swap on, but got a list of strings
parallel_config:
  seq_split_num: 2
recompute_config:
  recompute: [0]
  select_recompute: ['add']
  select_comm_recompute:
    'add': ['mul']
swap_config:
  swap: True

//--- rates.yaml
# Rates and steps that no schedule takes.
# RATES: rates.yaml:[[#@LINE+5]]:17: error: expected a number of at least 0 for 'weight_decay', but got a float, -0.1
# RATES: rates.yaml:[[#@LINE+8]]:18: error: expected a number of at least 0 for 'learning_rate', but got an int, -1
# RATES: rates.yaml:[[#@LINE+8]]:11: error: expected a number of at least 0 for 'lr_end', but got a float, -1.e-5
# RATES: rates.yaml:[[#@LINE+8]]:16: error: expected an int of at least 1, or -1 for 'total_steps', but got an int, 0
optimizer:
  weight_decay: -0.1
# A schedule that is a class of MindSpore Transformers.
lr_schedule:
  type: polynomial
  learning_rate: -1
  lr_end: -1.e-5
  total_steps: 0
