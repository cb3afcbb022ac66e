# SPDX-License-Identifier: Apache-2.0
"""Interrupts mf-opt while it looks for settings with which a step fits, and says
what it did.

usage: interrupt_advice.py STDERR_FILE COMMAND...

Sends SIGINT after a second of work behind the error.
"""

import os
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "Inputs"))
import interrupted

path = sys.argv[1]
with open(path, "w") as errors:
    process = subprocess.Popen(sys.argv[2:], stderr=errors)
while "error: stage" not in open(path).read() and process.poll() is None:
    time.sleep(0.05)
interrupted.wait_for_work(process, 1)
process.send_signal(signal.SIGINT)
within = interrupted.wait_for_end(process)
print("code", process.wait())
print("within 10 s:", within)
print("".join(line for line in open(path) if line.startswith("note")), end="")
