# SPDX-License-Identifier: Apache-2.0
"""Checks that models of real size lower in randomly drawn layouts.

usage: real_sizes.py [--part=K/N] [--seed N] [--count N] [--first N] [--verbose] BIN_FOLDER WORK_FOLDER

Half of the draws are a model, a layout and a schedule of layout_draws.py with up to 96 layers, sequences of thousands of
tokens and, for two of three, adapters. The others have adapters with dropout, whole scores, full recompute, sharded states
and many layers together. None is executed: mf-opt plans the memory of each stage and proves the plan and the program. No
arena may be smaller than what is live in it.
"""

import re
import sys

import training
from drawn_cases import DrawnCases
from layout_draws import Draw

def gather(generator):
    """Adapters with dropout on all linear layers, whole scores, layers that are recomputed, sharded states and many
    layers together: then temporaries are larger than what is kept."""
    choose = generator.choice
    heads = choose([16, 32])
    draw = Draw().change(
        heads=heads, kv_heads=choose([4, heads]), head_size=choose([64, 128]), feed_forward=choose([3072, 6144]),
        layers=choose([16, 24, 32, 48]), vocabulary=choose([16000, 32000, 103168]), sequence=choose([384, 768, 1536]),
        rows=choose([1, 2, 4]), micro_batches=choose([1, 1, 2]), dp=choose([2, 4]), level=1, threshold=64,
        compute_type=choose(["float16", "float32"]), has_bias=choose([False, True]), is_tied=choose([False, True]),
        recompute={"recompute": "True", "recompute_slice_activation": choose(["True", "False"])}, uses_flash=False,
    )  # fmt: skip
    keys = "pet_type: lora, lora_rank: %d, lora_alpha: 16, lora_dropout: 0.1, target_modules: '.*w'"
    return draw.change(adapters="{%s}" % (keys % choose([4, 8, 16])))


def choose(number, generator):
    if generator.random() < 0.5:
        return gather(generator)
    draw = Draw.choose(generator).choose_size(generator)
    return draw.choose_adapters(generator) if generator.random() < 2 / 3 else draw


class Checks:
    def __init__(self, tools):
        self.tools, self.stages, self.worst = tools, 0, 0.0

    def check(self, draw, generator):
        options = draw.get_options()
        _, step = self.tools.lower("case", options.pop("model"), **options)
        text = open(step).read()
        stages = [re.findall(r"\b%s = (\d+)" % name, text) for name in ("arena_bytes", "max_live_bytes")]
        stages = list(enumerate(zip(*stages)))
        if len(stages) != draw.pp:
            yield "%d stages instead of %d" % (len(stages), draw.pp)
        for stage, (arena, live) in stages:
            gap = int(arena) / int(live) - 1
            self.stages, self.worst = self.stages + 1, max(self.worst, gap)
            if gap < 0:
                yield "stage %d has an arena of %s bytes, of which %s are live" % (stage, arena, live)


def main():
    cases = DrawnCases()
    arguments = cases.parse()
    checks = Checks(training.Tools(arguments.bin, arguments.work))
    count, problems = cases.run(choose, checks.check)
    print("%d models, %d problems, %d stages; the largest gap of an arena %.1f %%" % (count, problems, checks.stages, 100 * checks.worst))
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
