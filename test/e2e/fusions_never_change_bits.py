# SPDX-License-Identifier: Apache-2.0
"""Checks that fused operators and chains of kernels have the bits of those that they stand for.

usage: fusions_never_change_bits.py [--part=K/N] [--chains] BIN_FOLDER WORK_FOLDER

Trains a small model of each family for two steps in fp32 without fusions on one stage. Then with use_fused_rope and
use_fused_swiglu, as the model is and with recompute, swap, stages and ranks: losses, gradients and parameters must be the
same bytes, the kernels that are fused must be gone, and without memory options the plan must need less memory.

With --chains models, also with experts and in bf16, are lowered with --fuse-elementwise=false and with chains: there must be
fewer launches, some of them of several kernels, the plan must need no more memory, and the program must prove.
"""

import itertools
import re
import sys

import parts
import step_results
import training
from layout_draws import Draw

STEPS = 2
ROTARY, SWIGLU = "aclnnRotaryPositionEmbedding", "aclnnSwiGlu"

# name: (changes of the draw, kernels that must be there with fusions)
FAMILIES = {
    "llama": ({}, (ROTARY, SWIGLU)),
    "llama with biases": ({"has_bias": True, "kv_heads": 4}, (ROTARY, SWIGLU)),
    "llama concatenated": ({"concatenates": True}, (ROTARY, SWIGLU)),
    "llama without flash": ({"uses_flash": False}, (ROTARY, SWIGLU)),
    "telechat": ({"family": "telechat"}, (ROTARY, SWIGLU)),
    # Its halves are pairs of neighbours.
    "glm": ({"family": "glm"}, (SWIGLU,)),
    "glm concatenated": ({"family": "glm", "concatenates": True}, (SWIGLU,)),
    # It has no rotary embedding.
    "baichuan": ({"family": "baichuan"}, (SWIGLU,)),
    "mcore": ({"family": "mcore", "kv_heads": 8}, (ROTARY, SWIGLU)),
}  # fmt: skip

SWAP = {"layer_swap": "[{backward_prefetch: 5, layers: True}]"}
SELECTED = r"['.*\.swiglu', '.*\.rope', 'feed_forward\.w13_concat', 'mlp\.activation_func']"
# One rank; the same bits are wanted.
OPTIONS = [
    {},
    {"recompute": {"recompute": "True"}},
    {"recompute": {"select_recompute": "True"}},
    {"recompute": {"select_recompute": SELECTED}},
    {"swap": SWAP},
    {"pp": 2},
]
# Several ranks, against the same ranks without fusions.
LAYOUTS = [
    {"mp": 2, "sequence_parallel": True},
    {"cp": 2},
    {"dp": 2, "mp": 2, "level": 1},
    {"pieces": 2},
]
# For chains: changes of the model and keys of moe_config, and options.
EXPERTS = {"expert_num": 4, "num_experts_chosen": 2, "capacity_factor": 0.8, "routing_policy": "TopkRouterV2"}
DROPLESS = {"expert_num": 4, "num_experts_chosen": 2, "use_gmm": True, "use_gating_sigmoid": True, "shared_expert_num": 1}
NARROW = {"compute_dtype": '"bfloat16"', "layernorm_compute_type": '"float32"'}
CHAINED = {
    "llama f32": ({}, {}),
    "llama bf16": (NARROW, {}),
    "experts f32": ({}, EXPERTS),
    "experts bf16": (NARROW, EXPERTS),
    "dropless bf16": (NARROW, DROPLESS),
}
CHAIN_OPTIONS = [
    {},
    {"recompute": {"recompute": "True"}},
    {"recompute": {"select_recompute": "True"}, "stages": 2},
    {"swap": SWAP, "stages": 2},
]


class Run:
    """The bits of a step, its launches and the bytes that are planned."""

    def __init__(self, tools, model, **options):
        _, step = tools.lower("case", model, **options)
        self.result = step_results.run(tools, step, tools.path("text.txt"), STEPS)
        tools.run("mf-opt", "--quiet", "--ascend-verify-program", step, "-o", "/dev/null")
        with open(step) as file:
            text = file.read()
        self.launches = re.findall(r'ascend\.launch "(\w+)"', text)
        self.kernels = set(re.findall(r"\b(?:aclnn|mf)[A-Z]\w+", text))


def list_other_bits(expected, actual):
    found = step_results.find_difference(expected.result, actual.result)
    return ["different " + found] if found else []


def run_draw(tools, draw, fused):
    options = draw.change(fuses=fused).get_options()
    if draw.family == "mcore":
        options["model"]["hidden_act"] = "swiglu"
    return Run(tools, options.pop("model"), **options)


def check_family(tools, name):
    """Cases of a family, and what is wrong with each."""
    changes, wanted = FAMILIES[name]
    draw = Draw().change(layers=2, **changes)
    plain = run_draw(tools, draw, fused=False)
    for options in OPTIONS + (LAYOUTS if name in ("llama", "mcore") else []):
        changed = draw.change(**options)
        expected = plain if options in OPTIONS else run_draw(tools, changed, fused=False)
        fused = run_draw(tools, changed, fused=True)
        found = list_other_bits(expected, fused)
        found += ["without " + kernel + end for kernel in wanted for end in ("", "Grad") if kernel + end not in fused.kernels]
        found += ["with " + kernel for kernel in ("aclnnSilu", "aclnnSiluBackward") if kernel in fused.kernels]
        planned, before = (max(run.result.planned) for run in (fused, plain))
        if not options and planned >= before:
            found.append("%d bytes planned, %d without fusions" % (planned, before))
        yield changed, found


def check_chains(tools, case):
    name, options = case
    changes, experts = CHAINED[name]
    apart, joined = (
        Run(tools, dict(training.MODEL, **changes), lowering=lowering, micro_batches=2, batch_size=1, experts=experts, **options)
        for lowering in (["--fuse-elementwise=false"], [])
    )
    found = list_other_bits(apart, joined)
    if "mfChain" in apart.launches or "mfChain" not in joined.launches:
        found.append("chains where there should be none, or none where there should be some")
    if len(joined.launches) >= len(apart.launches):
        found.append("%d launches, %d without chains" % (len(joined.launches), len(apart.launches)))
    if any(after > before for before, after in zip(apart.result.planned, joined.result.planned)):
        found.append("%s bytes planned, %s without chains" % (joined.result.planned, apart.result.planned))
    yield options, found


def main():
    part, has_chains = parts.pop_part(), "--chains" in sys.argv
    if has_chains:
        sys.argv.remove("--chains")
    tools = training.Tools(sys.argv[1], sys.argv[2])
    training.start_drawing(tools.path("text.txt"), 1)
    check = check_chains if has_chains else check_family
    count = failures = 0
    for case in part.select(itertools.product(CHAINED, CHAIN_OPTIONS) if has_chains else FAMILIES):
        for options, found in check(tools, case):
            count += 1
            failures += bool(found)
            for problem in found:
                print("%s, %s: %s" % (case, options, problem))
    print("%d %s, %d different" % (count, "steps with chains" if has_chains else "fused steps", failures))
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
