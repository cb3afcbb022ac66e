# SPDX-License-Identifier: Apache-2.0
"""Compares a build for AArch64, whose programs run in an emulator, with this machine's.

usage: matches_this_machine.py AARCH64_BIN_FOLDER BIN_FOLDER WORK_FOLDER

Programs that are lowered, with their proofs, and plans must be the same bytes. Executed steps have the bits that mf-static,
which has no oneDNN, computes here on AVX2: losses, norms, gradients and parameters, on one thread and on two.
"""

import os
import sys

E2E = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e")
sys.path.insert(0, E2E)

import step_results
import training

STEPS = 2
NARROW = {"compute_dtype": '"bfloat16"', "layernorm_compute_type": '"float32"'}
EXPERTS = {"expert_num": 4, "num_experts_chosen": 2, "use_gmm": True}

CASES = {
    "one rank": dict(micro_batches=2),
    "full recompute, swap": dict(recompute={"recompute": True}, swap={"default_prefetch": 1}),
    "dp 2, shards of the optimizer": dict(ranks={"data_parallel": 2}, parallel={"enable_parallel_optimizer": True}),
    "mp 2": dict(ranks={"model_parallel": 2}),
    "cp 2": dict(ranks={"context_parallel": 2}),
    "pp 2": dict(stages=2, micro_batches=4),
    "pp 2, interleaved": dict(stages=2, micro_batches=4, interleave=2),
    "dp 2, mp 2, pp 2": dict(ranks={"data_parallel": 2, "model_parallel": 2}, stages=2, micro_batches=2),
    "bf16": dict(model=NARROW),
    "experts, bf16": dict(model=NARROW, experts=EXPERTS),
}  # fmt: skip


def read(path):
    with open(path, "rb") as file:
        return file.read()


def lower(tools, name, options):
    options = dict(options)
    model = dict(training.MODEL, **options.pop("model", {}))
    return tools.lower(name.replace(" ", "-").replace(",", ""), model, **options)


def link_static(ours):
    """This machine's mf-run without oneDNN: mf-static by that name."""
    folder = ours.path("static")
    os.makedirs(folder, exist_ok=True)
    os.symlink(os.path.join(ours.bin, "mf-static"), os.path.join(folder, "mf-run"))
    return training.Tools(folder, ours.work)


def compare_steps(tools, ours):
    data = ours.path("text.txt")
    training.start_drawing(data, 1)
    static = link_static(ours)
    os.environ["ONEDNN_MAX_CPU_ISA"] = "AVX2"
    for name, options in CASES.items():
        (model, step), (_, other) = lower(ours, name, options), lower(tools, name, options)
        if read(step) != read(other):
            sys.exit("error: %s: mf-opt writes another program" % name)
        initial = step_results.initialize(ours, model)
        wanted = step_results.run(static, step, data, STEPS, initial)
        for threads in (2, 1):
            found = step_results.run(tools, other, data, STEPS, initial, threads)
            if not found.has_same_bits(wanted):
                distance = step_results.get_distance(wanted, found)
                sys.exit("error: %s: other bits with --threads=%d, off by %.1e" % (name, threads, distance))
        print("%s: the same program and the same bits" % name)


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
