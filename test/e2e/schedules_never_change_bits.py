"""Checks that schedules never change a bit of loss or gradients.

usage: schedules_never_change_bits.py BIN_FOLDER WORK_FOLDER [SEED [COUNT]]

Trains one model for two steps on one stage, then on several stages under every
schedule, with fixed and with randomly drawn stages, chunks, micro-batches,
offsets, recompute and swap. All losses, accumulated gradients and trained
parameters must be the same bytes, every program must verify, and every rank must
use at its peak the bytes that were planned.
"""

import random
import sys

import safetensors
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
]


def case(schedule, stages, layers, micro_batches, offset="0", recompute=None, swap=None):
    name, scheduler, interleave = schedule
    return dict(
        schedule=name, scheduler=scheduler, interleave=interleave, stages=stages,
        layers=layers, micro_batches=micro_batches, offset=offset, recompute=recompute,
        swap=swap,
    )  # fmt: skip


def fixed_cases():
    """Every schedule, also with recompute and swap, and uneven chunks."""
    for schedule in SCHEDULES:
        layers = 2 * max(2, schedule[2])
        yield case(schedule, 2, layers, 4)
        yield case(schedule, 2, layers, 4, recompute={"recompute": "True"})
        yield case(schedule, 2, layers, 4, swap={"layer_swap": SWAP["layer_swap"] % 20})
    yield case(SCHEDULES[3], 2, 6, 5, offset="[[1, 0], [0, 1]]")
    yield case(SCHEDULES[4], 2, 8, 4, offset="[[0, 0], [1, 0], [0, 1]]")
    yield case(SCHEDULES[7], 4, 8, 8)


def draw(generator):
    schedule = generator.choice(SCHEDULES)
    stages = generator.choice([2, 2, 3, 4])
    interleave = schedule[2]
    rows = [[generator.choice([0, 0, 1]) for _ in range(stages)] for _ in range(interleave)]
    layers = stages * interleave + sum(map(sum, rows))
    offset = str(rows if interleave > 1 else rows[0])
    micro_batches = generator.randint(stages, 2 * stages + 1)
    if schedule[1] == "zero_bubble_v":
        micro_batches = 2 * stages + generator.randint(0, 1)
    recompute = generator.choice([None, {"recompute": "True"}, {"select_recompute": "True"}])
    swap = generator.choice([None, {"layer_swap": SWAP["layer_swap"] % generator.choice([1, 7, 60])}])
    return case(schedule, stages, layers, micro_batches, offset, recompute, swap)


def result(tools, data, options):
    """Losses, gradients and parameters of one configuration."""
    options = dict(options)
    model = dict(MODEL, num_layers=options.pop("layers"))
    _, step = tools.lower("case", model, batch_size=1, **options)
    tools.run("mf-opt", "--quiet", "--ascend-verify-program", step, "-o", "/dev/null")
    gradients = tools.path("gradients.safetensors")
    parameters = tools.path("parameters.safetensors")
    report = tools.train(
        step, data, STEPS,
        extra=["--dump-gradients", gradients, "--save-params", parameters, "--debug-memory"],
    )  # fmt: skip
    for rank in report["ranks"]:
        assert rank["peak_bytes"] == rank["planned_bytes"], rank
    return report["losses"], safetensors.load_bytes(gradients), safetensors.load_bytes(parameters)


def main():
    tools = training.Tools(sys.argv[1], sys.argv[2])
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else 0
    count = int(sys.argv[4]) if len(sys.argv) > 4 else 12
    generator = random.Random(seed)
    data = tools.path("text.txt")
    with open(data, "wb") as file:
        file.write(bytes(generator.randint(32, 126) for _ in range(20000)))

    cases = list(fixed_cases()) + [draw(generator) for _ in range(count)]
    expected, failures = {}, 0
    for options in cases:
        shape = options["layers"], options["micro_batches"]
        if shape not in expected:
            expected[shape] = result(
                tools, data, case((None, "1f1b", 1), 1, *shape, "0")
            )
        try:
            found = result(tools, data, options)
        except (AssertionError, RuntimeError) as error:
            failures += 1
            print("%s: %s" % (options, error))
            continue
        if found != expected[shape]:
            failures += 1
            print("%s: different %s" % (options, [a == b for a, b in zip(found, expected[shape])]))
    print("%d schedules, %d different (seed %d)" % (len(cases), failures, seed))
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
