# SPDX-License-Identifier: Apache-2.0
"""Imports every fine-tuning YAML of a folder by its release and lowers it to the programs of its ranks.

usage: lora_yamls.py WORK_FOLDER YAML_FOLDER K/N

Prints a row for each of the folder's files K, K + N and so on: what is trained of how many elements, how many layers get
adapters, and the warnings of both tools.
"""

import os
import re
import subprocess
import sys


def run(*command):
    return subprocess.run(command, capture_output=True, text=True)


def get_messages(text):
    return "".join("; " + line for line in re.findall(r"(?:error|warning): (.*)", text))


def check(folder, name, work):
    model, step = os.path.join(work, "model.mlir"), os.path.join(work, "step.mlir")
    path = os.path.join(folder, name)
    release = re.search(r"@r(\d+\.\d+)", name)[1]
    imported = run("mf-translate", "--import-mindformers", "--mindformers-release=" + release, "--print-adapters",
                   path, "-o", model)  # fmt: skip
    if imported.returncode != 0:
        return "refused" + get_messages(imported.stderr)
    adapted = sum(map(int, re.findall(r": (\d+) with adapters", imported.stderr)))
    trained = re.search(r"trained elements: (.*)", imported.stderr)[1]
    lowered = run("mf-opt", "--quiet", "--recompute-config=" + path, model, "-o", step)
    if lowered.returncode != 0:
        return "not lowered" + get_messages(lowered.stderr)
    return "%s, %d layers%s" % (trained, adapted, get_messages(imported.stderr + lowered.stderr))


def main():
    work, folder, part = sys.argv[1:]
    os.makedirs(work, exist_ok=True)
    first, step = map(int, part.split("/"))
    for name in sorted(os.listdir(folder))[first::step]:
        print("%s: %s" % (name, check(folder, name, work)), flush=True)


if __name__ == "__main__":
    main()
