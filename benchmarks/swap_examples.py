"""The four documented swap examples, planned and executed.

usage: swap_examples.py [BIN_FOLDER]

Lowers examples/llama_tiny.yaml (four layers, as in the documentation) without
swap and with each swap_config of MindSpore Transformers' page on memory
optimization, and runs one step with --debug-memory. "arena" is what the plan
asks for, "touched" how far into it execution went, "saved" both against no
swap; "host" is pinned host memory as planned and as touched. Fails if what is
touched differs from the plan, or a loss from that without swap.
"""

import sys

from tiny_llama import TinyLlama

OP_SWAP = """swap_config:
  swap: True
  op_swap:
    - op_name: 'attention'
      backward_prefetch: 20
      layers: [0,1,2]
    - op_name: 'attention'
      backward_prefetch: 10
      layers: [3]
    - op_name: 'feed_forward'
      backward_prefetch: 15
      layers: [1,2]
"""
KEEP = "recompute_config:\n  recompute: False\n  select_recompute: False\n"
EXAMPLES = [
    ("no swap", KEEP),
    ("1: default policy", KEEP + "swap_config:\n  swap: True\n  default_prefetch: 10\n"),
    (
        "2: layer_swap",
        KEEP + "swap_config:\n  swap: True\n  layer_swap:\n"
        "    - backward_prefetch: 20\n      layers: [0,3]\n",
    ),
    ("3: op_swap", KEEP + OP_SWAP),
    (
        "4: op_swap, recompute",
        "recompute_config:\n  recompute: False\n  select_recompute:\n"
        "    'feed_forward': [0,3]\n" + OP_SWAP,
    ),
]


def main():
    row = "%-24s%12s%12s%12s%12s%12s%12s"
    print(row % ("example", "arena", "saved", "touched", "saved", "host", "touched"))
    failures = 0
    base = None
    with TinyLlama(sys.argv[1:]) as llama:
        for name, sections in EXAMPLES:
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
