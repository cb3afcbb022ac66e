# SPDX-License-Identifier: Apache-2.0
"""Interrupts mf-plan, and says what it did.

usage: interrupt.py COMMAND...

Sends SIGINT once the search is on its way.
"""

import os
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "Inputs"))
import interrupted

process = subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
interrupted.wait_for_work(process, 1.5)
process.send_signal(signal.SIGINT)
within = interrupted.wait_for_end(process)
out, errors = process.communicate()
print("code", process.returncode)
print("within 10 s:", within)
print("standard error:", errors, end="")
print("standard output:", out, end="")
