# SPDX-License-Identifier: Apache-2.0
"""Trains small models with no more than AVX2, on any processor.

usage: avx2_trains.py BIN_FOLDER WORK_FOLDER

ONEDNN_MAX_CPU_ISA=AVX2 takes AVX-512 and AMX from oneDNN and from all of mf's own loops and products. What depends on
neither threads nor chains must not do so there either, to the bit; losses must be those of all instructions but for
the order of sums and the last places of exponentials.
"""

import json
import os
import sys

import step_results
import training

STEPS = 3
LIMIT = "ONEDNN_MAX_CPU_ISA"
EXPERTS = {"expert_num": 4, "num_experts_chosen": 2, "use_gmm": True}
NARROW = {"compute_dtype": '"bfloat16"', "layernorm_compute_type": '"float32"'}

# Changes of the model, keys of moe_config, and how far a loss may be from that of all instructions.
MODELS = {
    "llama f32": ({}, {}, 1e-6),
    "llama bf16": (NARROW, {}, 1e-4),
    "experts bf16": (NARROW, EXPERTS, 1e-4),
}


def limit_to(instructions):
    if instructions:
        os.environ[LIMIT] = instructions
    else:
        os.environ.pop(LIMIT, None)


def check(tools, data, name):
    model, experts, tolerance = MODELS[name]
    lower = lambda case, lowering: tools.lower(
        case, dict(training.MODEL, **model), lowering=lowering, batch_size=1, experts=experts
    )[1]  # fmt: skip
    step, apart = lower("step", []), lower("apart", ["--fuse-elementwise=false"])
    limit_to(None)
    unlimited = step_results.run(tools, step, data, STEPS)
    limit_to("AVX2")
    wanted = step_results.run(tools, step, data, STEPS, extra=["--kernel-table"])
    source = json.load(open(tools.path("report.json")))["rates"]["source"]
    if source != "measured on 2 threads with AVX2":
        sys.exit("error: %s: the report says '%s' where nothing but AVX2 is allowed" % (name, source))
    for what, path, threads in (("1 thread", step, 1), ("no chains", apart, 2)):
        if found := step_results.find_difference(wanted, step_results.run(tools, path, data, STEPS, threads=threads)):
            sys.exit("error: %s: other bits with %s: %s" % (name, what, found))
    losses = [[loss for loss, _ in result.losses] for result in (wanted, unlimited)]
    worst = max(abs(ours / theirs - 1) for ours, theirs in zip(*losses, strict=True))
    if not worst <= tolerance:
        sys.exit("error: %s: losses %s with AVX2, %s with all instructions" % (name, *losses))
    print("%s: with AVX2, the same bits on 1 and 2 threads and without chains, losses off by %.1e" % (name, worst))


def main():
    tools = training.Tools(sys.argv[1], sys.argv[2])
    data = tools.path("text.txt")
    training.start_drawing(data, 1)
    for name in MODELS:
        check(tools, data, name)


if __name__ == "__main__":
    main()
