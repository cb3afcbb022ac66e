# SPDX-License-Identifier: Apache-2.0
"""Checks that a forward and a backward that take turns in parts change no bit.

usage: pairs_on_layouts.py [--part=K/N] BIN_FOLDER WORK_FOLDER

Models with experts and without, on data, expert and model parallel ranks, under every schedule with pairs. Each is held
to the same ranks on one stage: losses, norms, gradients and parameters must be the same bytes, the program must verify,
and every rank must use at its peak the bytes that were planned. Routines must be in parts where ranks exchange anything,
and whole where values are swapped.
"""

import os
import sys

import expert_layouts
import parts
import step_results
import training

SWAP = {"layer_swap": "[{backward_prefetch: 7, layers: True}]"}
RECOMPUTE = {"recompute": "True"}
# Name of the schedule, pipeline_scheduler, chunks on a stage, least micro-batches of a stage.
ONE = ("1f1b-paired", "1f1b", 1, 2)
TWO = ("1f1b-paired", "1f1b", 2, 2)
SPLIT = ("1f1b-paired-split", "1f1b", 1, 2)
V = ("dualpipe-v-paired", "zero_bubble_v", 2, 2)

BASE = expert_layouts.Draw()
EXPERTS = BASE.change(dp=2, ep=2, dropless=True, rows=2, shared=1)
LATENT = BASE.change(family="deepseek", dp=2, ep=2, mp=2, shared=1, rows=2)
DENSE = dict(
    model=training.MODEL, batch_size=2, ranks={"model_parallel": 2, "use_seq_parallel": True},
)  # fmt: skip
SHARDED = dict(
    model=training.MODEL, batch_size=2, ranks={"data_parallel": 2},
    parallel={"enable_parallel_optimizer": True},
    optimizer_shard={"optimizer_level": "level3", "parallel_optimizer_threshold": 0},
)  # fmt: skip

CASES = [
    (DENSE, ONE, 2, {}),
    (DENSE, TWO, 2, dict(recompute=RECOMPUTE)),
    (DENSE, V, 2, dict(recompute=RECOMPUTE, lowering=["--recompute-tasks"])),
    (DENSE, V, 2, dict(swap=SWAP)),
    (SHARDED, SPLIT, 2, {}),
    (EXPERTS.get_options(), V, 2, {}),
    (EXPERTS.get_options(), SPLIT, 2, dict(recompute=RECOMPUTE)),
    (LATENT.get_options(), V, 2, {}),
    (LATENT.get_options(), TWO, 2, dict(recompute=RECOMPUTE)),
]


def run(tools, options, changes):
    options = dict(options, **changes)
    # More than one stage turns it off.
    options["ranks"] = dict(options["ranks"], vocab_emb_dp=False)
    model, step = tools.lower("case", **options)
    tools.run("mf-opt", "--quiet", "--ascend-verify-program", step, "-o", "/dev/null")
    with open(step) as file:
        in_parts = "continues" in file.read()
    initial = step_results.initialize(tools, model)
    return in_parts, step_results.run(tools, step, tools.path("data.txt"), 2, initial)


def check(tools, layout, schedule, stages, more):
    """What is wrong with a case."""
    name, scheduler, interleave, factor = schedule
    layers = stages * interleave
    options = dict(layout, model=dict(layout["model"], num_layers=layers))
    options["micro_batches"] = factor * stages + 1
    whole, expected = run(tools, options, dict(stages=1, recompute=None, swap=None))
    changes = dict(more, stages=stages, schedule=name, scheduler=scheduler, interleave=interleave)
    in_parts, actual = run(tools, options, changes)
    if whole:
        yield "parts on one stage"
    if in_parts == ("swap" in more):
        yield "in parts" if in_parts else "as a whole"
    pairs = zip(("gradients", "parameters"), expected.bytes, actual.bytes)
    if expected.printed != actual.printed:
        yield "other losses or norms: %s, %s" % (expected.printed, actual.printed)
    for name, one, other in pairs:
        if one != other:
            yield "other " + name


def main():
    part = parts.pop_part()
    bin_folder, work_folder = sys.argv[1:3]
    os.makedirs(work_folder, exist_ok=True)
    tools = training.Tools(bin_folder, work_folder)
    training.start_drawing(tools.path("data.txt"), 3)
    cases, count = part.select(CASES), 0
    for case in cases:
        try:
            problems = list(check(tools, *case))
        except RuntimeError as error:
            problems = [str(error)[-1500:]]
        count += bool(problems)
        for problem in problems:
            print("%s: %s" % (case, problem))
    print("%d cases, %d problems" % (len(cases), count))
    sys.exit(1 if count else 0)


if __name__ == "__main__":
    main()
