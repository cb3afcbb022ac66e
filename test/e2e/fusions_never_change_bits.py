# SPDX-License-Identifier: Apache-2.0
"""Checks that fused operators have the bits of those that they stand for.

usage: fusions_never_change_bits.py [--part=K/N] BIN_FOLDER WORK_FOLDER

Trains a small model of each family for two steps in fp32 without fusions on one
stage. Then with use_fused_rope and use_fused_swiglu, as the model is and with
recompute, swap, stages and ranks: losses, gradients and parameters must be the
same bytes, the kernels that are fused must be gone, and without memory options
the plan must need less memory.
"""

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


def run(tools, data, draw, fused):
    """Losses, gradients, parameters, kernels and planned bytes of a draw."""
    options = draw.change(fuses=fused).get_options()
    if draw.family == "mcore":
        options["model"]["hidden_act"] = "swiglu"
    _, step = tools.lower("case", **options)
    result = step_results.run(tools, step, data, STEPS)
    kernels = set(re.findall(r"\b(?:aclnn|mf)[A-Z]\w+", open(step).read()))
    return result.get_bits(), kernels, max(result.planned)


def compare(tools, data, name, draw, plain, wanted):
    """What is wrong with a fused step, if anything."""
    bits, kernels, planned = run(tools, data, draw, fused=True)
    for what, left, right in zip(("losses", "gradients", "parameters"), plain[0], bits):
        if left != right:
            return "different " + what
    missing = [kernel for kernel in wanted for end in ("", "Grad") if kernel + end not in kernels]
    if missing:
        return "without " + ", ".join(missing)
    if "aclnnSilu" in kernels or "aclnnSiluBackward" in kernels:
        return "with aclnnSilu"
    return None, planned


def main():
    part = parts.pop_part()
    tools = training.Tools(sys.argv[1], sys.argv[2])
    data = tools.path("text.txt")
    training.start_drawing(data, 1)
    count = failures = 0
    for name, (changes, wanted) in part.select(FAMILIES.items()):
        draw = Draw().change(layers=2, **changes)
        plain = run(tools, data, draw, fused=False)
        cases = [(draw.change(**options), plain) for options in OPTIONS]
        if name in ("llama", "mcore"):
            for layout in LAYOUTS:
                changed = draw.change(**layout)
                cases.append((changed, run(tools, data, changed, fused=False)))
        for changed, expected in cases:
            count += 1
            found = compare(tools, data, name, changed, expected, wanted)
            if isinstance(found, tuple):
                planned = found[1]
                found = None
                if changed is cases[0][0] and planned >= plain[2]:
                    found = "%d bytes planned, %d without fusions" % (planned, plain[2])
            if found:
                failures += 1
                print("%s, %s: %s" % (name, changed, found))
    print("%d fused steps, %d different" % (count, failures))
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
