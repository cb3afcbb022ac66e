# SPDX-License-Identifier: Apache-2.0
"""Checks what the memory levels of experts keep, and that they change no bit.

usage: expert_levels.py BIN_FOLDER WORK_FOLDER

Lowers two models for one rank and for two that share experts out, with nothing recomputed and at each level. Of t rows of
h elements of e bytes that come to the experts of a rank, which are I wide, level 0 keeps t (h + I) e bytes less: what
comes to the first product, and what comes to the second. Level 1 keeps t 2 I e bytes less again, the result of the first
product, and of n tokens 4 n I e bytes of the shared expert. Losses and gradients are the same bits, and each rank needs
the memory that was planned.
"""

import dataclasses
import os
import re
import sys

import step_results
import training

HIDDEN, BYTES, TOKENS, STEPS = 32, 4, 32, 2


@dataclasses.dataclass
class Model:
    yaml: str
    # As patterns name it.
    cell: str
    width: int
    choices: int
    # Rows that a rank sends beside those of its tokens.
    zero_rows: int


MODELS = [
    Model("experts_dropless.yaml", r"feed_forward\.routed_experts\.ffn", 48, 2, 8),
    Model("experts_mcore.yaml", r"mlp\.experts", 24, 3, 0),
]


def write_data(path):
    with open(path, "wb") as file:
        file.write(bytes((7 * index + index // 5) % 64 for index in range(2000)))


def lower(tools, model, ranks, level):
    """The step, and what a micro-batch keeps of its last layer."""
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "Inputs", model.yaml)) as file:
        text = file.read()
    # The samples of a step stay the same.
    text = text.replace("batch_size: 2", "batch_size: %d" % (2 // ranks))
    text += "\nparallel_config: {data_parallel: %d, expert_parallel: %d}\n" % (ranks, ranks)
    if level is not None:
        text += r"recompute_config: {select_recompute: ['%s\.level%d']}" % (model.cell, level)
    yaml = tools.path("case.yaml")
    with open(yaml, "w") as file:
        file.write(text)
    _, step = tools.lower_yaml(yaml)
    memory = tools.run("mf-opt", "--ascend-print-memory", step, "-o", os.devnull, both=True)
    return step, int(re.search(r"layers\.1 +(\d+)", memory)[1])


def check(tools, data, model, ranks):
    kept, results = [], []
    for level in (None, 0, 1):
        step, size = lower(tools, model, ranks, level)
        kept.append(size)
        results.append(step_results.run(tools, step, data, STEPS))
    tokens = TOKENS // ranks
    # Ranks have room for all rows that each can send them: --expert-room has no effect on so few.
    rows = ranks * (tokens * model.choices + model.zero_rows)
    expected = [rows * (HIDDEN + model.width) * BYTES, (2 * rows + 4 * tokens) * model.width * BYTES]
    saved = [kept[0] - kept[1], kept[1] - kept[2]]
    same = all(result.has_same_bits(results[0]) for result in results)
    print("%s on %d: level 0 keeps %d bytes less, level 1 %d less again%s%s" % (
        model.yaml, ranks, *saved, "" if saved == expected else ", expected %d and %d" % tuple(expected),
        "" if same else ", other bits"))  # fmt: skip
    return saved == expected and same


def main():
    tools = training.Tools(sys.argv[1], sys.argv[2])
    data = tools.path("data.txt")
    write_data(data)
    passed = [check(tools, data, model, ranks) for model in MODELS for ranks in (1, 2)]
    sys.exit(0 if all(passed) else 1)


if __name__ == "__main__":
    main()
