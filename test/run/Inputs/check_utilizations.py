# SPDX-License-Identifier: Apache-2.0
"""Compares the FLOPs behind utilizations of examples/llama_tiny.yaml and llama_lora.yaml with those worked by hand.

usage: check_utilizations.py NONE.json FULL.json LORA.json LORA_FULL.json: reports without and with full recomputation
"""

import json
import sys

LAYERS, HIDDEN, KEYS, FFN, VOCABULARY, SEQUENCE = 4, 256, 128, 688, 256, 128
RANK = 8
# The peak of the target's cube in bf16.
PEAK = 294.9e12


def count(report):
    """FLOPs per token, of the model and of the hardware."""
    tokens = report["step_seconds"] * PEAK / report["tokens_per_step"]
    return [report[name + "_flops_utilization"] * tokens for name in ("model", "hardware")]


def check(what, counted, expected):
    if abs(counted - expected) > 1e-6 * expected:
        sys.exit("error: expected %g FLOPs per token of %s, but got %g" % (expected, what, counted))


def count_lora():
    """FLOPs per token of the model whose weights are frozen but for adapters of the four projections of attention."""
    scores = 2 * SEQUENCE * HIDDEN
    read = 2 * HIDDEN * (HIDDEN + 2 * KEYS)
    frozen = read + 2 * HIDDEN * HIDDEN + 6 * HIDDEN * FFN
    down, up = 2 * RANK * 4 * HIDDEN, 2 * RANK * (2 * HIDDEN + 2 * KEYS)
    forward = LAYERS * (frozen + 2 * scores + down + up) + 2 * HIDDEN * VOCABULARY
    # Frozen weights have the gradient of their input alone, adapters and attention two gradients for each product.
    backward = LAYERS * (frozen + 4 * scores + 2 * (down + up)) + 2 * HIDDEN * VOCABULARY
    # Nothing below the first layer's attention is trained.
    return forward + backward - read - 2 * RANK * 3 * HIDDEN


def main():
    none, full, lora, lora_full = (count(json.load(open(path))) for path in sys.argv[1:])
    scores = 2 * SEQUENCE * HIDDEN
    projections = 2 * HIDDEN * (HIDDEN + 2 * KEYS + HIDDEN + 2 * FFN)
    down = 2 * FFN * HIDDEN
    layer = projections + down + 2 * scores
    model = 3 * (LAYERS * layer + 2 * HIDDEN * VOCABULARY)
    check("the model", none[0], model)
    check("the model with recomputation", full[0], model)
    # The gradient of attention computes the scores once more.
    check("the hardware", none[1], model + LAYERS * scores)
    # Nothing needs the output of the projection down again.
    check("the hardware with recomputation", full[1], none[1] + LAYERS * (layer - down))
    tuned = count_lora()
    check("the model with adapters", lora[0], tuned)
    check("the model with adapters and recomputation", lora_full[0], tuned)
    check("the hardware with adapters", lora[1], tuned + LAYERS * scores)
    print("hardware by model: %.4f" % (none[1] / model))
    print("with recomputation: %.4f" % (full[1] / model))
    print("adapters by full tuning: %.4f" % (tuned / model))
    print("the FLOPs are those worked by hand")


main()
