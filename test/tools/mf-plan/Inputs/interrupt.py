"""Interrupts mf-plan, and says what it did.

usage: interrupt.py COMMAND...

Sends SIGINT once the search is on its way.
"""

import signal
import subprocess
import sys
import time

process = subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
time.sleep(1.5)
begin = time.monotonic()
process.send_signal(signal.SIGINT)
out, errors = process.communicate(timeout=60)
print("code", process.returncode)
print("within 10 s:", time.monotonic() - begin < 10)
print("standard error:", errors, end="")
print("standard output:", out, end="")
