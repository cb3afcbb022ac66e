# SPDX-License-Identifier: Apache-2.0
"""Checks that losses add up over stages and chunks.

usage: losses_on_several_stages.py BIN_FOLDER WORK_FOLDER MODEL

Trains a model with auxiliary losses, two of one layer, on one stage and on several
under every schedule. Gradients and trained parameters must be the same bytes. The
loss is that of one stage up to the order in which stages' losses are added.
"""

import math
import sys

import step_results
import training

STEPS, MICRO_BATCHES = 3, 8

# Stages, name for --schedule, chunks per stage, recompute_config.
CASES = [
    (2, "1f1b", 1, None),
    (4, "1f1b", 1, {"recompute": "True"}),
    (2, "gpipe", 1, None),
    (2, "gpipe", 2, None),
    (4, "zero-bubble-h1", 1, None),
    (2, "zero-bubble-v", 2, {"recompute": "True"}),
    (2, "interleaved", 2, None),
    (2, "interleaved-low-memory", 2, None),
]


def train(tools, model, data, stages, schedule, interleave, recompute):
    """Losses, gradients and parameters."""
    yaml, step = tools.path("train.yaml"), tools.path("step.mlir")
    training.write_yaml(
        yaml, {}, stages=stages, interleave=interleave, micro_batches=MICRO_BATCHES,
        batch_size=1, recompute=recompute, scale_sense="8.0",
    )  # fmt: skip
    tools.run("mf-opt", "--quiet", "--schedule=" + schedule, "--recompute-config=" + yaml, model,
              "-o", step)  # fmt: skip
    tools.run("mf-opt", "--ascend-verify-program", step, "-o", tools.path("verified.mlir"))
    result = step_results.run(tools, step, data, STEPS)
    return [loss for loss, _ in result.losses], *result.bytes


def main():
    tools = training.Tools(*sys.argv[1:3])
    model = sys.argv[3]
    data = tools.path("text.txt")
    with open(data, "wb") as file:
        file.write(bytes(32 + 7 * i * i % 95 for i in range(2000)))
    losses, *state = train(tools, model, data, 1, "1f1b", 1, None)
    assert len(losses) == STEPS and all(math.isfinite(loss) for loss in losses), losses
    # The head's alone is less than ln(256) + 5.
    assert losses[0] > 20, losses
    for case in CASES:
        found, *rest = train(tools, model, data, *case)
        close = all(math.isclose(a, b, rel_tol=1e-6) for a, b in zip(losses, found))
        if not close or len(found) != STEPS:
            sys.exit("error: %s has losses %s, expected %s" % (case, found, losses))
        if rest != state:
            sys.exit("error: %s has other gradients or parameters" % (case,))


if __name__ == "__main__":
    main()
