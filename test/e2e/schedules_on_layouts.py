# SPDX-License-Identifier: Apache-2.0
"""Checks that schedules change no bit of models with experts, and of others, on layouts of ranks.

usage: schedules_on_layouts.py [--part=K/N] [--seed N] [--count N] [--first N] [--one-rank] [--pairs] [--verbose] [--tests FOLDER]
           BIN_FOLDER WORK_FOLDER

Each draw is a model with experts (expert_layouts.py) or without (layout_draws.py) on data, context, model and expert
parallel ranks, and a schedule of two to four stages for it, with offsets, recompute in backward or in tasks of its own,
and swap. Its losses, norms, gradients and parameters must be the bytes of the same layout on one stage with nothing
recomputed; only losses of routers may be added in the order of stages, which is off by rounding in what is printed. Every
program must verify, and every rank must use at its peak the bytes that were planned. At the end stand the numbers of draws by
schedule. With --tests what has other bits is minimised (minimise_pair.py).

--one-rank draws stages of one rank each, and begins with every schedule, also with recompute, swap, uneven chunks and a loss scale
that grows. --pairs adds schedules in which a forward and a backward take turns in parts: routines must be in parts where
ranks exchange anything, and whole where values are swapped.
"""

import collections
import sys

import expert_layouts
import layout_draws
import minimise_pair
import numpy
import step_results
import training
from drawn_cases import DrawnCases

# Name for --schedule, pipeline_scheduler, the number of chunks on a stage.
SCHEDULES = [
    (None, "1f1b", 1),
    (None, "gpipe", 1),
    (None, "gpipe", 2),
    (None, "1f1b", 2),
    (None, "1f1b", 3),
    ("interleaved-low-memory", "1f1b", 2),
    ("zero-bubble-h1", "1f1b", 1),
    (None, "zero_bubble_v", 2),
    ("zero-bubble-h2", "1f1b", 1),
    ("v-half", "zero_bubble_v", 2),
    ("v-min", "zero_bubble_v", 2),
    ("dualpipe-v", "zero_bubble_v", 2),
    ("dualpipe-v-paired", "zero_bubble_v", 2),
    ("1f1b-paired", "1f1b", 2),
    ("1f1b-paired-split", "1f1b", 1),
    ("recompute-in-advance", "1f1b", 2),
    ("recompute-in-bubble", "1f1b", 2),
]
SWAP = {"layer_swap": "[{backward_prefetch: %d, layers: True}]"}
# Grows once.
DYNAMIC = "{type: DynamicLossScaleUpdateCell, loss_scale_value: 512, scale_window: 1}"
MOST_RANKS, STEPS = 16, 2
RECOMPUTES = [None, {"recompute": "True"}, {"recompute": "True"}, {"select_recompute": "True"}]
LEVELS = [{"select_recompute": r"{'feed_forward\.routed_experts\.ffn\.level%d': True}" % level} for level in (0, 1)]
RECOMPUTE, LATE_SWAP = {"recompute": "True"}, {"layer_swap": SWAP["layer_swap"] % 20}
ONE_RANK = layout_draws.Draw().change(heads=4, kv_heads=2, head_size=8, sequence=16)
ALONE = dict(
    stages=1, schedule=None, scheduler="1f1b", interleave=1, offset="0", recompute=None, swap=None, lowering=[]
)  # fmt: skip


class Configuration:
    """A layout on one stage, and the options of training.Tools.lower that change it."""

    def __init__(self, layout, length, layers, micro_batches, changes):
        self.layout, self.length, self.layers, self.micro_batches = layout, length, layers, micro_batches
        self.changes = changes

    def is_in_parts(self):
        """Whether a forward and a backward take turns in parts."""
        return "paired" in (self.changes["schedule"] or "") and not self.changes["swap"]

    def get_schedule(self):
        return self.changes["schedule"] or "%(scheduler)s with %(interleave)d" % self.changes

    def has_router_losses(self):
        return getattr(self.layout, "losses", False)

    def get_options(self, changes):
        options = dict(self.layout.get_options(), micro_batches=self.micro_batches)
        options["model"] = dict(options["model"], num_layers=self.layers)
        # More than one stage turns it off.
        options["ranks"] = dict(options["ranks"], vocab_emb_dp=False)
        return dict(options, **changes)

    def __str__(self):
        return "%d layers, %d micro-batches, %s, of %s" % (self.layers, self.micro_batches, self.changes, self.layout)


