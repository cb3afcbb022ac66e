// Each wrong pipeline: where, what, and what was expected; and a failure.
// RUN: split-file --leading-lines %s %t
// RUN: %messages %t/table /dev/null %roundtrip --mf-read-config=file=@ %t/model.mlir -o %t/changed.mlir
// RUN: %roundtrip --mf-read-config=file=%t/order-of-chunks.yaml %t/model.mlir 2>&1 | FileCheck %s --check-prefix=ORDER-OF-CHUNKS --implicit-check-not=warning
// RUN: not %roundtrip --mf-read-config="file=%t/replaced.yaml schedule=zero-bubble-v" %t/model.mlir 2>&1 | FileCheck %s --check-prefix=REPLACED

//--- model.mlir
mf.model @model attributes {family = "mcore", micro_batch_size = 8 : i64, sequence_length = 8 : i64, vocab_size = 16 : i64} {
}

//--- order-of-chunks.yaml
# ORDER-OF-CHUNKS: interleave = 2, micro_batches = 4, {{.*}}scheduler = "seq1f1b-interleaved-low-memory", sequence_pieces = 2
parallel_config:
  pipeline_stage: 4
  seq_split_num: 2
  micro_batch_num: 4
parallel:
  pipeline_config:
    pipeline_interleave: True
    pipeline_scheduler: seqsmartvpp
model:
  model_config:
    pp_interleave_num: 2

//--- replaced.yaml
# What the command line asks for in place of the YAML's scheduler has its rules.
# REPLACED: replaced.yaml:[[#@LINE+12]]:24: error: --schedule=zero-bubble-v needs 2 chunks on each stage, but pp_interleave_num is 3
# REPLACED: replaced.yaml:[[#@LINE+3]]:20: error: --schedule=zero-bubble-v needs at least twice as many micro-batches as stages (4), but micro_batch_num is 2
parallel_config:
  pipeline_stage: 2
  micro_batch_num: 2
parallel:
  pipeline_config:
    pipeline_interleave: True
    pipeline_scheduler: seqpipe
model:
  model_config:
    num_layers: 6
    pp_interleave_num: 3

//--- table
# Chunks that nobody switches on are none.
parallel_config: {pipeline_stage: 2, micro_batch_num: 2}
parallel: {pipeline_config: {pipeline_interleave: False}}
model: {model_config: {num_layers: 4, pp_interleave_num: 2}}
    :3:58: warning: pp_interleave_num 2 has no effect: parallel.pipeline_config.pipeline_interleave is not True
# A part of a pipeline has other places for layers.
parallel_config: {pipeline_stage: 4, micro_batch_num: 4}
model: {model_config: {stage_num: 2}}
    :2:35: error: a part of a pipeline ('stage_num') is not lowered; expected the whole model
# Pieces of the sequence come in an order of their own, and are no parts of ranks.
parallel_config: {pipeline_stage: 4, seq_split_num: 2, context_parallel: 2, model_parallel: 2, use_seq_parallel: True, micro_batch_num: 4}
micro_batch_interleave_num: 3
model: {model_config: {fine_grain_interleave: 4}}
parallel: {pipeline_config: {pipeline_scheduler: gpipe}}
    :1:53: error: seq_split_num 2 needs pipeline_scheduler seqpipe, seqvpp or seqsmartvpp, but it is 'gpipe'
    :1:53: error: seq_split_num 2 with context_parallel 2 is not lowered; set either to 1
    :1:53: error: seq_split_num 2 with micro_batch_interleave_num 3 is not lowered; set either to 1
    :1:53: error: seq_split_num 2 with fine_grain_interleave 4 is not lowered; set either to 1
# What is lowered needs no message.
parallel_config: {pipeline_stage: 4, micro_batch_num: 8}
parallel: {pipeline_config: {pipeline_interleave: True, pipeline_scheduler: zero_bubble_v}}
model: {model_config: {num_layers: 9, pp_interleave_num: 2, offset: [[0, 0, 0, 0], [1, 0, 0, 0]]}}
    nothing
# Everything that zero_bubble_v asks for, at the key to mend.
parallel_config: {pipeline_stage: 1, micro_batch_num: 1}
parallel: {pipeline_config: {pipeline_interleave: False, pipeline_scheduler: zero_bubble_v}}
model: {model_config: {offset: [1]}}
    :2:51: error: pipeline_scheduler 'zero_bubble_v' needs pipeline_interleave: True, but it is not set to that
    :1:35: error: pipeline_scheduler 'zero_bubble_v' needs at least 2 stages, but pipeline_stage is 1
    :1:55: error: pipeline_scheduler 'zero_bubble_v' needs at least twice as many micro-batches as stages (2), but micro_batch_num is 1
    :3:32: error: pipeline_scheduler 'zero_bubble_v' needs an offset with a row for each chunk, [[..], [..]], but it is [1]
# Without pp_interleave_num the error is where it is asked for.
parallel_config: {pipeline_stage: 2, micro_batch_num: 4}
parallel: {pipeline_config: {pipeline_interleave: True, pipeline_scheduler: zero_bubble_v}}
    :2:77: error: pipeline_scheduler 'zero_bubble_v' needs 2 chunks on each stage, but pp_interleave_num is 1
parallel_config: {pipeline_stage: 3, micro_batch_num: 3}
parallel: {pipeline_config: {pipeline_scheduler: seqvpp}}
    :2:50: error: pipeline_scheduler 'seqvpp' needs pipeline_interleave: True, but it is not set to that
    :2:50: error: pipeline_scheduler 'seqvpp' needs seq_split_num of at least 2, but it is 1
parallel_config: {pipeline_stage: 3, micro_batch_num: 3}
parallel: {pipeline_config: {pipeline_interleave: True, pipeline_scheduler: seqsmartvpp}}
    :1:35: error: pipeline_scheduler 'seqsmartvpp' needs an even number of stages, but pipeline_stage is 3
# MindSpore compiles no pipeline that is not filled, in whatever order.
parallel_config: {pipeline_stage: 4, micro_batch_num: 3}
    :1:55: error: expected micro_batch_num to be at least pipeline_stage 4, but got 3: MindSpore compiles no pipeline with fewer micro-batches than stages
parallel: {pipeline_config: {pipeline_scheduler: zero_bubble}}
    :1:50: error: unknown pipeline_scheduler 'zero_bubble'; did you mean 'zero_bubble_v'?; known are 1f1b, gpipe, seqpipe, seqvpp, seqsmartvpp, zero_bubble_v
