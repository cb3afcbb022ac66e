# SPDX-License-Identifier: Apache-2.0
"""Compares processor times of programs for AArch64 in an emulator with those of this machine.

usage: emulated_time.py AARCH64_BIN_FOLDER BIN_FOLDER

The table has the medians of processor seconds of the starts of tools, of answers about a small YAML, of lowering a published
YAML, and of a training step by kernels for AVX2, all by programs of their own and by the program without shared libraries.
"""

import os
import resource
import statistics
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TINY = os.path.join(ROOT, "examples", "llama_tiny.yaml")
PUBLISHED = os.path.join(ROOT, "test", "data", "mindformers", "yamls", "pretrain_llama2_7b_bf16.yaml")
TEXT = os.path.join(ROOT, "README.md")


def measure(command):
    def get_seconds():
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime

    before = get_seconds()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return get_seconds() - before


def main():
    emulated, native = sys.argv[1:]
    os.environ["ONEDNN_MAX_CPU_ISA"] = "AVX2"
    with tempfile.TemporaryDirectory() as work:
        model = os.path.join(work, "model.mlir")
        translate = [os.path.join(native, "mf-translate"), "--import-mindformers", PUBLISHED, "-o", model]
        subprocess.run(translate, check=True, stderr=subprocess.DEVNULL)
        lower = ["mf-opt", "--quiet", "--recompute-config=" + PUBLISHED, model, "-o", os.devnull]
        train = ["train", TINY, "--steps=1", "--data=" + TEXT]
        rows = [
            ("start of a tool", ["mf-opt", "--version"], 7),
            ("start, no shared libraries", ["mf-static", "--version"], 7),
            ("check", ["mf", "check", TINY], 5),
            ("check, no shared libraries", ["mf-static", "check", TINY], 5),
            ("lowering Llama2-7B", lower, 3),
            ("a training step", ["mf", *train], 1),
            ("step, no shared libraries", ["mf-static", *train], 1),
        ]
        print("%-28s%10s%12s%8s" % ("", "native, s", "emulated, s", "ratio"))
        for name, (tool, *arguments), runs in rows:
            times = [[measure([os.path.join(folder, tool), *arguments]) for folder in (native, emulated)] for _ in range(runs)]
            ours, theirs = map(statistics.median, zip(*times))
            print("%-28s%10.3f%12.3f%8.0f" % (name, ours, theirs, theirs / ours), flush=True)


if __name__ == "__main__":
    main()
