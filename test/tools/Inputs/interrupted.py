# SPDX-License-Identifier: Apache-2.0
"""Waits and limits of programs that are interrupted, by the processor's time that they take: a busy machine gives them
less of it, but changes nothing else."""

import os
import signal
import time

# The seconds after which a program counts as one that does not end when it is told to.
LIMIT = 10


def get_seconds(pid):
    """The processor's time that a process took so far."""
    with open("/proc/%d/stat" % pid) as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def catches_interrupts(pid):
    with open("/proc/%d/status" % pid) as file:
        caught = next(line for line in file if line.startswith("SigCgt:"))
    return int(caught.split()[1], 16) >> (signal.SIGINT - 1) & 1 == 1


def wait_for_work(process, seconds):
    """Until a program catches ^C and has worked for so long from now on."""
    begin = get_seconds(process.pid)
    while process.poll() is None:
        if catches_interrupts(process.pid) and get_seconds(process.pid) - begin >= seconds:
            return
        time.sleep(0.02)


def wait_for_end(process):
    """Whether a program ends within the limit; kills it if not. Who started it waits for it."""
    begin = get_seconds(process.pid)
    while os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
        if get_seconds(process.pid) - begin > LIMIT:
            process.kill()
            return False
        time.sleep(0.02)
    return True
