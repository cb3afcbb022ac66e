# SPDX-License-Identifier: Apache-2.0
"""Kills a run that saves a checkpoint after each step, at moments drawn at
random, and resumes it until it is through. The parameters must be those of a
run that nobody killed.

usage: killed.py WORK_FOLDER MF_RUN MF_OPT EXAMPLES_FOLDER [SEED [COUNT]]

Does so COUNT times, at other moments each time.
"""

import os
import random
import shutil
import signal
import subprocess
import sys
import time

STEPS = 40


def kill_until_through(command, result, generator, seconds):
    """How often a run was killed that takes about so many seconds if nobody kills it."""
    kills = 0
    while True:
        run = subprocess.Popen(command)
        # Later attempts get more time, so that the run ends however busy the machine is.
        time.sleep(generator.uniform(0.2, 0.8 + 0.2 * kills) * seconds)
        run.send_signal(signal.SIGKILL)
        code = run.wait()
        if code == 0:
            return kills
        assert code == -signal.SIGKILL, code
        kills += 1
        # It appears whole or not at all, so a run that was killed behind it is
        # through as well.
        if os.path.exists(result):
            return kills


def main():
    work, mf_run, mf_opt, examples, *numbers = sys.argv[1:]
    seed, count = map(int, numbers + ["3", "1"][len(numbers) :])
    shutil.rmtree(work, ignore_errors=True)
    os.makedirs(work)
    path = lambda name: os.path.join(work, name)
    generator = random.Random(seed)
    with open(path("data.txt"), "wb") as file:
        file.write(bytes(generator.randrange(16) for _ in range(2000)))
    subprocess.run(
        [mf_opt, "--quiet", "--recompute-config=" + examples + "/two_layers.yaml",
         examples + "/two_layers.mlir", "-o", path("step.mlir")],
        check=True,
    )  # fmt: skip
    command = [mf_run, path("step.mlir"), "--steps", str(STEPS), "--data", path("data.txt"), "--quiet"]
    command += ["--checkpoint-every", "1"]
    begin = time.monotonic()
    subprocess.run(command + ["--checkpoint-dir", path("all"), "--save-params", path("whole")], check=True)
    seconds = time.monotonic() - begin

    command += ["--checkpoint-dir", path("saved"), "--resume", "--save-params", path("resumed")]
    kills = 0
    for _ in range(count):
        own = 0
        # A run that was through before it could be killed shows nothing.
        while own == 0:
            shutil.rmtree(path("saved"), ignore_errors=True)
            if os.path.exists(path("resumed")):
                os.remove(path("resumed"))
            own = kill_until_through(command, path("resumed"), generator, seconds)
            seconds *= 1 if own else 0.5
        kills += own
        with open(path("whole"), "rb") as whole, open(path("resumed"), "rb") as resumed:
            assert whole.read() == resumed.read()
    print("killed %d times" % kills)


main()
