# SPDX-License-Identifier: Apache-2.0
"""Runs a command on a terminal and prints what it wrote there.

usage: terminal.py COMMAND...

What moves the cursor is shown as <CR>, <CLEAR>.
"""

import os
import pty
import sys

pid, terminal = pty.fork()
if pid == 0:
    os.execvp(sys.argv[1], sys.argv[1:])
written = b""
while True:
    try:
        part = os.read(terminal, 1 << 16)
    except OSError:
        break
    if not part:
        break
    written += part
_, status = os.waitpid(pid, 0)
text = written.decode().replace("\r\n", "\n").replace("\r", "<CR>").replace("\x1b[K", "<CLEAR>")
print(text, end="")
print("code", os.waitstatus_to_exitcode(status))
