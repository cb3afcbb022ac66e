# SPDX-License-Identifier: Apache-2.0
"""Checks that the host's CANN finds faults in programs that are emitted for CANN.

usage: cann_faults.py [--seed N] [--count N] [--jobs N] [--only SITE] [--cxx COMPILER] BUILD_FOLDER WORK_FOLDER

Two programs are written and compiled once: a Llama with recompute and swap on one rank, and one on two stages.
Then they run many times, each time with one change to one call that they make (Inputs/faulty-cann): a dropped wait, a
shorter buffer, two collectives in the other order, a wrong type; some of the runs capture their work. A fault is detected if a rank ends with an error or the
host's CANN reports one. It is harmless if losses, parameters and gradients have the same bits as without it. Some changes
make another program that breaks no rule of CANN, such as a copy that is left out: where their result has other bits, only a comparison with
mf-run can tell, and the table has them in a column of their own. All else is missed. Prints the table and
returns 1 if anything was missed.
"""

import collections
import concurrent.futures
import glob
import os
import random
import re
import shutil
import subprocess
import sys

import cann_programs
import detection

PROGRAMS = {
    "one rank": dict(micro_batches=2, recompute={"recompute": "[0]"}, swap=cann_programs.SWAP),
    "two stages": dict(stages=2, micro_batches=2),
}
STEPS = 2

# Changes that break a rule of CANN, by the site of the call.
CHANGES = {
    "record": ["dropped", "of another event", "on another stream", "late"],
    "wait": ["dropped", "for another event", "on another stream", "late"],
    "synchronization": ["dropped", "of another stream"],
    "allocation": ["shorter", "shorter by 64 bytes", "in host memory"],
    "release": ["left out", "twice"],
    "copy": ["longer", "without room", "of another kind", "on another stream"],
    "host copy": ["longer", "of another kind"],
    "tensor": ["of another type", "not aligned", "in host memory", "in a private format", "without data",
               "left out", "destroyed early"],
    "destroyed tensor": ["left", "twice"],
    "destroyed executor": ["left", "twice"],
    "repeatable executor": ["that is not made so"],
    "destroyed stream": ["left", "twice"],
    "destroyed event": ["left", "twice"],
    "launch": ["without its second phase", "on another stream", "on the default stream", "with a shorter workspace",
               "without a workspace", "with a workspace elsewhere", "twice", "behind a release",
               "behind a release of host memory", "behind a destroyed stream", "behind a destroyed event",
               "behind a destroyed communicator"],
    "exchange": ["dropped", "shorter", "longer", "of another type", "of another reduction", "with another peer",
                 "without memory", "on another communicator", "on another stream", "twice"],
    "destroyed communicator": ["left"],
}  # fmt: skip

# Changes that can make another program that breaks none.
OTHER_PROGRAMS = {
    "launch": ["dropped", "late"],
    "copy": ["dropped", "shorter", "turned round", "to another place", "from another place", "late"],
    "host copy": ["dropped", "shorter"],
    "tensor": ["of another size", "of another rank", "with other strides", "at another place", "at an offset", "at another tensor's place"],
    "exchange": ["at another place", "late"],
    "scalar": ["of another value"],
    "numbers": ["of another value"],
}
# Kept executors may run again, or not.
OF_NEW_EXECUTORS = {("launch", "without its second phase"), ("launch", "twice")}
# These sites' calls are also made while the program asks for the sizes of workspaces, ahead of the steps.
ASKING = {"tensor", "scalar", "numbers", "destroyed tensor"}


def compile_faults(build, source, work, compiler):
    """The library to preload, for the operators of mf's headers."""
    includes = [os.path.join(top, "lib", "Cann", "Headers", "include") for top in (source, build)]
    names = set()
    for path in glob.glob(os.path.join(build, "lib", "Cann", "Headers", "include", "aclnnop", "*.h")):
        with open(path) as file:
            names.update(re.findall(r"aclnnStatus\s+(aclnn\w+)\(void \*", file.read()))
    assert names, "no header in the build folder declares an operator"
    with open(os.path.join(work, "operators.inc"), "w") as file:
        file.writelines("OPERATOR(%s)\n" % name for name in sorted(names))
    library = os.path.join(work, "faulty-cann.so")
    # All sources at once, so that headers are read once.
    code = "".join('#include "%s"\n' % path for path in sorted(glob.glob(os.path.join(source, "test", "e2e", "Inputs", "faulty-cann", "*.cpp"))))
    subprocess.run([compiler, "-std=c++17", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-I", work, *("-I" + path for path in includes),
                    "-x", "c++", "-", "-o", library, "-ldl"], check=True, input=code, text=True)  # fmt: skip
    return library