def draw_micro_batches(generator, schedule, stages):
    """A number of micro-batches that the schedule takes."""
    if schedule[0] == "recompute-in-bubble":
        return stages * generator.randint(2, 4)
    if schedule[1] == "zero_bubble_v":
        return 2 * stages + generator.randint(0, 1)
    return generator.randint(stages, 2 * stages + 1)


def draw_offsets(generator, stages, interleave):
    """Offsets of mini stages with further layers at some of them, as a YAML has offsets, and the number of further layers."""
    rows = [[generator.choice([0, 0, 1]) for _ in range(stages)] for _ in range(interleave)]
    # Layers that all mini stages have more are no offset.
    if all(map(all, rows)):
        rows[0][0] = 0
    return str(rows if interleave > 1 else rows[0]), sum(map(sum, rows))


def draw_layout(generator, stages):
    """A layout of one stage, the length of its sequences and its ways to recompute."""
    while True:
        if generator.random() < 0.6:
            layout = expert_layouts.Draw.choose(generator, ["deepseek", "llama", "telechat"]).change(pp=1)
            ranks, length = layout.dp * layout.cp * layout.mp, expert_layouts.LENGTH
            recomputes = RECOMPUTES + LEVELS * layout.dropless
        else:
            layout = layout_draws.Draw.choose(generator).change(pp=1, pieces=1)
            ranks, length = layout.get_ranks(), layout_draws.SEQUENCE_LENGTH
            recomputes = RECOMPUTES
        # The proof over ranks loses the cut of sequences of which a rank has one and a half, and refuses the step.
        is_proven = not getattr(layout, "dropless", False) or layout.rows < layout.mp or layout.rows % layout.mp == 0
        if ranks * stages <= MOST_RANKS and is_proven:
            return layout, length, recomputes


def draw(generator, is_alone):
    choose = generator.choice
    schedule, stages = choose(SCHEDULES), choose([2, 2, 3, 4])
    name, scheduler, interleave = schedule
    offset, more = draw_offsets(generator, stages, interleave)
    micro_batches = draw_micro_batches(generator, schedule, stages)
    if is_alone:
        layout = ONE_RANK.change(scale=choose(["1.0", "1.0", "1024.0", DYNAMIC]))
        length, recomputes = layout.sequence, RECOMPUTES
    else:
        layout, length, recomputes = draw_layout(generator, stages)
    recompute = choose(recomputes)
    changes = dict(
        stages=stages, schedule=name, scheduler=scheduler, interleave=interleave, offset=offset, recompute=recompute,
        swap=choose([None, {"layer_swap": SWAP["layer_swap"] % choose([1, 7, 60])}]),
        lowering=["--recompute-tasks"] if recompute and generator.random() < 0.5 else [],
    )  # fmt: skip
    return Configuration(layout, length, stages * interleave + more, micro_batches, changes)


def place(schedule, stages=2, layers=None, micro_batches=4, layout=ONE_RANK, **changes):
    """A layout on stages under a schedule."""
    name, scheduler, interleave = schedule
    length = getattr(layout, "sequence", expert_layouts.LENGTH)
    changes = dict(dict(ALONE, stages=stages, schedule=name, scheduler=scheduler, interleave=interleave), **changes)
    return Configuration(layout, length, layers or stages * max(2, interleave), micro_batches, changes)


def list_schedules():
    """Every schedule, also with recompute and swap, and uneven chunks."""
    for schedule in SCHEDULES[8:]:
        yield place(schedule, recompute=RECOMPUTE)
    for schedule in SCHEDULES[:8]:
        yield place(schedule)
        yield place(schedule, recompute=RECOMPUTE)
        yield place(schedule, swap=LATE_SWAP)
    yield place(SCHEDULES[3], layers=6, micro_batches=5, offset="[[1, 0], [0, 1]]")
    yield place(SCHEDULES[4], layers=8, offset="[[0, 0], [1, 0], [0, 1]]")
    yield place(SCHEDULES[7], 4, 8, 8)
    for schedule in (SCHEDULES[0], SCHEDULES[3], SCHEDULES[6], SCHEDULES[11]):
        yield place(schedule, layers=4, recompute=RECOMPUTE, swap=LATE_SWAP, lowering=["--recompute-tasks"])
    for schedule in (SCHEDULES[0], SCHEDULES[3], SCHEDULES[6]):
        yield place(schedule, layers=4, layout=ONE_RANK.change(scale=DYNAMIC))


