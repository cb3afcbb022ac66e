# SPDX-License-Identifier: Apache-2.0
"""Checks the loss scale over whole training runs, in fp32.

usage: loss_scale.py BIN_FOLDER WORK_FOLDER

All steps see the same batch, and all scales are powers of two. So a run with
steps that overflow and are skipped must end with the very bits of a run without
a loss scale that has as many steps less: parameters, moments behind them, the
learning rate's warm-up and AdamW's bias correction.
"""

import shutil
import sys

import numpy
import safetensors
import training

STEPS = 5
# Its product with the greatest gradient overflows.
HUGE = 2.0**127
FACTOR = 2**30
DYNAMIC = (
    "{type: DynamicLossScaleUpdateCell, loss_scale_value: %r, scale_factor: %d, "
    "scale_window: %d}"
)


def check(condition, *facts):
    if not condition:
        sys.exit("not as expected: %r" % (facts,))


class Runs:
    def __init__(self, bin_folder, work_folder):
        self.tools = training.Tools(bin_folder, work_folder)
        self.data = self.tools.path("data.txt")
        with open(self.data, "w") as file:
            file.write("the same thirty-two characters, " * 64)
        self.parameters = None

    def lower(self, name, stages, scale):
        model = dict(training.MODEL, tie_word_embeddings=True)
        mlir, step = self.tools.lower(
            name, model, stages=stages, micro_batches=2, scale_sense=scale, warmup_steps=4
        )
        if not self.parameters:
            self.parameters = self.tools.path("parameters.safetensors")
            values = training.random_parameters(self.tools.parameters(mlir))
            # Great logits: gradients above 2.
            values["model.norm_out.weight"] *= 16
            safetensors.save(self.parameters, values)
        return step

    def train(self, step, steps, *extra):
        """The report's steps, and the bytes of the trained parameters."""
        saved = self.tools.path("saved.safetensors")
        extra = ["--save-params", saved, "--debug-memory", *extra]
        report = self.tools.train(step, self.data, steps, self.parameters, extra=extra)
        for rank in report["ranks"]:
            check(rank["planned_bytes"] == rank["used_bytes"], rank)
        return report["steps"], open(saved, "rb").read()


def scales(steps):
    """The report writes the shortest decimals that are the same in fp32."""
    return [float(numpy.float32(step["loss_scale"])) for step in steps]


def overflows(steps):
    return [step["overflow"] for step in steps]


def check_dynamic(runs, stages):
    # Two of the steps will overflow.
    plain, learned = runs.train(runs.lower("plain", stages, "1.0"), STEPS - 2)
    check(not any(overflows(plain)), plain)

    # An overflow, then one clean step, and one more multiplies.
    step = runs.lower("dynamic", stages, DYNAMIC % (HUGE, FACTOR, 2))
    scaled, same = runs.train(step, STEPS)
    small = HUGE / FACTOR
    expected = [HUGE, small, small, HUGE, small]
    check(overflows(scaled)[0] and not any(overflows(scaled)[1:3]), scaled)
    check(scales(scaled)[:4] == expected[:4], scales(scaled))
    # The first step counts for nothing: the same losses, norms and rates.
    facts = ("loss", "global_norm", "learning_rate")
    for one, other in zip(scaled[1:3], plain):
        check(all(one[f] == other[f] for f in facts), one, other)
    # The grown scale overflows again and falls back.
    check(overflows(scaled)[3] and scales(scaled) == expected, scaled)
    check(scaled[4]["loss"] == plain[2]["loss"], scaled[4], plain[2])
    check(same == learned, "parameters differ")
    return step, scaled, same


def check_resumed(runs, step, whole, learned):
    """Resumes in the middle of a window, and behind an overflow."""
    folder = runs.tools.path("checkpoints")
    for first in (1, 2, 4):
        shutil.rmtree(folder, ignore_errors=True)
        runs.train(step, first, "--checkpoint-dir", folder)
        rest, same = runs.train(step, STEPS, "--checkpoint-dir", folder, "--resume")
        for one in whole + rest:
            one.pop("seconds", None)
        check(rest == whole[first:], rest, whole)
        check(same == learned, "parameters differ")


def check_fixed(runs):
    """A fixed scale stays, and training steps that overflow are skipped as well."""
    scale = "{type: FixedLossScaleUpdateCell, loss_scale_value: %r}"
    huge = runs.lower("huge", 1, scale % HUGE)
    skipped, untouched = runs.train(huge, 1)
    check(overflows(skipped) == [True], skipped)
    twice, same = runs.train(huge, 2)
    check(overflows(twice) == [True] * 2 and scales(twice) == [HUGE] * 2, twice)
    before = safetensors.load_bytes(runs.parameters)
    after = safetensors.load_bytes(runs.tools.path("saved.safetensors"))
    kept = all(before[name] == value for name, value in after.items())
    check(same == untouched and kept, "a skipped step changed parameters")
    check(twice[0]["learning_rate"] == twice[1]["learning_rate"], twice)

    plain, learned = runs.train(runs.lower("plain", 1, "1.0"), 3)
    number, same = runs.train(runs.lower("number", 1, "1024"), 3)
    check(scales(number) == [1024.0] * 3 and same == learned, number)
    check(untouched != learned, "nothing was learned")


def main():
    runs = Runs(sys.argv[1], sys.argv[2])
    results = [check_dynamic(runs, stages) for stages in (1, 2)]
    check(results[0][2] == results[1][2], "stages change parameters")
    check_resumed(runs, *results[1])
    check_fixed(runs)


main()
