# SPDX-License-Identifier: Apache-2.0
"""Compares what pages say of the same unmodified YAML.

usage: same_steps.py SOURCE_FOLDER

Each page shows what another tool prints: mf-run, mf-plan and a script that compiles recipes. Most of these blocks take
long and are only compared with their commands each night.
"""

import os
import re
import sys

# The YAML: where pages have the seconds of its step and the GiB of its fullest stage.
STEPS = {
    "finetune_llama2_70b_bf16_32p": [
        ("recipes.md", r"^step time: ([\d.]+) s$", r"^stage 1 .* ([\d.]+)  53.00  0.00$"),
        ("planning.md", r"^Llama2-70B +([\d.]+) ", None),
        ("out-of-memory.md", r"32p.*?^as the YAML has it +[\d.]+ +\d+ +\S+ +[\d.]+ +([\d.]+) ", r"32p.*?^as the YAML has it +([\d.]+) "),
    ],
    "pretrain_deepseek3_671b": [
        ("planning.md", r"^DeepSeek-V3 671B +([\d.]+) ", None),
        ("out-of-memory.md", r"671b.*?^as the YAML has it +[\d.]+ +\d+ +\S+ +[\d.]+ +([\d.]+) ", r"671b.*?^as the YAML has it +([\d.]+) "),
    ],
}


def find(text, pattern, page):
    found = re.search(pattern, text, re.MULTILINE | (re.DOTALL if "?" in pattern else 0))
    if not found:
        sys.exit("error: %s has nothing that matches '%s'" % (page, pattern))
    return found[1]


def main():
    for yaml, places in STEPS.items():
        seconds, gib = set(), set()
        for page, time, memory in places:
            with open(os.path.join(sys.argv[1], "docs", page)) as file:
                text = file.read()
            seconds.add(find(text, time, page))
            if memory:
                gib.add(find(text, memory, page))
        if len(seconds) != 1 or len(gib) != 1:
            sys.exit("error: %s: pages say %s s and %s GiB" % (yaml, sorted(seconds), sorted(gib)))
        pages = ", ".join(page for page, _, _ in places)
        print("%s: %s s, %s GiB in %s" % (yaml, seconds.pop(), gib.pop(), pages))


if __name__ == "__main__":
    main()
