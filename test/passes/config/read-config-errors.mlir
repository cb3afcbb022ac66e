// Each wrong file: where, what, and what was expected; and a failure.
// RUN: split-file --leading-lines %s %t
// RUN: %messages %t/table /dev/null %roundtrip --mf-read-config=file=@ %t/model.mlir -o %t/changed.mlir
// RUN: not %roundtrip --mf-read-config %t/model.mlir 2>&1 | FileCheck %s --check-prefix=OPTION
// RUN: not %roundtrip --mf-read-config="file=%t/auto.yaml gradient-accumulation-steps=-1" %t/model.mlir 2>&1 | FileCheck %s --check-prefix=NEGATIVE
// RUN: not %roundtrip --mf-read-config=file=%t/missing.yaml %t/model.mlir 2>&1 | FileCheck %s --check-prefix=MISSING
// RUN: not %roundtrip --mf-read-config=file=%t %t/model.mlir 2>&1 | FileCheck %s --check-prefix=FOLDER
// RUN: not %roundtrip --mf-read-config=file=%t/syntax.yaml %t/model.mlir 2>&1 | FileCheck %s --check-prefix=SYNTAX
// RUN: %roundtrip --mf-read-config=file=%t/auto.yaml %t/model.mlir 2>/dev/null | FileCheck %s --check-prefix=AUTO
// RUN: %roundtrip --mf-read-config=file=%t/auto-none.yaml %t/model.mlir 2>/dev/null | FileCheck %s --check-prefix=AUTO-NONE

// OPTION: error: mf-read-config needs the option file=<yaml>
// NEGATIVE: error: expected at least 1 for gradient_accumulation_steps, or 0 for the YAML's number, but got -1
// MISSING: missing.yaml{{.*}}: error: cannot read the file
// FOLDER: error: cannot read the file

//--- model.mlir
mf.model @model attributes {family = "mcore", micro_batch_size = 8 : i64, sequence_length = 8 : i64, vocab_size = 16 : i64} {
}

