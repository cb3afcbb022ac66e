"""Interrupts mf-plan, and says what it did.

usage: interrupt.py SIGNALS COMMAND...

Sends SIGINT so many times, half a second apart, once the search is on its way.
"""

import signal
import subprocess
import sys
import time

count, *command = sys.argv[1:]
process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
time.sleep(1.5)
begin = time.monotonic()
for _ in range(int(count)):
    process.send_signal(signal.SIGINT)
    time.sleep(0.5)
out, errors = process.communicate(timeout=60)
print("code", process.returncode)
print("within 10 s:", time.monotonic() - begin < 10)
print("standard error:", errors, end="")
print("standard output:", out, end="")
