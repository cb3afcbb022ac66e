# SPDX-License-Identifier: Apache-2.0
"""Checks that randomly drawn layouts of ranks change a step by rounding alone.

usage: random_layouts.py [--part=K/N] [--seed N] [--count N] [--first N] [--mpirun COMMAND] [--named] [--fixed]
           [--adapters] [--tests FOLDER] BIN_FOLDER WORK_FOLDER

Each draw is a model (Llama, Qwen, GLM, TeleChat, Baichuan or mcore's Qwen3), a layout of up
to 16 ranks for it and a schedule, some in pieces of the sequence, written as a YAML, imported from it and lowered.
Against one rank that takes the same rows, loss and all gradients must agree to a
relative 1e-5 in fp32, or to twice what one rank makes of weights that are one rounding off;
in bf16 they may be as far from fp32 as one rank in bf16 is.
Within the layout recompute, also of communication, swap, schedules, threads, processes and how far collectives overlap
change no bit;
without enable_parallel_optimizer gradients have the same bits, and the update is
the same to 1e-6. Every rank needs the memory that was planned. --first skips draws;
--named adds a layout of 64 ranks, one whose ranks share a group of queries, and some in pieces of the sequence;
--fixed layouts by their axes, with blocks of rows and copies of the model, whose gradients are added, with the collectives of a layer
that they ask for, and a checkpoint that goes on with the same bits on its layout, and to rounding on others.
With --adapters all models are fine-tuned, with adapters on random layers. With --tests what has other bits is minimised (minimise_pair.py).
"""

import collections
import re
import shlex
import shutil
import sys

import minimise_pair
import numpy
import step_results
import training
from drawn_cases import DrawnCases
from layout_draws import BASE, FIXED_DRAWS, NAMED_DRAWS, SEQUENCE_LENGTH, SEQUENCES, Draw

ROWS = 301

FP32_BOUND, UPDATE_BOUND = 1e-5, 1e-6
# How much further from fp32 several ranks may be in bf16 than one: they round
# other sums, and as many.
BF16_FACTOR = 3


def get_worst(expected, actual):
    """The largest difference of tensors, relative to the largest element.

    That all keys move does not change attention, but for their rotation: summands of the
    gradient of their bias almost cancel. It is held against that of the weight beside it.
    """
    if expected.keys() != actual.keys():
        return float("inf")
    worst = 0.0
    for name, value in expected.items():
        beside = expected[name[:-4] + "weight"] if name.endswith("wk.bias") else value
        scale = max(float(numpy.abs(value).max()), float(numpy.abs(beside).max()), 1e-30)
        difference = float(numpy.abs(actual[name].astype(numpy.float64) - value).max())
        # NaN is not close to anything.
        worst = max(worst, difference / scale) if difference == difference else float("inf")
    return worst


def get_distance(expected, actual):
    """The largest difference of loss, norm and gradients."""
    scalars = [
        abs(a - e) / abs(e) for e, a in zip(expected.losses[0], actual.losses[0])
    ]
    return max(scalars + [get_worst(expected.gradients, actual.gradients)])


def count_collectives(step, cell):
    """Collectives of a Cell in forward and in backward; views and local parts are none."""
    counts = [collections.Counter(), collections.Counter()]
    with open(step) as file:
        for kind, name in re.findall(r'ascend\.collective (\w+) .* cell "%s\.([^"]*)"' % re.escape(cell), file.read()):
            counts[".grad" in name][kind] += 1
    return tuple(dict(count) for count in counts)


def expect_collectives(draw):
    """Those of a layer where all ranks see the same, or None where it depends on more. With one micro-batch a layer's backward
    adds up the gradients of ranks, too."""
    exchanges = draw.cp > 1 and draw.algorithm != "colossalai_cp"
    if draw.level or draw.copies > 1 or draw.micro_batches == 1 or draw.mp > 1 and draw.cp > 1 or draw.kv_heads % draw.get_head_parts():
        return None
    if draw.mp > 1:
        kinds = {"all_gather": 2 * draw.blocks, "reduce_scatter": 2 * draw.blocks} if draw.sequence_parallel else {"all_reduce": 2}
        return kinds, kinds
    gathers = draw.cp > draw.get_head_parts()
    both = {"all_to_all": 4} if exchanges else {}
    return dict(both, **{"all_gather": 2} if gathers else {}), dict(both, **{"reduce_scatter": 2} if gathers else {})


def check_collectives(draw, step):
    expected = expect_collectives(draw)
    # Into Llama's final norm, and into mcore's head, go all rows; the gradient is summed and cut at once.
    entry = "lm_head" if draw.family == "mcore" else "norm_out"
    cells = {"layers.1": expected}
    if draw.mp > 1 and draw.sequence_parallel and draw.blocks == 1 and draw.family != "glm":
        cells[entry] = ({"all_gather": 1}, {"reduce_scatter": 1})
    for cell, wanted in cells.items() if expected else ():
        found = count_collectives(step, cell)
        if cell == entry:
            # The loss is added up over ranks as well.
            found = tuple({kind: count for kind, count in counts.items() if kind != "all_reduce"} for counts in found)
        if found != wanted:
            yield "%s has the collectives %s, expected %s" % (cell, found, wanted)


