# SPDX-License-Identifier: Apache-2.0
"""Puts faults into tools, and finds and minimises what shows them.

usage: inject_faults.py BIN_FOLDER WORK_FOLDER MODEL
"""

import os
import re
import subprocess
import sys
from pathlib import Path

FUZZ = Path(__file__).resolve().parents[1]
TOOLS, WORK, MODEL = (Path(argument).resolve() for argument in sys.argv[1:])
CRASH = "kill -SEGV $$"


def wrap(tool, condition):
    """A tool that crashes on inputs for which a shell's condition on their path "$input" holds."""
    path = WORK / "bin" / tool
    path.unlink(missing_ok=True)
    find = 'for word in "$@"; do case $word in *.yaml|*.mlir) input=$word; break;; esac; done\n'
    path.write_text("#!/bin/sh\n%sif %s; then %s; fi\nexec %s \"$@\"\n" % (find, condition, CRASH, TOOLS / tool))
    path.chmod(0o755)


def run_test(test, tools):
    """Whether the test that was written succeeds with tools of a folder."""
    paths = [str(tools), str(TOOLS), os.environ["PATH"]]
    for line in re.findall(r"RUN: (.*)", test.read_text()):
        line = line.replace("%s", str(test)).replace("%t", str(WORK / "lit"))
        if subprocess.run(["sh", "-c", line], env=dict(os.environ, PATH=os.pathsep.join(paths)), stderr=subprocess.DEVNULL).returncode:
            return False
    return True


def judge(test):
    with_fault, without = run_test(test, WORK / "bin"), run_test(test, TOOLS)
    print("%s: %s with the fault, %s without" % (test.name, *("succeeds" if ok else "fails" for ok in (with_fault, without))))


# Programs that this one starts print, too.
sys.stdout.reconfigure(line_buffering=True)
(WORK / "bin").mkdir()
for name in ("mf-opt", "mf-run", "mf-translate"):
    (WORK / "bin" / name).symlink_to(TOOLS / name)
wrap("mf-translate", '[ "${input#*/examples/}" = "$input" ] && grep -q "num_layers:" "$input" && grep -q "optimizer:" "$input"')
found = subprocess.run(
    [sys.executable, str(FUZZ / "mutate_inputs.py"), "--tools", str(WORK / "bin"), "--tests", str(WORK / "found"), "--kinds=layout",
     "--seed=1", "--count=4"],
    stdout=subprocess.PIPE, text=True,
)  # fmt: skip
print(found.stdout)
judge(sorted((WORK / "found").iterdir())[0])

wrap("mf-opt", '%s "$input" | grep -q mf.silu' % (TOOLS / "mf-opt"))
command = [sys.executable, str(FUZZ / "minimise.py"), str(MODEL), "--tools", str(TOOLS), "--test", str(WORK / "model.mlir"), "--"]
subprocess.run([*command, str(WORK / "bin" / "mf-opt"), "{}", "-o", "{out}"], check=True)
judge(WORK / "model.mlir")
print((WORK / "model.mlir").read_text())
