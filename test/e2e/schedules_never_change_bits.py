# SPDX-License-Identifier: Apache-2.0
"""Checks that schedules never change a bit of loss or gradients.

usage: schedules_never_change_bits.py [--part=K/N] [--tests=FOLDER] BIN_FOLDER WORK_FOLDER [SEED [COUNT]]

Trains one model for two steps on one stage, then on several stages under every
schedule, with fixed and with randomly drawn stages, chunks, micro-batches,
offsets, recompute (in backward, or in tasks of its own) and swap. All losses, accumulated gradients and trained
parameters must be the same bytes, every program must verify, and every rank must
use at its peak the bytes that were planned. MF_SEED replaces the seed.
With --tests what has other bits is minimised (minimise_pair.py).
"""

import concurrent.futures
import os
import sys

import minimise_pair
import parts
import step_results
import training

STEPS = 2
MODEL = dict(training.MODEL, hidden_size=32, intermediate_size=48, seq_length=16)
SWAP = {"layer_swap": "[{backward_prefetch: %d, layers: True}]"}

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


# Grows once.
DYNAMIC = "{type: DynamicLossScaleUpdateCell, loss_scale_value: 512, scale_window: 1}"


def case(
    schedule, stages, layers, micro_batches, offset="0", recompute=None, swap=None,
    scale_sense="1.0", tasks=False,
):  # fmt: skip
    name, scheduler, interleave = schedule
    return dict(
        schedule=name, scheduler=scheduler, interleave=interleave, stages=stages,
        layers=layers, micro_batches=micro_batches, offset=offset, recompute=recompute,
        swap=swap, scale_sense=scale_sense, tasks=tasks,
    )  # fmt: skip


def fixed_cases():
    """Every schedule, also with recompute and swap, and uneven chunks."""
    for schedule in SCHEDULES[8:]:
        yield case(schedule, 2, 2 * max(2, schedule[2]), 4, recompute={"recompute": "True"})
    for schedule in SCHEDULES[:8]:
        layers = 2 * max(2, schedule[2])
        yield case(schedule, 2, layers, 4)
        yield case(schedule, 2, layers, 4, recompute={"recompute": "True"})
        yield case(schedule, 2, layers, 4, swap={"layer_swap": SWAP["layer_swap"] % 20})
    yield case(SCHEDULES[3], 2, 6, 5, offset="[[1, 0], [0, 1]]")
    yield case(SCHEDULES[4], 2, 8, 4, offset="[[0, 0], [1, 0], [0, 1]]")
    yield case(SCHEDULES[7], 4, 8, 8)
    both = dict(recompute={"recompute": "True"}, swap={"layer_swap": SWAP["layer_swap"] % 20})
    for schedule in (SCHEDULES[0], SCHEDULES[3], SCHEDULES[6], SCHEDULES[11]):
        yield case(schedule, 2, 4, 4, tasks=True, **both)
    for schedule in (SCHEDULES[0], SCHEDULES[3], SCHEDULES[6]):
        yield case(schedule, 2, 4, 4, scale_sense=DYNAMIC)


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


def draw(generator):
    schedule = generator.choice(SCHEDULES)
    stages = generator.choice([2, 2, 3, 4])
    interleave = schedule[2]
    offset, more = draw_offsets(generator, stages, interleave)
    layers = stages * interleave + more
    micro_batches = draw_micro_batches(generator, schedule, stages)
    recompute = generator.choice([None, {"recompute": "True"}, {"select_recompute": "True"}])
    swap = generator.choice([None, {"layer_swap": SWAP["layer_swap"] % generator.choice([1, 7, 60])}])
    scale_sense = generator.choice(["1.0", "1.0", "1024.0", DYNAMIC])
    tasks = recompute is not None and generator.random() < 0.5
    return case(
        schedule, stages, layers, micro_batches, offset, recompute, swap, scale_sense, tasks
    )


def result(tools, data, options):
    """Losses, gradients and parameters of one configuration, and its description."""
    options = dict(options)
    model = dict(MODEL, num_layers=options.pop("layers"))
    lowering = ["--recompute-tasks"] if options.pop("tasks") else []
    _, step = tools.lower("case", model, batch_size=1, lowering=lowering, **options)
    if lowering:
        with open(step) as file:
            assert "recomputes}" in file.read(), "no recompute tasks"
    tools.run("mf-opt", "--quiet", "--ascend-verify-program", step, "-o", "/dev/null")
    result = step_results.run(tools, step, data, STEPS)
    return *result.get_bits(), result.description


def check(bin_folder, work_folder, data, group, folder):
    """What is wrong with cases of one model, a line each; tests of it go into `folder`."""
    os.makedirs(work_folder)
    tools = training.Tools(bin_folder, work_folder)
    tests = minimise_pair.FoundTests(tools, folder, "schedules-never-change-bits-" + os.path.basename(work_folder))
    expected, problems = None, []
    for options in group:
        try:
            if expected is None:
                one = case((None, "1f1b", 1), 1, options["layers"], options["micro_batches"],
                           scale_sense=options["scale_sense"])  # fmt: skip
                expected = result(tools, data, one)
            found = result(tools, data, options)
        except (AssertionError, RuntimeError) as error:
            problems.append("%s: %s" % (options, error))
            continue
        if found[:-1] != expected[:-1]:
            same = [a == b for a, b in zip(found[:-1], expected)]
            problems.append("%s: different %s" % (options, same))
            problems += ["    " + line for line in tests.add(expected[-1], found[-1])]
    return problems


def main():
    part, folder = parts.pop_part(), minimise_pair.FoundTests.pop_folder()
    bin_folder, work_folder = sys.argv[1:3]
    seed = int(os.environ.get("MF_SEED", sys.argv[3] if len(sys.argv) > 3 else 0))
    count = int(sys.argv[4]) if len(sys.argv) > 4 else 12
    data = os.path.join(work_folder, "text.txt")
    generator = training.start_drawing(data, seed)

    cases = part.select([*fixed_cases(), *(draw(generator) for _ in range(count))])
    groups = {}
    for options in cases:
        key = options["layers"], options["micro_batches"], options["scale_sense"]
        groups.setdefault(key, []).append(options)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        found = pool.map(
            lambda item: check(
                bin_folder, os.path.join(work_folder, "group%d" % item[0]), data, item[1], folder
            ),
            enumerate(groups.values()),
        )
        problems = [problem for group in found for problem in group]
    print("\n".join(problems), end="\n" if problems else "")
    different = sum(not problem.startswith(" ") for problem in problems)
    print("%d schedules, %d different (seed %d)" % (len(cases), different, seed))
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
