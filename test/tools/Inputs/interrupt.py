# SPDX-License-Identifier: Apache-2.0
"""Interrupts a tool, and says what it did.

usage: interrupt.py SECONDS BEHIND COMMAND...

Sends SIGINT after so much work behind the first occurrence of the text BEHIND on standard error. Waits and limits are of
the processor's time that the tool takes: a busy machine gives it less of that, but changes nothing else.
"""

import os
import signal
import subprocess
import sys
import tempfile
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


def main():
    seconds, behind, *command = sys.argv[1:]
    with tempfile.NamedTemporaryFile("r") as errors, open(errors.name, "w") as written:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=written, text=True)
        while behind not in open(errors.name).read() and process.poll() is None:
            time.sleep(0.05)
        wait_for_work(process, float(seconds))
        process.send_signal(signal.SIGINT)
        within = wait_for_end(process)
        out, _ = process.communicate()
        print("code", process.returncode)
        print("within %d s:" % LIMIT, within)
        print("standard error:", errors.read(), end="")
        print("standard output:", out, end="")


if __name__ == "__main__":
    main()