class Program:
    """A compiled program, what it computes without a fault, and how often it calls what."""

    def __init__(self, tools, build, source, library, compiler, name):
        self.name, self.library, self.options = name, library, PROGRAMS[name]
        self.folder, self.data = tools.path(name.replace(" ", "-")), tools.path("text.txt")
        self.ranks = cann_programs.count_ranks(self.options)
        _, step = tools.lower(name, cann_programs.SIZES, lowering=["--for-cann"], **self.options)
        tools.run("mf-translate", "--ascend-to-cpp", step, "-o", self.folder)
        self.step = cann_programs.compile_program(build, source, self.folder, compiler)
        texts, self.expected, _ = self.run(os.path.join(self.folder, "right"), {})
        if self.expected is None:
            sys.exit("%s fails without a fault:\n%s" % (name, "\n".join(texts)))
        self.counts = []
        for rank in range(self.ranks):
            with open(os.path.join(self.folder, "right", "counts%d" % rank)) as file:
                self.counts.append({site: int(calls) for site, calls in (line.rsplit(" ", 1) for line in file)})

    def run(self, folder, faults, *options):
        """What all ranks print, the bits of the result, or none if a rank ends with an error, and whether all ended in time."""
        shutil.rmtree(folder, ignore_errors=True)
        files = [os.path.join(folder, name) for name in ("parameters", "gradients")]
        arguments = ["--steps=%d" % STEPS, "--data=" + self.data, "--save-params=" + files[0], "--dump-gradients=" + files[1], *options]
        common = dict(LD_PRELOAD=self.library, MF_HOST_CANN_WORKSPACE="512", HCCL_EXEC_TIMEOUT="10", **faults)
        started = cann_programs.start_ranks(
            self.step, self.ranks, arguments, os.path.join(folder, "meeting"),
            lambda rank: dict(common, MF_FAULT_COUNTS=os.path.join(folder, "counts%d" % rank)),
        )  # fmt: skip
        texts, ended = [], True
        for process in started:
            try:
                printed, errors = process.communicate(timeout=120)
            except subprocess.TimeoutExpired:
                process.kill()
                printed, errors = process.communicate()
                ended = False
            texts.append(printed + errors)
        if any(process.returncode for process in started) or any("host CANN: " in text for text in texts):
            return texts, None, ended
        steps = [cann_programs.read_steps(text) for text in texts]
        return texts, [steps] + [open(path, "rb").read() for path in files], ended


Fault = collections.namedtuple("Fault", "program rank site change number choice keeps captures")


def draw(random, programs, only):
    """A change, then a call that can get it."""
    while True:
        program = random.choice(programs)
        rank = random.randrange(program.ranks)
        changes = [(site, change) for table in (CHANGES, OTHER_PROGRAMS) for site in table for change in table[site]]
        site, change = random.choice([pair for pair in changes if not only or only == pair[0]])
        calls = program.counts[rank].get(site, 0)
        # Operators whose executors are kept take the arguments of the first time alone, when the program asks for workspaces.
        keeps = random.random() < 0.5 and (site, change) not in OF_NEW_EXECUTORS
        needed = 2 if change.endswith("communicator") else 1
        if calls == 0 or program.ranks < needed or ("executor" in site and not keeps):
            continue
        asked = calls // (STEPS + 1) if site in ASKING else 0
        numbers = range(asked) if asked and keeps else range(asked, calls)
        # Captured work is issued in the first step alone.
        captures = asked == 0 and random.random() < 0.25
        if captures:
            numbers = range(-(-calls // STEPS))
        return Fault(program, rank, site, change, random.choice(numbers), random.randrange(1000), keeps, captures)


def inject(work, number, fault):
    faults = dict(MF_FAULT="%s:%s:%d:%d" % fault[2:6], MF_FAULT_RANK=str(fault.rank))
    if not fault.keeps:
        faults["MF_NEW_EXECUTORS"] = "1"
    folder = os.path.join(work, "fault%d" % number)
    texts, result, ended = fault.program.run(folder, faults, *["--capture"] * fault.captures)
    shutil.rmtree(folder)
    if not ended:
        return "hangs", texts
    if result is None:
        return "detected", texts
    if result == fault.program.expected:
        return "harmless", texts
    return "other bits", texts


def print_table(found):
    columns = ["injected", "detected", "harmless", "other program", "missed"]
    print("%-46s" % "fault" + "".join("%15s" % column for column in columns))
    total = collections.Counter()
    for site, change in sorted(found):
        counts = found[site, change]
        total.update(counts)
        print("%-46s" % (site + " " + change) + "".join("%15d" % counts[column] for column in columns))
    for site in sorted({site for site, _ in found}):
        counts = sum((found[key] for key in found if key[0] == site), collections.Counter())
        print("%-46s" % (site + ", together") + "".join("%15d" % counts[column] for column in columns))
    print("%-46s" % "all" + "".join("%15d" % total[column] for column in columns))


def main():
    options, tools = cann_programs.read_options(
        ("--seed", dict(type=int, default=1)), ("--count", dict(type=int, default=40)), ("--jobs", dict(type=int, default=2)),
        ("--only", dict(help="the site of all faults")),
    )  # fmt: skip
    build, source, work = options.build, options.source, options.work
    library = compile_faults(build, source, work, options.cxx)
    programs = [Program(tools, build, source, library, options.cxx, name) for name in PROGRAMS]
    drawn = random.Random(options.seed)
    faults = [draw(drawn, programs, options.only) for _ in range(options.count)]
    found, problems = collections.defaultdict(collections.Counter), []
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        results = pool.map(lambda numbered: inject(work, *numbered), enumerate(faults))
        for fault, (result, texts) in zip(faults, results):
            if result == "other bits" and fault.change in OTHER_PROGRAMS.get(fault.site, ()):
                result = "other program"
            elif result in ("other bits", "hangs"):
                problems.append("%s %s: %s, call %d of rank %d of %s, choice %d%s%s\n%s"
                                % (fault.site, fault.change, result, fault.number, fault.rank, fault.program.name, fault.choice,
                                   "" if fault.keeps else ", new executors", ", captured" if fault.captures else "",
                                   "\n".join(texts)))  # fmt: skip
                result = "missed"
            found[fault.site, fault.change].update([result, "injected"])
    print_table(found)
    # Calls that make another program are no faults that a run could see.
    total = sum(found.values(), collections.Counter())
    detection.print_detection("faults of CANN", total["detected"], total["harmless"], total["missed"])
    print("%d faults, %d problems" % (len(faults), len(problems)))
    if problems:
        sys.exit("\n".join(problems))


if __name__ == "__main__":
    main()
