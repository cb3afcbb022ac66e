#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints the memory and time of full and LoRA tuning of Llama2-7B on 8 NPUs, from the programs that they lower to.

usage: fine-tuning-table.py

Takes a public fine-tuning YAML as it is and without its pet_config, each with and without recomputation. Times are simulated. Tools are
those of the PATH or of build/bin.
"""

import os
import re
import tempfile

import simulated_steps

YAML = os.path.join(simulated_steps.ROOT, "test/data/mindformers/lora_yamls/lora_llama2_7b@r1.4.0-beta2.yaml")
ROW = "%-7s %-9s %11s %10s %10s %12s %10s %13s"


def measure(text, work):
    """GiB of parameters, gradients, moments, activations and of all at the peak; tokens/s of an NPU."""
    simulated = simulated_steps.simulate(text, work)
    gib = re.search(r"stage 0" + r" +(\d+\.\d+)" * 6, simulated).groups()
    tokens = re.search(r"tokens/s per NPU: (\S+)", simulated)[1]
    return gib[0], gib[1], gib[2], gib[3], gib[5], tokens


def main():
    text = open(YAML).read()
    print(ROW % ("tuning", "recompute", "parameters", "gradients", "moments", "activations", "peak, GiB", "tokens/s/NPU"))
    with tempfile.TemporaryDirectory() as work:
        for tuning in ("full", "LoRA"):
            for recompute in ("False", "True"):
                changed = re.sub(r"(?m)^  recompute: .*", "  recompute: " + recompute, text)
                if tuning == "full":
                    changed = re.sub(r"(?m)^    pet_config:\n(      .*\n)+", "", changed)
                weights, gradients, optimizer, activations, peak, tokens = measure(changed, work)
                print(ROW % (tuning, recompute, weights, gradients, optimizer, activations, peak, tokens))


if __name__ == "__main__":
    main()
