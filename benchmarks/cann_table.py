# SPDX-License-Identifier: Apache-2.0
"""Says which training YAMLs become programs on CANN, and what stands in the way of the others.

usage: cann_table.py BUILD_FOLDER WORK_FOLDER YAML...

Each file is imported, lowered with --for-cann and emitted. Prints a row of a Markdown table for each: what the program
launches in a step, or the tool that refuses the file and its message.
"""

import argparse
import os
import re
import subprocess


def get_message(errors):
    """The first error, without its place."""
    lines = [line for line in errors.splitlines() if "error: " in line]
    return re.sub(r"^.*?error: ", "", lines[0]) if lines else errors.strip()[-200:]


def describe(tool, path, work):
    """Whether a file becomes a program, and the rest of its row."""
    model, step, folder = (os.path.join(work, name) for name in ("model.mlir", "step.mlir", "program"))
    lowering = ["--quiet", "--for-cann", "--hbm=none", "--advise=false", "--recompute-config=" + path]
    commands = [["mf-translate", "--import-mindformers", path, "-o", model], ["mf-opt", *lowering, model, "-o", step],
                ["mf-translate", "--ascend-to-cpp", step, "-o", folder]]  # fmt: skip
    for command in commands:
        done = subprocess.run([tool(command[0]), *command[1:]], capture_output=True, text=True)
        if done.returncode != 0:
            return False, "%s: %s" % (" ".join(command[:2]).replace(path, "").replace(" --quiet", ""), get_message(done.stderr))
    account = subprocess.run([tool("mf-translate"), "--ascend-to-account", step], capture_output=True, text=True, check=True).stdout
    counts = [[int(number) for number in pair] for pair in re.findall(r"a step: (\d+) launches, (\d+) functions", account)]
    return True, "%d stages, %d launches, %d functions" % (len(counts), *map(sum, zip(*counts)))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("build")
    parser.add_argument("work")
    parser.add_argument("yamls", nargs="+")
    options = parser.parse_args()
    os.makedirs(options.work, exist_ok=True)
    programs = 0
    print("| file | a program |\n|---|---|")
    for path in options.yamls:
        is_program, text = describe(lambda name: os.path.join(options.build, "bin", name), path, options.work)
        programs += is_program
        print("| `%s` | %s |" % (os.path.basename(path), text if is_program else "**no**: " + text), flush=True)
    print("\n%d of %d files become programs" % (programs, len(options.yamls)))


if __name__ == "__main__":
    main()
