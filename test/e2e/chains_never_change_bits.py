# SPDX-License-Identifier: Apache-2.0
"""Checks that chains of kernels have the bits of their kernels.

usage: chains_never_change_bits.py [--part=K/N] BIN_FOLDER WORK_FOLDER

Trains small models for two steps, lowered with --fuse-elementwise=false and with
chains: losses, gradients and parameters must be the same bytes. With chains there
must be fewer launches, some of them of several kernels, the plan must need no more
memory, and the program must prove.
"""

import itertools
import re
import sys

import parts
import step_results
import training

STEPS, MICRO_BATCHES = 2, 2

EXPERTS = {"expert_num": 4, "num_experts_chosen": 2, "capacity_factor": 0.8, "routing_policy": "TopkRouterV2"}
DROPLESS = {"expert_num": 4, "num_experts_chosen": 2, "use_gmm": True, "use_gating_sigmoid": True, "shared_expert_num": 1}
SWAP = {"layer_swap": "[{backward_prefetch: 5, layers: True}]"}
NARROW = {"compute_dtype": '"bfloat16"', "layernorm_compute_type": '"float32"'}

# Changes of the model, keys of moe_config.
MODELS = {
    "llama f32": ({}, {}),
    "llama bf16": (NARROW, {}),
    "experts f32": ({}, EXPERTS),
    "experts bf16": (NARROW, EXPERTS),
    "dropless bf16": (NARROW, DROPLESS),
}
OPTIONS = [
    {},
    {"recompute": {"recompute": "True"}},
    {"recompute": {"select_recompute": "True"}, "stages": 2},
    {"swap": SWAP, "stages": 2},
]


def run(tools, data, model, experts, options, lowering):
    """Bits, launches and planned bytes of a step, and its text."""
    _, step = tools.lower(
        "case", dict(training.MODEL, **model), lowering=lowering, micro_batches=MICRO_BATCHES, batch_size=1,
        experts=experts, **options,
    )  # fmt: skip
    result = step_results.run(tools, step, data, STEPS)
    tools.run("mf-opt", "--ascend-verify-program", step, "-o", tools.path("verified.mlir"))
    kernels = re.findall(r'ascend\.launch "(\w+)"', open(step).read())
    return result.get_bits(), kernels, result.planned


def compare(apart, joined):
    """What is wrong with a step with chains, if anything."""
    for what, left, right in zip(("losses", "gradients", "parameters"), apart[0], joined[0]):
        if left != right:
            return "different " + what
    if "mfChain" in apart[1] or "mfChain" not in joined[1]:
        return "chains where there should be none, or none where there should be some"
    if len(joined[1]) >= len(apart[1]):
        return "%d launches, %d without chains" % (len(joined[1]), len(apart[1]))
    if any(after > before for before, after in zip(apart[2], joined[2])):
        return "%s bytes planned, %s without chains" % (joined[2], apart[2])
    return None


def main():
    part = parts.pop_part()
    tools = training.Tools(sys.argv[1], sys.argv[2])
    data = tools.path("text.txt")
    training.start_drawing(data, 1)
    count = failures = 0
    for name, options in part.select(itertools.product(MODELS, OPTIONS)):
        model, experts = MODELS[name]
        count += 1
        apart = run(tools, data, model, experts, options, ["--fuse-elementwise=false"])
        joined = run(tools, data, model, experts, options, [])
        found = compare(apart, joined)
        if found:
            failures += 1
            print("%s, %s: %s" % (name, options, found))
    print("%d steps with chains, %d different" % (count, failures))
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
