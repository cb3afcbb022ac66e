# SPDX-License-Identifier: Apache-2.0
"""Kills and stops processes of a run under mpirun in the middle of their steps.

usage: mpi_killed.py MPIRUN MF_RUN STEP.mlir FOLDER

All must end, with a code other than 0 and one line that names
the ranks of the process that was killed or stopped.
"""

import concurrent.futures
import os
import signal
import subprocess
import sys
import time

# A process that has not ended by then hangs.
LIMIT = 300


def find_process(mf_run, folder, process):
    """The pid of a process of the run in `folder`."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/environ" % pid, "rb") as file:
                environment = file.read().split(b"\0")
            if os.readlink("/proc/%s/exe" % pid) != os.path.realpath(mf_run):
                continue
            if os.readlink("/proc/%s/cwd" % pid) != os.path.realpath(folder):
                continue
        except OSError:
            continue
        if b"OMPI_COMM_WORLD_RANK=%d" % process in environment:
            return int(pid)
    return None


def run(mpirun, mf_run, program, folder, count, end):
    """Starts a run and calls `end` with its mpirun after a few training steps; returns the errors that were printed."""
    # Ranks of the program do not compute what one would (many-ranks.mlir).
    command = mpirun.split() + ["-n", str(count), mf_run, program, "--verify=false", "--steps", "100000000"]
    errors = os.path.join(folder, "errors.txt")
    with open(errors, "w") as file:
        started = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=file, text=True, cwd=folder)
    for _ in range(5):
        assert "step:[" in started.stdout.readline(), open(errors).read()
    pids = [find_process(mf_run, folder, i) for i in range(count)]
    assert None not in pids, pids
    begin = time.time()
    end(started, pids)
    while started.stdout.read(1 << 16):
        pass
    code = started.wait()
    while any(os.path.exists("/proc/%d" % pid) for pid in pids) and time.time() < begin + LIMIT:
        time.sleep(0.01)
    seconds = time.time() - begin
    assert code != 0
    assert seconds < LIMIT, "took %.1f s" % seconds
    # Open MPI itself may warn of sockets that are gone.
    lines = [line for line in open(errors).read().splitlines() if not line.startswith("[warn]")]
    print("%.1f s" % seconds, file=sys.stderr)
    return "\n".join(lines)


def send(number, process):
    """Sends a signal to a process of a run."""
    return lambda started, pids: os.kill(pids[process], number)


def main():
    mpirun, mf_run, program, folder = sys.argv[1:]
    cases = [("%d processes, killed %d" % pair, *pair, signal.SIGKILL) for pair in ((4, 0), (4, 1), (4, 3), (2, 1))]
    cases += [("%d processes, stopped %d" % pair, *pair, signal.SIGSTOP) for pair in ((4, 0), (4, 2), (2, 1))]
    ends = [(name, count, send(number, process)) for name, count, process, number in cases]
    # Nobody is to blame when mpirun is told to end.
    ends.append(("terminated", 4, lambda started, pids: started.send_signal(signal.SIGTERM)))

    def end(numbered):
        index, (name, count, end) = numbered
        own = os.path.join(folder, "run%d" % index)
        os.makedirs(own, exist_ok=True)
        return "%s: %s" % (name, run(mpirun, mf_run, program, own, count, end) or "nothing")

    # Four at a time: most of the time passes until others see the end of a process.
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for text in pool.map(end, enumerate(ends)):
            print(text)


main()
