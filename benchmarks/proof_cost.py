"""Times mf-opt without and with the proofs of what it writes.

usage: proof_cost.py BIN_FOLDER YAML...

Each YAML is imported and lowered five times either way, without a memory limit and without advice. The table has the
least processor seconds (user) and wall seconds, and how much more the proofs take.
"""

import os
import resource
import subprocess
import sys
import tempfile
import time

RUNS = 5


def measure(command):
    """Least user and wall seconds of RUNS runs."""
    users, walls = [], []
    for _ in range(RUNS):
        before, start = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime, time.time()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        users.append(resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before)
        walls.append(time.time() - start)
    return min(users), min(walls)


def main():
    folder, *yamls = sys.argv[1:]
    print("%-36s%10s%10s%8s%10s%10s%8s" % ("program", "user, s", "proven", "", "wall, s", "proven", ""))
    with tempfile.TemporaryDirectory() as work:
        model = os.path.join(work, "model.mlir")
        for yaml in yamls:
            translate = [os.path.join(folder, "mf-translate"), "--import-mindformers", yaml, "-o", model]
            subprocess.run(translate, check=True, stderr=subprocess.DEVNULL)
            lower = [os.path.join(folder, "mf-opt"), "--quiet", "--advise=false", "--hbm=none"]
            lower += ["--recompute-config=" + yaml, model, "-o", os.devnull]
            off, on = measure([*lower, "--verify=false"]), measure(lower)
            name = os.path.splitext(os.path.basename(yaml))[0]
            row = (off[0], on[0], 100 * (on[0] / off[0] - 1), off[1], on[1], 100 * (on[1] / off[1] - 1))
            print("%-36s%10.2f%10.2f%+7.0f%%%10.2f%10.2f%+7.0f%%" % (name, *row))


if __name__ == "__main__":
    main()
