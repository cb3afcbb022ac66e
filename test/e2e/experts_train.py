# SPDX-License-Identifier: Apache-2.0
"""Trains small models with experts and says how their losses go.

usage: experts_train.py WORK_FOLDER YAML...

Each model is trained as it is, with the rows of tokens that four ranks would
have, and, if its experts take all tokens, with two ranks' shares of the experts
besides.
"""

import os
import re
import subprocess
import sys

STEPS = 30
LOSS = re.compile(r"\bloss: ([^,]*),")


def run(*command):
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode != 0:
        sys.exit("%s\n%s" % (" ".join(command), result.stderr))
    return result.stdout


def write_data(path):
    """Tokens below 64, of which the next follows from the last."""
    token, text = 1, bytearray()
    for _ in range(2000):
        token = (token * 5 + 3) % 64
        text.append(token)
    with open(path, "wb") as file:
        file.write(bytes(text))


def train(work, data, path, rows, parts):
    with open(path) as file:
        text = file.read()
    imported = os.path.join(work, "import.yaml")
    with open(imported, "w") as file:
        file.write(text + "\nparallel_config: {expert_parallel: %d}\n" % parts)
    model, step = os.path.join(work, "model.mlir"), os.path.join(work, "step.mlir")
    run("mf-translate", "--import-mindformers", imported, "--router-rows=%d" % rows, "-o", model)
    run("mf-opt", "--quiet", "--recompute-config=" + path, model, "-o", step)
    output = run("mf-run", step, "--steps", str(STEPS), "--data", data, "--seed", "1")
    return [float(loss) for loss in LOSS.findall(output)]


def judge(losses):
    if len(losses) != STEPS:
        return "%d losses" % len(losses)
    if losses[-1] < 0.7 * losses[0]:
        return "loss falls"
    return "loss does not fall: %s" % losses


def main():
    work, *paths = sys.argv[1:]
    os.makedirs(work, exist_ok=True)
    data = os.path.join(work, "data.txt")
    write_data(data)
    for path in paths:
        name = os.path.basename(path)
        print("%s: %s" % (name, judge(train(work, data, path, 1, 1))), flush=True)
        four = train(work, data, path, 4, 1)
        print("%s, 4 rows: %s" % (name, judge(four)), flush=True)
        if "capacity" in open(path).read():
            continue
        shared = train(work, data, path, 4, 2)
        largest = max(abs(a - b) / abs(a) for a, b in zip(four, shared))
        result = "losses of 4 rows" if largest < 1e-4 else "other losses, by %g" % largest
        print("%s, 4 rows, 2 parts: %s" % (name, result), flush=True)


if __name__ == "__main__":
    main()
