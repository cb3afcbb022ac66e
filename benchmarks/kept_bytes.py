# SPDX-License-Identifier: Apache-2.0
"""What each recompute option keeps per layer: planned, and executed.

usage: kept_bytes.py [BIN_FOLDER]

Lowers examples/llama_tiny.yaml with each option and runs one step with
--debug-memory. "kept per layer" is what the program's frame holds of the second
layer for one micro-batch; "arena" is what the plan asks for; "peak" is what was
allocated at once, and "touched" how far into the arena execution wrote or read.
"""

import os
import re
import sys

from tiny_llama import TinyLlama

OPTIONS = [
    ("nothing", "recompute: False"),
    ("select_recompute: True", "select_recompute: True"),
    ("select: norms", r"select_recompute: ['attention_norm\.norm', 'ffn_norm\.norm']"),
    ("select: feed_forward", "select_recompute: ['feed_forward']"),
    ("select: attention", "select_recompute: ['attention']"),
    ("recompute: [2]", "recompute: [2]"),
    ("recompute: True", "recompute: True"),
]


def main():
    row = "%-24s%16s%12s%12s%12s"
    print(row % ("option", "kept per layer", "arena", "peak", "touched"))
    with TinyLlama(sys.argv[1:]) as llama:
        for name, setting in OPTIONS:
            step, _, rank = llama.train("recompute_config:\n  " + setting + "\n")
            memory = llama.run("mf-opt", "--ascend-print-memory", step, "-o", os.devnull)
            kept = int(re.search(r"layers\.1 +(\d+)", memory)[1])
            print(
                row % (name, kept, rank["planned_bytes"], rank["peak_bytes"], rank["used_bytes"])
            )


if __name__ == "__main__":
    main()
