# SPDX-License-Identifier: Apache-2.0
"""The four documented swap examples, planned and executed.

usage: swap_examples.py [BIN_FOLDER]

Lowers examples/llama_tiny.yaml (four layers, as in the documentation) without
swap and with each example of MindSpore Transformers' page on memory
optimization (examples/documented), and runs one step with --debug-memory. "arena" is what the plan
asks for, "touched" how far into it execution went, "saved" both against no
swap; "host" is pinned host memory as planned and as touched. Fails if the touched
bytes differ from the plan, or if a loss differs from the loss without swap.
"""

import sys

from tiny_llama import ROOT, TinyLlama

EXAMPLES = [
    ("1: default policy", "swap_default"),
    ("2: layer_swap", "swap_layers"),
    ("3: op_swap", "swap_operators"),
    ("4: op_swap, recompute", "swap_and_recompute"),
]


def read_sections(name):
    """recompute_config and swap_config of an example, which stand last in it."""
    with open("%s/examples/documented/%s.yaml" % (ROOT, name)) as file:
        text = file.read()
    return text[text.index("recompute_config:") :]


def main():
    row = "%-24s%12s%12s%12s%12s%12s%12s"
    print(row % ("example", "arena", "saved", "touched", "saved", "host", "touched"))
    failures = 0
    base = None
    cases = [("no swap", "recompute_config:\n  recompute: False\n")]
    cases += [(title, read_sections(name)) for title, name in EXAMPLES]
    with TinyLlama(sys.argv[1:]) as llama:
        for name, sections in cases:
            _, loss, rank = llama.train(sections)
            base = base or (loss, rank)
            planned, touched = rank["planned_bytes"], rank["used_bytes"]
            print(
                row
                % (
                    name,
                    planned,
                    base[1]["planned_bytes"] - planned,
                    touched,
                    base[1]["used_bytes"] - touched,
                    rank["host_bytes"],
                    rank["host_used_bytes"],
                )
            )
            failures += planned != touched or loss != base[0]
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
