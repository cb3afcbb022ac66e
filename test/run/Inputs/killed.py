"""Kills a run that saves a checkpoint after each step, at moments drawn at
random, and resumes it until it is through. The parameters must be those of a
run that nobody killed."""

import os
import random
import shutil
import signal
import subprocess
import sys
import time

STEPS = 40


def main():
    work, mf_run, mf_opt, examples = sys.argv[1:]
    shutil.rmtree(work, ignore_errors=True)
    os.makedirs(work)
    path = lambda name: os.path.join(work, name)
    generator = random.Random(3)
    with open(path("data.txt"), "wb") as file:
        file.write(bytes(generator.randrange(16) for _ in range(2000)))
    subprocess.run(
        [mf_opt, "--quiet", "--recompute-config=" + examples + "/two_layers.yaml",
         examples + "/two_layers.mlir", "-o", path("step.mlir")],
        check=True,
    )  # fmt: skip
    command = [mf_run, path("step.mlir"), "--steps", str(STEPS), "--data", path("data.txt"), "--quiet"]
    subprocess.run(command + ["--save-params", path("whole")], check=True)

    command += ["--checkpoint-dir", path("saved"), "--checkpoint-every", "1", "--resume"]
    command += ["--save-params", path("resumed")]
    kills = 0
    for attempt in range(60):
        run = subprocess.Popen(command)
        # Later attempts get more time, so that the run ends.
        time.sleep(generator.uniform(0.02, 0.15 + 0.02 * attempt))
        run.send_signal(signal.SIGKILL)
        code = run.wait()
        if code == 0:
            break
        assert code == -signal.SIGKILL, code
        kills += 1
        # It appears whole or not at all, so a run that was killed behind it is
        # through as well.
        if os.path.exists(path("resumed")):
            break
    assert kills > 0
    with open(path("whole"), "rb") as whole, open(path("resumed"), "rb") as resumed:
        assert whole.read() == resumed.read()
    print("killed %d times" % kills)


main()
