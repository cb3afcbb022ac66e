#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares simulated tokens/s per NPU of LoRA and of full tuning with those that MindSpore Transformers' model cards publish.

usage: fine-tuning-throughput.py

Takes public fine-tuning YAMLs as they are, with the length of sequences that the card names, if it does, and without pet_config
for full tuning. The files of the measurements are not published: other settings than the length may differ, such as the batch.
Tools are those of the PATH or of build/bin.
"""

import os
import re
import tempfile

import simulated_steps

YAMLS = os.path.join(simulated_steps.ROOT, "test/data/mindformers/lora_yamls")
# model, file, length of sequences on the card, published LoRA, published full tuning
CASES = [
    ("Llama2-7B", "lora_llama2_7b@r1.4.0-beta2.yaml", 2048, 4269, 3523),
    ("Llama2-7B", "lora_llama2_7b@r1.4.0-beta2.yaml", 4096, 5217, 4820),
    ("Llama2-13B", "lora_llama2_13b@r1.1.0.yaml", 2048, 2275, 1575),
    ("Llama2-13B", "lora_llama2_13b@r1.1.0.yaml", 4096, 2322, 1883),
    ("Baichuan2-7B", "run_baichuan2_7b_lora_910b@r1.0.yaml", None, 3375, 3010),
    ("Baichuan2-13B", "finetune_baichuan2_13b_lora@r1.4.0-beta2.yaml", None, 1880, 1359),
    ("ChatGLM2-6B", "lora_glm2_6b_fp16@r1.2.0.yaml", None, 3243.7, 815.2),
    ("Qwen-7B", "run_qwen_7b_lora@r1.0.yaml", None, 2694.7, None),
    ("Qwen-14B", "run_qwen_14b_lora@r1.0.yaml", None, 1429.2, None),
    ("InternLM-7B", "run_internlm_7b_lora_910b@r1.0.yaml", None, 3864, None),
]
ROW = "%-13s %6s %9s %9s %7s %9s %9s %7s"


def simulate(text, release, work):
    """Returns tokens/s per NPU."""
    simulated = simulated_steps.simulate(text, work, "--mindformers-release=" + release)
    return float(re.search(r"tokens/s per NPU: (\S+)", simulated)[1])


def describe_error(simulated, published):
    return "%+.0f %%" % (100 * (simulated / published - 1)) if published else "-"


def main():
    print(ROW % ("model", "length", "LoRA", "published", "error", "full", "published", "error"))
    wrong = []
    with tempfile.TemporaryDirectory() as work:
        for name, file, length, *published in CASES:
            text = open(os.path.join(YAMLS, file)).read()
            if length:
                text = re.sub(r"(?m)^    seq_length: .*", "    seq_length: %d" % length, text)
            length = re.search(r"(?m)^    seq_length: (\d+)", text)[1]
            release = re.search(r"@r(\d+\.\d+)", file)[1]
            full_text = re.sub(r"(?m)^    pet_config:.*\n(      .*\n)+", "", text)
            lora, full = (simulate(t, release, work) for t in (text, full_text))
            cells = [c for s, p in zip((lora, full), published) for c in ("%.1f" % s, p or "-", describe_error(s, p))]
            print(ROW % (name, length, *cells), flush=True)
            wrong += [name] if lora <= full else []
    print("LoRA is faster than full tuning but for: " + ", ".join(wrong) if wrong else "LoRA is faster than full tuning of each model")


if __name__ == "__main__":
    main()
