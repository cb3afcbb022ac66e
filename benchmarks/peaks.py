# SPDX-License-Identifier: Apache-2.0
"""Planned peaks of real training YAMLs beside the memory that they allow.

usage: peaks.py [--seconds] BIN_FOLDER YAML...

Imports and lowers each file as it is, for all of its ranks. Prints a row per
file of a dense model: data, context and tensor parallel ranks and stages,
max_device_memory, the arena of the stage that needs most, and the part of the
limit that this is; with --seconds how long the two tools took together. HCCL
and the driver need memory of their own. A file with use_parallel: False is
lowered as with the launcher's --use_parallel True (*).
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time

AXES = ("dp", "cp", "mp", "pp")


def run(*command):
    return subprocess.run(command, capture_output=True, text=True)


class Lowering:
    """One file, imported and lowered with all the memory that it may ask for."""

    def __init__(self, bin_folder, path, folder):
        model, step, launched = (os.path.join(folder, name) for name in ("model.mlir", "step.mlir", "launched.yaml"))
        with open(path) as file:
            text, self.changes = re.subn(r"(?m)^use_parallel: False", "use_parallel: True", file.read())
        if self.changes:
            path = launched
            with open(path, "w") as file:
                file.write(text)
        mf_opt = os.path.join(bin_folder, "mf-opt")
        begin = time.perf_counter()
        imported = run(os.path.join(bin_folder, "mf-translate"), "--import-mindformers", path, "-o", model)
        self.refused = re.search(r"error: (models with experts|multi-head latent)", imported.stderr) is not None
        if self.refused:
            return
        lowered = run(mf_opt, "--quiet", "--hbm=1024GB", "--recompute-config=" + path, model, "-o", step)
        self.seconds = time.perf_counter() - begin
        if imported.returncode or lowered.returncode:
            sys.exit("%s: %s" % (path, (imported.stderr + lowered.stderr).strip()))
        memory = run(mf_opt, "--ascend-print-memory", step, "-o", os.devnull).stderr
        self.peak = max(int(number) for number in re.findall(r"arena (\d+) bytes", memory))
        with open(step) as file:
            mesh = re.search(r"mf\.mesh = #mf\.mesh<([^>]*)>", file.read())
        sizes = dict(re.findall(r"(\w+) = (\d+)", mesh[1] if mesh else ""))
        self.sizes = [1] * len(AXES)
        for name, size in sizes.items():
            self.sizes[AXES.index(name.split("_")[0])] *= int(size)


def get_limit(path):
    with open(path) as file:
        text = re.search(r"max_device_memory: *[\"']?(\d+(?:\.\d+)?)GB", file.read())
    return float(text[1]) * 2**30


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seconds", action="store_true", help="also print how long lowering took")
    parser.add_argument("bin_folder")
    parser.add_argument("yaml", nargs="+")
    options = parser.parse_args()
    print("%-50s%16s%10s%10s%8s%s" % ("", "dp cp mp pp", "limit GiB", "peak GiB", "of it", "  seconds" * options.seconds))
    for path in sorted(options.yaml, key=os.path.basename):
        with tempfile.TemporaryDirectory() as folder:
            lowering = Lowering(options.bin_folder, path, folder)
        if lowering.refused:
            continue
        limit = get_limit(path)
        row = "%-50s%16s%10.1f%10.2f%7.1f%%" % (
            os.path.basename(path).removesuffix(".yaml") + " *" * lowering.changes, " ".join("%2d" % size for size in lowering.sizes),
            limit / 2**30, lowering.peak / 2**30, 100 * lowering.peak / limit,
        )  # fmt: skip
        print(row + ("%9.1f" % lowering.seconds if options.seconds else ""))


if __name__ == "__main__":
    main()
