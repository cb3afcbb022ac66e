# SPDX-License-Identifier: Apache-2.0
"""Checks that stages below the first adapter run no backward, and that this changes no bit.

usage: frozen_stages.py BIN_FOLDER WORK_FOLDER

Trains a small Llama on four stages, of whose layers the second half has adapters, under several schedules, and on one stage.
Losses, gradients, adapters and frozen weights must be the same bytes, and every program must verify.
"""

import re
import sys

import step_results
import training

# Name for --schedule, pipeline_scheduler, chunks of a stage, micro-batches, pieces of the sequence.
SCHEDULES = [
    (None, "1f1b", 1, 4, 1),
    (None, "gpipe", 1, 4, 1),
    ("zero-bubble-h1", "1f1b", 1, 4, 1),
    ("interleaved", "1f1b", 2, 4, 1),
    (None, "zero_bubble_v", 2, 8, 1),
    (None, "seqpipe", 1, 4, 2),
]
MODEL = dict(training.MODEL, hidden_size=32, intermediate_size=48, seq_length=16)
ADAPTERS = "{pet_type: lora, lora_rank: 4, lora_alpha: 8, lora_dropout: 0.1, target_modules: '.*wq|.*w2', exclude_layers: [%s]}"


def train(tools, model, schedule, **options):
    """The model file, and the results of two steps of a program that verifies."""
    mlir, step = tools.lower("step", model, schedule=schedule, batch_size=1, **options)
    return mlir, step_results.run(tools, step, tools.path("data.txt"), 2, extra=["--verify", "--seed", "3"])


def count_chunks(tools, mlir, schedule):
    """What mf-build-schedule says of chunks without backward, and what the program has."""
    order = ["--schedule=" + schedule] if schedule else []
    command = ["mf-opt", *order, "--remarks-filter-passed=schedule", "--recompute-config=" + tools.path("step.yaml")]
    remark = re.search(
        r"ends with the first chunk that is trained.*backward tasks not run=(\d+), chunks without backward=(\d+)",
        tools.run(*command, mlir, "-o", tools.path("remarks.mlir"), both=True),
    )
    return int(remark[2]), int(remark[1])


def main():
    tools = training.Tools(*sys.argv[1:])
    training.start_drawing(tools.path("data.txt"), 1)
    for schedule, scheduler, interleave, micro_batches, pieces in SCHEDULES:
        layers = 4 * interleave
        excluded = ", ".join("'%d'" % layer for layer in range(layers // 2))
        model = dict(MODEL, num_layers=layers, pet_config=ADAPTERS % excluded)
        options = {"micro_batches": micro_batches, "ranks": {"seq_split_num": pieces} if pieces > 1 else None}
        _, expected = train(tools, model, None, **options)
        mlir, found = train(
            tools, model, schedule, stages=4, scheduler=scheduler, interleave=interleave, **options
        )  # fmt: skip
        if not found.has_same_bits(expected):
            sys.exit("error: %s changes bits" % (schedule or scheduler))
        chunks, tasks = count_chunks(tools, mlir, schedule)
        print("%s: %d of %d chunks without backward, which is %d tasks" % (schedule or scheduler, chunks, layers, tasks))
    print("adapters have the bits of one stage")


main()