def scale_means(draw, whole, actual):
    """Makes sums of the gradients and the norm in `actual` of a draw with gradients_mean:
    they are divided by the ranks with the same part, of dp and cp for linear layers."""
    for name, expected in whole.gradients.items():
        ratio = numpy.abs(expected).max() / numpy.abs(actual.gradients[name]).max()
        copies = round(float(ratio))
        ranks = draw.dp * draw.cp * draw.mp
        allowed = [n for n in range(1, ranks + 1) if ranks % n == 0]
        if expected.ndim == 2 and ".layers." in name and not name.endswith(("wk.weight", "wv.weight")):
            allowed = [draw.dp * draw.cp]
        if copies not in allowed:
            yield "the gradient of %s is divided by %g" % (name, ratio)
        actual.gradients[name] = actual.gradients[name] * numpy.float32(copies)
    actual.losses = [(loss, whole.losses[0][1]) for loss, _ in actual.losses]


def get_rms(expected, actual):
    """The norm of the difference of all gradients, relative to the norm of all gradients."""
    if expected.gradients.keys() != actual.gradients.keys():
        return float("inf")
    square = lambda tensors: sum(float(numpy.square(t, dtype=numpy.float64).sum()) for t in tensors)
    names = expected.gradients.keys()
    difference = square(actual.gradients[name] - expected.gradients[name] for name in names)
    return (difference / square(expected.gradients.values())) ** 0.5


