"""Interrupts mf-opt while it looks for settings with which a step fits, and says
what it did.

usage: interrupt_advice.py STDERR_FILE COMMAND...

Sends SIGINT a second behind the error.
"""

import signal
import subprocess
import sys
import time

path = sys.argv[1]
with open(path, "w") as errors:
    process = subprocess.Popen(sys.argv[2:], stderr=errors)
while "error: stage" not in open(path).read() and process.poll() is None:
    time.sleep(0.05)
time.sleep(1)
begin = time.monotonic()
process.send_signal(signal.SIGINT)
print("code", process.wait(timeout=60))
print("within 10 s:", time.monotonic() - begin < 10)
print("".join(line for line in open(path) if line.startswith("note")), end="")
