# SPDX-License-Identifier: Apache-2.0
"""Checks how emitted programs of several ranks end after a fault of one of them.

usage: cann_ends.py [--cxx COMPILER] BUILD_FOLDER WORK_FOLDER

Two programs: a Llama on 8 ranks, and experts on 4 ranks. In each run one rank is killed, a function of aclnn or HCCL
fails for it, its device has too little memory, or an operator gets too small a workspace. All ranks must end with an error soon. The rank of the
fault says which call failed, and of which operator of the model if it has one; the others say for whom they wait. Prints the seconds of each run and what
the rank of the fault says.
"""

import collections
import re
import shutil
import subprocess
import sys
import time

import cann_faults
import cann_programs

# A rank that waits for a dead one sees it end; nothing here waits for a time limit of HCCL, which is 300 seconds.
MOST_SECONDS = 30
OPERATOR = r"'[\w.]+(?:#\d+)?'"

# A fault changes one call of a rank or a variable of its environment. The rank then says what the regular expression matches.
Fault = collections.namedtuple("Fault", "name environment says", defaults=[""])
FAULTS = [
    Fault("is killed", {}),
    Fault("is refused a launch", {"MF_FAULT": "launch:refused:200:0"}, r"aclnn\w+ of %s: error 361001" % OPERATOR),
    Fault("is refused an exchange", {"MF_FAULT": "exchange:refused:40:0"}, r"Hccl\w+ of %s: error 4" % OPERATOR),
    Fault("has too small a workspace", {"MF_FAULT": "launch:with a shorter workspace:200:0", "MF_HOST_CANN_WORKSPACE": "512"},
          r"aclnn\w+ of %s: error 161002: .*workspace" % OPERATOR),
    Fault("has no memory for the arena", {"MF_HOST_CANN_MEMORY": str(2**20 + 2**16)},
          r"rank \d: the arena \('[\w.]+' has \d+.*\): \d+ bytes, but the device has \d+: \d+ are missing: error 207001: out of memory"),
    Fault("has no memory for workspaces", {"MF_HOST_CANN_WORKSPACE": str(2**29), "MF_HOST_CANN_MEMORY": str(2**29)},
          r"rank \d: .*need (?P<needed>\d+) bytes beside the arena of \d+, but the device has (?P<has>\d+): (?P<missing>\d+) are missing; .*aclnn\w+(?: of %s)?: \d+" % OPERATOR),
]  # fmt: skip


def run(program, ranks, data, library, rank, fault):
    """The exit codes and errors of all ranks, and the seconds from the fault to the end."""
    meeting = program + ".meeting"
    shutil.rmtree(meeting, ignore_errors=True)
    own = dict(fault.environment, LD_PRELOAD=library, MF_FAULT_RANK=str(rank))
    started = cann_programs.start_ranks(
        program, ranks, ["--steps=100000", "--data=" + data], environment=lambda number: own if number == rank else {}
    )
    if not fault.environment:
        started[0].stdout.readline()
        started[rank].kill()
    start, texts = time.time(), []
    try:
        for process in started:
            texts.append(process.communicate(timeout=max(1, MOST_SECONDS - (time.time() - start)))[1])
    except subprocess.TimeoutExpired:
        texts.append("does not end")
    for process in started[len(texts) - 1:]:
        process.kill()
    return [process.poll() for process in started], texts, time.time() - start


def check(name, program, ranks, data, library, rank, fault):
    codes, texts, seconds = run(program, ranks, data, library, rank, fault)
    problems = []
    for number, (code, text) in enumerate(zip(codes, texts)):
        says = fault.says if number == rank else r"error: .*waits for rank \d|error: .*(process has ended|has ended)"
        if number == rank and not fault.says:
            continue
        said = re.search(says, text)
        numbers = {name: int(value) for name, value in said.groupdict().items()} if said else {}
        if code != 1 or not said or numbers and numbers["needed"] - numbers["has"] != numbers["missing"]:
            problems.append("%s, rank %d %s: rank %d ends with %s and says\n%s" % (name, rank, fault.name, number, code, text))
    if len(texts) < ranks:
        problems.append("%s, rank %d %s: rank %d does not end" % (name, rank, fault.name, len(texts)))
    said = [line for line in (texts[rank] if rank < len(texts) else "").splitlines() if "error: " in line]
    print("%-8s rank %d %s: %s after %.1f s\n%s" % (name, rank, fault.name, "all end" if not problems else "WRONG", seconds,
                                                    "".join("         %s\n" % line[:300] for line in said)), end="")  # fmt: skip
    return problems


def main():
    options, tools = cann_programs.read_options()
    library = cann_faults.compile_faults(options.build, options.source, options.work, options.cxx)
    problems = []
    for name in ("ranks", "dropless"):
        step, ranks = cann_programs.lower(tools, name)
        tools.run("mf-translate", "--ascend-to-cpp", step, "-o", tools.path(name))
        program = cann_programs.compile_program(options.build, options.source, tools.path(name), options.cxx)
        for number, fault in enumerate(FAULTS):
            problems += check(name, program, ranks, tools.path("text.txt"), library, (3 * number + 2) % ranks, fault)
    if problems:
        sys.exit("\n".join(problems))


if __name__ == "__main__":
    main()