//--- syntax.yaml
# SYNTAX: syntax.yaml:[[#@LINE+3]]:1: error: invalid YAML: end of sequence flow not found
recompute_config:
  recompute: [1, 2
//--- auto.yaml
# AUTO: mf.mesh = #mf.mesh<pp = 1, dp = 2>
parallel_config: {data_parallel: 2}
parallel: {parallel_mode: 2}
runner_config: {batch_size: 4}
//--- auto-none.yaml
# AUTO-NONE: mf.mesh = #mf.mesh<pp = 1, dp = 8>
parallel_config: {mem_coeff: 0.25}
parallel: {parallel_mode: auto_parallel}
runner_config: {batch_size: 48}
//--- table
recompute_config: {recomptue: True}
    :1:20: error: unknown key 'recomptue' in recompute_config; did you mean 'recompute'?
recompute_config: {recompute: {a: 1}}
    :1:31: error: expected a bool, a list of ints (layers per stage) or a list of such lists (one per interleave) for 'recompute', but got a map, {'a': 1}
optimizer: {type: Lamb}
    :1:19: error: optimizer 'Lamb' is not supported; expected AdamW, PmaAdamW, Muon, Came, FP32StateAdamWeightDecay, FusedAdamWeightDecay, AdamWeightDecayX or AdamWeightDecay
optimizer: {type: Came}
grouped_lr_schedule: {default: {type: ConstantWarmUpLR, learning_rate: 1.e-3}, grouped: [{params: [norm], type: ConstantWarmUpLR, learning_rate: 1.e-4}]}
    :1:19: error: optimizer Came takes one learning rate for all parameters; expected lr_schedule in place of grouped_lr_schedule
lr_schedule: {type: Sawtooth, learning_rate: 1.e-5}
    :1:21: error: learning rate schedule 'Sawtooth' is not supported; expected ConstantWarmUpLR, LinearWithWarmUpLR, CosineWithWarmUpLR, CosineWithRestartsAndWarmUpLR, PolynomialWithWarmUpLR, WarmUpStableDecayLR, CosineAnnealingLR or CosineAnnealingWarmRestarts
runner_wrapper: {use_clip_grad: True, max_grad_norm: -1.0}
    :1:54: error: expected a positive number for 'max_grad_norm', but got a float, -1.0
context: {max_device_memory: "much"}
    :1:30: error: expected a size such as '58GB' for 'max_device_memory', but got a string, 'much'
context: {max_device_memory: "52.5"}
    :1:30: error: expected a size such as '58GB' (write '52.5GB') for 'max_device_memory', but got a string, '52.5'
runner_config: {gradient_accumulation_steps: 1000000}
    :1:46: error: expected an int from 1 to 65536 for 'gradient_accumulation_steps', but got an int, 1000000
# What ranks share out is lowered; what there is nothing of to share out is said.
parallel_config: {data_parallel: 2, model_parallel: 4, context_parallel: 2, expert_parallel: 2, use_seq_parallel: True, vocab_emb_dp: False, context_parallel_algo: hybrid_cp, ulysses_degree_in_cp: 2}
parallel: {full_batch: False, dataset_strategy: [[2, 1], [2, 1]], gradients_mean: True}
    :1:94: warning: expert_parallel 2 is not lowered; a dense model has no experts to distribute
# Options of the step that change it and are not in the program.
optimizer: {type: AdamW, swap: True, learning_rate: 0.001}
parallel_config: {data_parallel: 8}
parallel: {parallel_mode: 0, enable_parallel_optimizer: True, parallel_optimizer_config: {gradient_accumulation_shard: True, parallel_optimizer_threshold: 128, optimizer_weight_shard_size: 8}}
runner_wrapper: {type: MFTrainOneStepCell, calculate_per_token_loss: True, use_skip_data_by_global_norm: True, local_norm: True, global_norm_spike_threshold: 5.0, scale_sense: {type: DynamicLossScaleUpdateCell}}
    :3:27: warning: parallel_mode 0 is lowered as semi-auto parallel with data_parallel 8: the loss is the mean over the tokens of all replicas, not the mean of the replicas' means
    :4:106: warning: use_skip_data_by_global_norm is not lowered; no step is skipped for a norm above 5.0
    :4:70: warning: calculate_per_token_loss is not lowered; the loss is the mean of each micro-batch's
    :4:124: warning: local_norm is not lowered; only the global norm is printed
    :1:32: warning: optimizer.swap is not lowered; the optimizer's state stays on the device
    :1:53: warning: optimizer.learning_rate 0.001 has no effect: without lr_schedule the rate is that of its defaults, 5e-05; add lr_schedule with the learning_rate that is meant
parallel_config: {data_parallel: 3}
    :1:34: error: 'model' has micro-batches of 8 rows, which do not divide over data_parallel 3; import it with this YAML, or with --batch-size, the rows of one of them
parallel_config: {context_parallel: 4, context_parallel_algo: hybrid_cp, ulysses_degree_in_cp: 3}
    :1:96: error: expected a divisor of context_parallel 4 for 'ulysses_degree_in_cp', but got 3
parallel: {parallel_optimizer_config: {optimizer_weight_shard_size: 0, optimizer_level: level4}}
    :1:69: error: expected an int of at least 1, or -1 for 'optimizer_weight_shard_size', but got an int, 0
    :1:89: error: unknown optimizer_level 'level4'; did you mean 'level1'?; known are level1, level2, level3
parallel_config: {data_parallel: 4}
parallel: {device_num: 8}
    :2:24: warning: device_num 8 is not the number of ranks that parallel_config asks for; the program is for 4
# MindSpore's search for a layout is not repeated.
parallel_config: {data_parallel: 2}
parallel: {parallel_mode: 2}
runner_config: {batch_size: 4}
    :2:27: warning: parallel_mode 2 is auto parallel: MindSpore searches a layout for each operator, which is not modelled; the step is that of parallel_mode 1 with data_parallel 2, model_parallel 1, pipeline_stage 1
# Files without data_parallel give the rows of all ranks.
parallel_config: {mem_coeff: 0.25}
parallel: {parallel_mode: auto_parallel}
runner_config: {batch_size: 48}
    :2:27: warning: parallel_mode 'auto_parallel' is auto parallel: MindSpore searches a layout for each operator, which is not modelled; parallel_config has none either, so the step is that of parallel_mode 1 with data_parallel 8, model_parallel 1, pipeline_stage 1 and batch_size 48, that of a stage, as 6 of each replica; set parallel_mode to 1, data_parallel and model_parallel, and batch_size to the rows of one replica
runner_config: {batch_size: 6}
parallel: {parallel_mode: 2, device_num: 4}
    :1:29: error: batch_size 6 is that of a stage with parallel_mode 2 and no data_parallel, and does not divide over 4 ranks; set parallel_mode to 1, data_parallel and model_parallel, and batch_size to the rows of one replica
    :2:27: warning: parallel_mode 2 is auto parallel: MindSpore searches a layout for each operator, which is not modelled; parallel_config has none either, so the step is that of parallel_mode 1 with data_parallel 4, model_parallel 1, pipeline_stage 1; set parallel_mode to 1, data_parallel and model_parallel, and batch_size to the rows of one replica
optimizer: {learning_rate: 0.001}
lr_schedule: {type: cosine, learning_rate: 1.e-5}
    :1:28: warning: optimizer.learning_rate 0.001 has no effect: where lr_schedule is given, its learning_rate is the rate; change that
use_parallel: False
parallel_config: {data_parallel: 4}
    :1:15: warning: use_parallel False trains on one device, not on the 4 of parallel_config; set it to True if the launcher does
# Each replica reads rows of its own, and dataset_strategy says so.
parallel_config: {data_parallel: 2}
parallel: {full_batch: False, dataset_strategy: [[4, 1], [4, 1]]}
    :2:51: error: full_batch False needs a list as 'dataset_strategy' whose rows are cut into data_parallel 2 parts, such as [[2, 1]], but got 4
parallel_config: {data_parallel: 2}
parallel: {full_batch: False}
    :2:24: error: full_batch False needs a list as 'dataset_strategy' whose rows are cut into data_parallel 2 parts, such as [[2, 1]], but got none
parallel: {full_batch: False, dataset_strategy: full_batch}
    :1:49: error: full_batch False needs a list as 'dataset_strategy' whose rows are cut into data_parallel 1 parts, such as [[1, 1]], but got 'full_batch'
# Splits into one part, and what only matters with a split.
parallel_config: {data_parallel: 1, model_parallel: 1, context_parallel: 1, expert_parallel: 1, use_seq_parallel: True, vocab_emb_dp: False, context_parallel_algo: ulysses_cp, ulysses_degree_in_cp: 1}
parallel: {full_batch: False, dataset_strategy: [[1, 1]], gradients_mean: True, enable_parallel_optimizer: True, parallel_optimizer_config: {parallel_optimizer_threshold: 32}}
runner_wrapper: {type: MFTrainOneStepCell, scale_sense: {type: DynamicLossScaleUpdateCell}}
optimizer: {learning_rate: 1.e-5}
lr_schedule: {type: cosine, learning_rate: 1.e-5}
    nothing
# The names that patterns match are the model's, whatever the YAML says.
use_legacy: True
    :1:13: warning: use_legacy has no effect: this model has the names of the mcore training graph
# With swap on, lists are layers; with sequences split, no layer is recomputed whole.
parallel_config: {seq_split_num: 2}
recompute_config: {recompute: [0], select_recompute: ['add'], select_comm_recompute: {'add': ['mul']}}
swap_config: {swap: True}
    :2:31: error: full recompute does not work with seq_split_num > 1; set recompute to False, or seq_split_num to 1
    :2:54: error: expected a bool or a list of layer indices for 'select_recompute' with swap on, but got a list of strings
    :2:94: error: expected a bool or a list of layer indices for select_comm_recompute 'add' with swap on, but got a list of strings
# Rates and steps that no schedule takes.
# A schedule that is a class of MindSpore Transformers.
optimizer: {weight_decay: -0.1}
lr_schedule: {type: polynomial, learning_rate: -1, lr_end: -1.e-5, total_steps: 0}
    :1:27: error: expected a number of at least 0 for 'weight_decay', but got a float, -0.1
    :2:48: error: expected a number of at least 0 for 'learning_rate', but got an int, -1
    :2:60: error: expected a number of at least 0 for 'lr_end', but got a float, -1.e-5
    :2:81: error: expected an int of at least 1, or -1 for 'total_steps', but got an int, 0
# Groups of parameters with rates of their own.
grouped_lr_schedule: {grouped: [{learning_rate: 1.e-3}, {params: [3], learning_rate: 1.e-3}]}
    :1:22: error: expected grouped_lr_schedule to have a 'default', the schedule of parameters that no item of 'grouped' names
    :1:33: error: expected params of an item of grouped_lr_schedule to be a list of names or wildcards, [..]
    :1:67: error: expected a name or a wildcard in params of grouped_lr_schedule, but got 3
