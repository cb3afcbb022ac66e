# SPDX-License-Identifier: Apache-2.0
"""Compares gradients of tiny models with experts with the slope of their loss.

usage: experts_gradients.py WORK_FOLDER YAML...

Each token goes to all of four experts, and every place is there: where choices
may change, the loss has no slope. Routers see two rows.
"""

import os
import re
import subprocess
import sys

SMALLER = (
    (r"seq_length: \d+", "seq_length: 4"),
    (r"hidden_size: \d+", "hidden_size: 8"),
    (r"(num_heads|num_attention_heads): \d+", r"\1: 2"),
    (r"(n_kv_heads|num_key_value_heads): \d+", r"\1: 1"),
    (r"head_dim: \d+", "head_dim: 4"),
    (r"vocab_size: \d+", "vocab_size: 16"),
    (r"intermediate_size: \d+", "intermediate_size: 6"),
    (r"(expert_num|num_experts|num_experts_chosen|num_experts_per_tok|topk_group): \d+", r"\1: 4"),
    (r"expert_group_size: \d+", "expert_group_size: 2"),
    (r"capacity_factor: .*", "capacity_factor: 9.0"),
)


def run(*command):
    return subprocess.run(command, capture_output=True, text=True)


def main():
    work, *paths = sys.argv[1:]
    os.makedirs(work, exist_ok=True)
    for path in paths:
        with open(path) as file:
            text = file.read()
        for pattern, replacement in SMALLER:
            text = re.sub(pattern, replacement, text)
        small, model = os.path.join(work, "small.yaml"), os.path.join(work, "model.mlir")
        with open(small, "w") as file:
            file.write(text)
        imported = run("mf-translate", "--import-mindformers", small, "--router-rows=2", "-o", model)
        if imported.returncode != 0:
            sys.exit(imported.stderr)
        checked = run("mf-check-rewrite", model, "--recompute-config=" + small, "--tolerance=1e-5")
        lines = [line for line in checked.stdout.splitlines() if "changes nothing" not in line]
        wrong = [line for line in lines if "different" in line] + checked.stderr.splitlines()
        backward = [line for line in lines if line.startswith("mf-build-backward")]
        print(os.path.basename(path) + ":", wrong[0] if wrong else backward[0], flush=True)


if __name__ == "__main__":
    main()