def pair(layout, schedule, **changes):
    return place(schedule, layers=2 * schedule[2], micro_batches=5, layout=layout, **changes)


FIXED = {"schedule %d" % number: configuration for number, configuration in enumerate(list_schedules())}
ONE, TWO, SPLIT = ("1f1b-paired", "1f1b", 1), ("1f1b-paired", "1f1b", 2), ("1f1b-paired-split", "1f1b", 1)
V = ("dualpipe-v-paired", "zero_bubble_v", 2)
DENSE = layout_draws.Draw().change(mp=2, sequence_parallel=True, rows=2)
EXPERTS = expert_layouts.DROPLESS.change(mp=1, rows=2, shared=1)
LATENT = expert_layouts.SMALL.change(family="deepseek", shared=1, rows=2)
PAIRS = {
    "one chunk": pair(DENSE, ONE),
    "two chunks": pair(DENSE, TWO, recompute=RECOMPUTE),
    "V, recompute tasks": pair(DENSE, V, recompute=RECOMPUTE, lowering=["--recompute-tasks"]),
    "V, swap": pair(DENSE, V, swap={"layer_swap": SWAP["layer_swap"] % 7}),
    "split, shards": pair(layout_draws.Draw().change(dp=2, level=3, rows=2), SPLIT),
    "V, experts": pair(EXPERTS, V),
    "split, experts": pair(EXPERTS, SPLIT, recompute=RECOMPUTE),
    "V, latent attention": pair(LATENT, V),
    "two chunks, latent attention": pair(LATENT, TWO, recompute=RECOMPUTE),
}


class Checks:
    def __init__(self, tools, tests):
        self.tools, self.counts = tools, collections.Counter()
        self.tests, self.expected = minimise_pair.FoundTests(tools, tests, "schedules-on-layouts"), {}

    def run(self, configuration, changes):
        tools, data = self.tools, self.tools.path("data.npy")
        rows = numpy.random.RandomState(7).randint(0, 120, (301, configuration.length + 1), dtype=numpy.int32)
        numpy.save(data, rows)
        model, step = tools.lower("case", **configuration.get_options(changes))
        tools.run("mf-opt", "--quiet", "--ascend-verify-program", step, "-o", "/dev/null")
        with open(step) as file:
            text = file.read()
        self.is_in_parts = "continues" in text
        if "--recompute-tasks" in changes["lowering"] and "recomputes}" not in text:
            raise RuntimeError("no recompute tasks")
        return step_results.run(
            tools, step, data, STEPS, step_results.initialize(tools, model), threads=configuration.layout.threads
        )

    def check(self, configuration, generator):
        self.counts[configuration.get_schedule()] += 1
        key = str(configuration.get_options(ALONE))
        if key not in self.expected:
            if len(self.expected) > 8:
                self.expected.clear()
            self.expected[key] = self.run(configuration, ALONE)
            if self.is_in_parts:
                yield "in parts on one stage"
        expected = self.expected[key]
        actual = self.run(configuration, configuration.changes)
        if configuration in PAIRS.values() and self.is_in_parts != configuration.is_in_parts():
            yield "in parts" if self.is_in_parts else "as a whole"
        (losses, norms), (others, other_norms) = (zip(*result.printed) for result in (expected, actual))
        is_rounded = configuration.has_router_losses()
        if is_rounded and numpy.allclose(losses, others, rtol=1e-6, atol=0):
            others = losses
        names = "losses", "norms", "gradients", "parameters"
        pairs = zip((losses, norms, *expected.bytes), (others, other_norms, *actual.bytes))
        found = ["other " + name for name, (values, other) in zip(names, pairs) if values != other]
        yield from found
        if found:
            head = "# losses: rounded\n" * is_rounded
            yield from self.tests.add(head + expected.description, head + actual.description)


def main():
    cases = DrawnCases()
    cases.parser.add_argument("--one-rank", action="store_true")
    cases.parser.add_argument("--pairs", action="store_true")
    arguments = cases.parse()
    checks = Checks(training.Tools(arguments.bin, arguments.work), arguments.tests)
    named = dict(FIXED if arguments.one_rank else {}, **(PAIRS if arguments.pairs else {}))

    def choose(number, generator):
        return named[number] if number in named else draw(generator, arguments.one_rank)

    count, problems = cases.run(choose, checks.check, [*named])
    print("%d configurations, %d problems: %s" % (
        count, problems, ", ".join("%d %s" % (n, name) for name, n in sorted(checks.counts.items()))))  # fmt: skip
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
