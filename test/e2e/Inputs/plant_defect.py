# SPDX-License-Identifier: Apache-2.0
"""Plants a defect into mf-opt that two options together show, lets a campaign find it, and minimises two YAMLs that show it.

usage: plant_defect.py BIN_FOLDER WORK_FOLDER EXPECTED.yaml ACTUAL.yaml
"""

import re
import subprocess
import sys
from pathlib import Path

E2E = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(E2E))
import minimise_pair  # noqa: E402
import options_never_change_bits  # noqa: E402

TOOLS, WORK = (Path(argument).resolve() for argument in sys.argv[1:3])
EXPECTED, ACTUAL = sys.argv[3:]
# A step of several stages that swaps gets another update.
DEFECT = """#!/bin/sh
for word in "$@"; do case $word in --recompute-config=*) yaml=${word#*=}; esac; done
%s "$@" || exit
for out in "$@"; do :; done
grep -q '@stage1' "$out" && grep -q ' host at ' "$out" || exit 0
sed 's/eps: 1.e-8/eps: 1.e-3/' "$yaml" > "$out.yaml"
exec %s "$@" --recompute-config="$out.yaml"
"""


def call(main, *arguments):
    sys.argv = [main.__module__, *map(str, arguments)]
    try:
        main()
    except SystemExit as end:
        print("exit code %s" % end.code)


def run_test(test, tools):
    """Runs a test that was written, with tools of a folder."""
    values = {"%python": sys.executable, "%mf-source": E2E.parents[1], "%mf-build/bin": tools, "%t": WORK / "lit", "%s": test}
    for line in re.findall(r"RUN: (.*)", test.read_text()):
        for name, value in values.items():
            line = line.replace(name, str(value))
        print(subprocess.run(["sh", "-c", line], stdout=subprocess.PIPE, text=True).stdout, end="")


def judge(test):
    for what, tools in (("with the defect", WORK / "bin"), ("without", TOOLS)):
        print("%s %s:" % (test.name, what))
        run_test(test, tools)


(WORK / "bin").mkdir(parents=True)
for name in ("mf-run", "mf-translate"):
    (WORK / "bin" / name).symlink_to(TOOLS / name)
(WORK / "bin" / "mf-opt").write_text(DEFECT % (TOOLS / "mf-opt", TOOLS / "mf-opt"))
(WORK / "bin" / "mf-opt").chmod(0o755)

call(minimise_pair.main, WORK / "bin", WORK / "pair", EXPECTED, ACTUAL, WORK / "pair.test")
print((WORK / "pair.test").read_text())
judge(WORK / "pair.test")

# The beginning of what the campaign would do.
minimise_pair.MOST_RUNS = 8
call(options_never_change_bits.main, "--part=13/1000", "--tests=%s" % (WORK / "found"), WORK / "bin", WORK)
judge(WORK / "found" / "options-never-change-bits-1.test")