class Checks:
    def __init__(self, tools, mpirun, tests):
        self.tools, self.mpirun, self.tests = tools, mpirun, minimise_pair.FoundTests(tools, tests, "random-layouts")
        self.wholes, self.problems, self.runs = {}, [], 0
        self.worst = self.worst_update = self.worst_bf16 = 0.0
        shape = (ROWS, SEQUENCE_LENGTH + 1)
        self.data = numpy.random.RandomState(7).randint(0, 200, shape, dtype=numpy.int32)

    def lower(self, draw):
        """The model file and the step file."""
        options = draw.get_options()
        mlir, step = self.tools.lower("case", options.pop("model"), **options)
        if draw.in_flight != Draw.in_flight:
            yaml = self.tools.path("case.yaml")
            whole = "--pass-pipeline=builtin.module(mf-training-step{config=%s})" % yaml
            text = self.tools.run("mf-opt", whole, "--dump-pass-pipeline", mlir, "-o", step, both=True)
            passes = re.search(r"^builtin\.module\(\n.*?^\)$", text, re.MULTILINE | re.DOTALL).group()
            passes = passes.replace("in-flight=%d" % Draw.in_flight, "in-flight=%d" % draw.in_flight)
            self.tools.run("mf-opt", "--pass-pipeline=" + passes, mlir, "-o", step)
        return mlir, step

    def run(self, draw, processes=1, rows=None, moves=False, steps=1, extra=()):
        """Steps of the data's rows, or of its `rows`; its weights are one rounding off if it `moves` them."""
        self.runs += 1
        data = self.tools.path("data.npy")
        tokens = self.data if rows is None else self.data[rows]
        # A quarter of the tokens do not count if one does not.
        numpy.save(data, numpy.where(tokens < 50, draw.pad, tokens) if draw.pad >= 0 else tokens)
        mlir, step = self.lower(draw)
        launcher = [] if processes == 1 else self.mpirun + ["-n", str(processes)]
        initial = step_results.initialize(self.tools, mlir)
        if moves:
            step_results.move(initial)
        result = step_results.run(
            self.tools, step, data, steps, initial, threads=draw.threads, launcher=launcher, extra=extra
        )
        result.dumped = dict(result.gradients)
        if result.ranks != draw.get_ranks():
            raise RuntimeError("%d ranks instead of %d" % (result.ranks, draw.get_ranks()))
        return result

    def get_whole(self, draw):
        one, rows = draw.get_one_rank(), draw.get_rows(ROWS)
        key = (str(one), *rows)
        if key not in self.wholes:
            # Draws hardly ever share it.
            if len(self.wholes) > 8:
                self.wholes.clear()
            self.wholes[key] = self.run(one, rows=rows)
        return self.wholes[key]

    def check_values(self, draw, actual):
        """Compares values with those of one rank."""
        whole = self.get_whole(draw)
        if draw.is_mean:
            yield from scale_means(draw, whole, actual)
        if draw.copies > 1:
            # They are added, and those of one rank are a mean.
            actual.gradients = {name: value / draw.copies for name, value in actual.gradients.items()}
            actual.losses = [(loss, norm / draw.copies) for loss, norm in actual.losses]
        if draw.compute_type == "float32":
            distance = get_distance(whole, actual)
            self.worst = max(self.worst, distance)
            if not distance < FP32_BOUND:
                moved = get_distance(whole, self.run(draw.get_one_rank(), rows=draw.get_rows(ROWS), moves=True))
                if not distance < step_results.ROUNDING_FACTOR * moved:
                    yield "%.3g off from one rank, which is %.3g off with weights one rounding off" % (distance, moved)
            return
        exact = self.get_whole(draw.change(compute_type="float32", param_type="float32"))
        own, ranks = get_rms(exact, whole), get_rms(exact, actual)
        self.worst_bf16 = max(self.worst_bf16, ranks / own)
        if not ranks < BF16_FACTOR * own:
            yield "gradients %.3g off from fp32, where one rank is %.3g off" % (ranks, own)

    def check_plain_optimizer(self, draw, actual):
        """Compares with ranks that each have the whole optimizer."""
        plain = self.run(draw.change(level=0))
        # Else it is summed over micro-batches and pieces last, or over ranks in two exchanges.
        adds_first = (draw.level == 1 or draw.micro_batches * draw.pieces == 1) and draw.shard_size == -1
        if adds_first and plain.bytes[0] != actual.bytes[0]:
            yield "other bits of gradients than without enable_parallel_optimizer"
        distance = max(get_worst(plain.dumped, actual.dumped), abs(plain.losses[0][0] - actual.losses[0][0]))
        if draw.compute_type == "float32" and not distance < FP32_BOUND:
            yield "%.3g off without enable_parallel_optimizer" % distance
        update = get_worst(plain.parameters, actual.parameters)
        if adds_first:
            self.worst_update = max(self.worst_update, update)
        if adds_first and not update < UPDATE_BOUND:
            yield "the update is %.3g off without enable_parallel_optimizer" % update

    def check(self, draw, generator):
        actual = self.run(draw)
        is_fixed = draw in FIXED_DRAWS.values()
        if is_fixed:
            yield from check_collectives(draw, self.tools.path("case.step.mlir"))
        yield from self.check_values(draw, actual)
        if draw.level:
            yield from self.check_plain_optimizer(draw, actual)
        variations = draw.get_variations()
        count = 3 if is_fixed and draw.get_ranks() <= 4 else 2
        for what, changes in generator.sample(variations, min(count, len(variations))):
            changed = self.run(draw.change(**changes))
            if not changed.has_same_bits(actual):
                yield "other bits with " + what
                yield from self.tests.add(actual.description, changed.description)
        processes = [n for n in (2, 3, 4) if draw.get_ranks() % n == 0]
        if self.mpirun and processes and generator.random() < 0.25:
            count = generator.choice(processes)
            if not self.run(draw, count).has_same_bits(actual):
                yield "other bits in %d processes" % count

    def check_resumed(self):
        """A checkpoint goes on with the same bits on its layout, and to rounding on others."""
        draw, folder, copy = SEQUENCES.change(dp=2, level=1), self.tools.path("checkpoints"), self.tools.path("resumed")
        shutil.rmtree(folder, ignore_errors=True)
        expected = self.run(draw, steps=4)
        self.run(draw, steps=2, extra=["--checkpoint-dir", folder])
        for other in (draw, BASE.change(rows=2), BASE.change(pp=2, cp=2, dp=2, level=3), BASE.change(mp=4, rows=2)):
            shutil.rmtree(copy, ignore_errors=True)
            shutil.copytree(folder, copy)
            actual = self.run(other, steps=4, extra=["--checkpoint-dir", copy, "--resume"])
            worst = get_worst(expected.parameters, actual.parameters)
            if not (worst == 0 if other is draw else worst < 1e-4):
                yield "%s goes on %g off from a checkpoint of %s" % (other, worst, draw)


def main():
    cases = DrawnCases()
    cases.parser.add_argument("--mpirun", default="")
    cases.parser.add_argument("--named", action="store_true")
    cases.parser.add_argument("--fixed", action="store_true")
    cases.parser.add_argument("--adapters", action="store_true")
    arguments = cases.parse()
    checks = Checks(training.Tools(arguments.bin, arguments.work), shlex.split(arguments.mpirun), arguments.tests)

    def choose(number, generator):
        draw = named[number] if number in named else Draw.choose(generator)
        return draw.choose_adapters(generator) if arguments.adapters and draw else draw

    def check(draw, generator):
        return checks.check(draw, generator) if draw else checks.check_resumed()

    named = dict(NAMED_DRAWS if arguments.named else {}, **({"resumed": None, **FIXED_DRAWS} if arguments.fixed else {}))
    count, problems = cases.run(choose, check, [*named])
    print("%d layouts, %d problems, %d runs; worst relative difference %.2g, of updates %.2g, in bf16 %.2g times one rank's"
          % (count, problems, checks.runs, checks.worst, checks.worst_update, checks.worst_bf16))  # fmt: skip
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
