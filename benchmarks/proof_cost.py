# SPDX-License-Identifier: Apache-2.0
"""Times mf-opt without and with the proofs of what it writes.

usage: proof_cost.py BIN_FOLDER [YAML...]

Each YAML, by default an example and three public ones, is imported and lowered RUNS times either way in turns, without a memory limit and without
advice. The table has the least processor seconds (user), the share of them that the proofs add, and the share that MLIR's timing on one
thread gives to the passes of proofs: VerifyProgram, and Certify and CertifyUpdate, which run either way. Both are of the
whole compilation with its proofs. Other load of a machine moves the first more than the second.
"""

import os
import re
import resource
import subprocess
import sys
import tempfile

RUNS = 7
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
YAMLS = ["examples/llama_tiny.yaml"] + [
    "test/data/mindformers/yamls/%s.yaml" % name
    for name in ("finetune_llama3_1_70b", "finetune_telechat_115b", "pretrain_deepseek3_671b")
]
PROOF = re.compile(r"\(\s*([\d.]+)%\)\s+(?:VerifyProgram|Certify|CertifyUpdate)$", re.MULTILINE)


def measure(command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


def get_timed_share(command):
    timed = [*command, "--mlir-timing", "--mlir-timing-display=list", "--mlir-disable-threading"]
    said = subprocess.run(timed, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True).stderr
    return sum(map(float, PROOF.findall(said)))


def main():
    folder, *yamls = sys.argv[1:]
    print("%-28s%10s%10s%10s%16s" % ("program", "user, s", "proven", "proofs", "passes alone"))
    with tempfile.TemporaryDirectory() as work:
        model = os.path.join(work, "model.mlir")
        for yaml in yamls or [os.path.join(ROOT, name) for name in YAMLS]:
            translate = [os.path.join(folder, "mf-translate"), "--import-mindformers", yaml, "-o", model]
            subprocess.run(translate, check=True, stderr=subprocess.DEVNULL)
            lower = [os.path.join(folder, "mf-opt"), "--quiet", "--advise=false", "--hbm=none"]
            lower += ["--recompute-config=" + yaml, model, "-o", os.devnull]
            off, on = map(min, zip(*((measure([*lower, "--verify=false"]), measure(lower)) for _ in range(RUNS))))
            timed = sorted(get_timed_share(lower) for _ in range(3))[1]
            name = os.path.splitext(os.path.basename(yaml))[0]
            print("%-28s%10.2f%10.2f%9.0f%%%15.0f%%" % (name, off, on, 100 * (1 - off / on), timed), flush=True)


if __name__ == "__main__":
    main()
