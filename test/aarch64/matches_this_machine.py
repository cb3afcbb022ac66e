# SPDX-License-Identifier: Apache-2.0
"""Compares a build for AArch64, whose programs run in an emulator, with this machine's.

usage: matches_this_machine.py AARCH64_BIN_FOLDER BIN_FOLDER WORK_FOLDER

Programs that are lowered, with their proofs, and plans must be the same bytes. Executed steps have the same bits on one
thread and on two, and losses, norms and gradients are those of this machine but for the order of sums: no further off than a
tolerance, or than some times what this machine makes of weights that are one rounding off. In bf16, where that rounds and
routes otherwise, losses alone are compared.
"""

import os
import sys

E2E = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e")
sys.path.insert(0, E2E)

import step_results
import training

STEPS = 2
# Each product is added up in another order, where moved weights change it once.
ROUNDING_FACTOR = 5
NARROW = {"compute_dtype": '"bfloat16"', "layernorm_compute_type": '"float32"'}
EXPERTS = {"expert_num": 4, "num_experts_chosen": 2, "use_gmm": True}

# What a step is, and how far it may be from this machine's.
CASES = {
    "one rank": (dict(micro_batches=2), 1e-5),
    "full recompute, swap": (dict(recompute={"recompute": True}, swap={"default_prefetch": 1}), 1e-5),
    "dp 2, shards of the optimizer": (
        dict(ranks={"data_parallel": 2}, parallel={"enable_parallel_optimizer": True}), 1e-5,
    ),
    "mp 2": (dict(ranks={"model_parallel": 2}), 1e-5),
    "cp 2": (dict(ranks={"context_parallel": 2}), 1e-5),
    "pp 2": (dict(stages=2, micro_batches=4), 1e-5),
    "pp 2, interleaved": (dict(stages=2, micro_batches=4, interleave=2), 1e-5),
    "dp 2, mp 2, pp 2": (dict(ranks={"data_parallel": 2, "model_parallel": 2}, stages=2, micro_batches=2), 1e-5),
    "bf16": (dict(model=NARROW), 1e-4),
    "experts, bf16": (dict(model=NARROW, experts=EXPERTS), 1e-4),
}  # fmt: skip


def read(path):
    with open(path, "rb") as file:
        return file.read()


def lower(tools, name, options):
    options = dict(options)
    model = dict(training.MODEL, **options.pop("model", {}))
    return tools.lower(name.replace(" ", "-").replace(",", ""), model, **options)


def get_loss_distance(expected, actual):
    return max(abs(a[0] / e[0] - 1) for e, a in zip(expected.losses, actual.losses, strict=True))


def compare_steps(tools, ours):
    data = ours.path("text.txt")
    training.start_drawing(data, 1)
    for name, (options, tolerance) in CASES.items():
        (model, step), (_, other) = lower(ours, name, options), lower(tools, name, options)
        if read(step) != read(other):
            sys.exit("error: %s: mf-opt writes another program" % name)
        is_narrow = options.get("model") is NARROW
        initial = None if is_narrow else step_results.initialize(ours, model)
        wanted = step_results.run(ours, step, data, STEPS, initial)
        found, again = (step_results.run(tools, other, data, STEPS, initial, threads) for threads in (2, 1))
        if not again.has_same_bits(found):
            sys.exit("error: %s: other bits on one thread" % name)
        if is_narrow:
            distance, most = get_loss_distance(wanted, found), tolerance
        else:
            step_results.move(initial)
            rounded = step_results.get_distance(wanted, step_results.run(ours, step, data, STEPS, initial))
            distance, most = step_results.get_distance(wanted, found), max(tolerance, ROUNDING_FACTOR * rounded)
        if not distance <= most:
            sys.exit("error: %s: off by %.1e, of at most %.1e" % (name, distance, most))
        print("%s: the same program, off by %.1e" % (name, distance))


def compare_plans(tools, ours):
    yaml = ours.path("plan.yaml")
    training.write_yaml(yaml, training.MODEL, stages=2, micro_batches=4)
    files = [each.path("planned.yaml") for each in (tools, ours)]
    for each, file in zip((tools, ours), files):
        each.run("mf-plan", yaml, "--target=atlas-800t-a2", "--time-limit=600", "-o", file)
    if read(files[0]) != read(files[1]):
        sys.exit("error: mf-plan writes another YAML")
    print("the same plan")


def main():
    work = sys.argv[3]
    folders = [os.path.join(work, name) for name in ("aarch64", "here")]
    for folder in folders:
        os.makedirs(folder, exist_ok=True)
    tools, ours = (training.Tools(bin, folder) for bin, folder in zip(sys.argv[1:3], folders))
    compare_steps(tools, ours)
    compare_plans(tools, ours)


if __name__ == "__main__":
    main()
