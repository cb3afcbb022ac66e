# SPDX-License-Identifier: Apache-2.0
"""Finds defects of a PyTorch model by what mf computes for each operator.

usage: oracle.py BIN_FOLDER WORK_FOLDER [PAGE]

Compares the right model and those with a defect. Given a page, what mf-compare prints of defects must be on it.
"""

import os
import subprocess
import sys

import safetensors
import training

HERE = os.path.dirname(os.path.abspath(__file__))
NAMES = os.path.join(HERE, "Inputs", "torch_llama_names.txt")


def compare(tools, *arguments):
    """Exit code and output of mf-compare."""
    done = subprocess.run(
        [os.path.join(tools.bin, "mf-compare"), *arguments], capture_output=True, text=True
    )
    if done.stderr:
        sys.exit("error: " + done.stderr)
    return done.returncode, done.stdout


def main():
    tools = training.Tools(*sys.argv[1:3])
    page = open(sys.argv[3]).read() if len(sys.argv) > 3 else None
    data = tools.path("text.txt")
    training.start_drawing(data, 1)
    mlir, step = tools.lower("llama", training.MODEL, lowering=["--fuse-elementwise=false"])
    weights, ours = tools.path("weights.safetensors"), tools.path("ours.safetensors")
    safetensors.save(weights, training.random_parameters(tools.parameters(mlir)))
    tools.run("mf-run", step, "--steps=1", "--data", data, "--init-params", weights, "--quiet",
              "--dump-tensors=*", "-o", ours)  # fmt: skip
    for defect in ("none", "rope", "sum"):
        theirs = tools.path(defect + ".safetensors")
        subprocess.run(
            [sys.executable, os.path.join(HERE, "traced_llama.py"), defect, weights, data, theirs], check=True
        )
        code, text = compare(tools, ours, theirs, "--names", NAMES)
        print("%s: exit code %d\n%s" % (defect, code, text), end="", flush=True)
        if page is not None and defect != "none":
            # Digits of errors depend on the processor.
            expected = [line for line in text.splitlines() if "error" not in line]
            missing = [line for line in expected if line not in page]
            if missing:
                sys.exit("error: not on the page: " + "\n".join(missing))


if __name__ == "__main__":
    main()
