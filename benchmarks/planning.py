# SPDX-License-Identifier: Apache-2.0
"""Published problems of planning, solved by mf-plan and as mixed-integer programs.

usage: planning.py [BIN_FOLDER] [--seconds N] [--only PART_OF_NAME] [--no-program]

"step" is what mf-plan finds within N seconds (60) and "proof" how long it took to
prove it, or the gap that is left. "published" is the step of the planner that the
problem is from: fast-tuner's own optimum, or the plan that SAPP pipeline balance
writes, run through the same schedule. "program" is the same problem as a
mixed-integer program with the start of every task, solved by HiGHS (of SciPy, if that
is there) within the same time, and "time" how long that took, or its gap.
"""

import argparse
import glob
import json
import os
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.append(os.path.join(ROOT, "test", "e2e"))

# fast-tuner: unit tests and printed results of its MILP. SAPP: with its CBC for 60 s (300 s
# for three chunks per stage), its plans in our schedule.
PUBLISHED = {
    "fast-tuner-t1": 1132.66,
    "fast-tuner-t2": 3603.39,
    "fast-tuner-t4": 5661.55,
    "fast-tuner-t6": 5562.66,
    "sapp-llama-40gb": 2169.3,
    "sapp-llama-62gb": 1940.6,
    "sapp-llama-v3-56gb": 1436.8,
}


def solve(bin_folder, path, seconds, written):
    command = [os.path.join(bin_folder, "mf-plan"), "--problem=" + path, "--json=-",
               "--time-limit=%g" % seconds, "--problem-out=" + written]  # fmt: skip
    begin = time.monotonic()
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode != 0:
        sys.exit("error: " + result.stderr)
    return json.loads(result.stdout), time.monotonic() - begin


def read_normalized(path):
    """What mf-plan wrote, as the program of the tests reads it."""
    with open(path) as file:
        problem = json.load(file)
    last = problem["pipeline_stage"] * problem["pp_interleave_num"] - 1
    for extra in problem.pop("extras", []):
        problem[{0: "embedding", last: "head"}[extra["chunk"]]] = extra
    limits, constants = problem["memory_limit"], problem.pop("constant_mem")
    problem["memory_limit"] = [limit - constant for limit, constant in zip(limits, constants)]
    problem["constant_mem"] = 0
    problem.setdefault("treatments_in_order", False)
    return problem


def solve_program(bin_folder, problem, seconds):
    """The least time that HiGHS finds, what it proves, and how long it took."""
    import plans_match_mip

    formulation = plans_match_mip.Formulation(problem, plans_match_mip.read_orders(bin_folder, problem))
    step = formulation.build()
    begin = time.monotonic()
    result = formulation.program.run(step, time_limit=seconds, mip_rel_gap=1e-6)
    return result, time.monotonic() - begin


def describe_end(gap, seconds):
    return "%.2f s" % seconds if gap <= 1e-6 else "gap %.2f %%" % (100 * gap)


def measure(path, arguments, folder):
    name = os.path.basename(path)[: -len(".json")]
    written = os.path.join(folder, name + ".json")
    plan, seconds = solve(arguments.bin, path, arguments.seconds, written)
    row = [name, "%.2f" % plan["time"], describe_end(0 if plan["is_proven"] else plan["gap"], seconds),
           "%g" % PUBLISHED[name] if name in PUBLISHED else "-"]  # fmt: skip
    if arguments.program:
        result, seconds = solve_program(arguments.bin, read_normalized(written), arguments.seconds)
        found = result.x is not None
        row += ["%.2f" % result.fun if found else "none", describe_end(result.mip_gap, seconds) if found else "-"]
    return row


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("bin", nargs="?", default="build/bin")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--only", default="")
    parser.add_argument("--no-program", dest="program", action="store_false")
    arguments = parser.parse_args()
    if arguments.program:
        try:
            import scipy.optimize  # noqa: F401
        except ImportError:
            arguments.program = False
    line = "%-20s %10s %12s %10s" + " %10s %12s" * arguments.program
    heads = ["problem", "step", "proof", "published", "program", "time"]
    print(line % tuple(heads[: 4 + 2 * arguments.program]), flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for path in sorted(glob.glob(os.path.join(ROOT, "test", "data", "plan", "*.json"))):
            if arguments.only in path:
                print(line % tuple(measure(path, arguments, folder)), flush=True)


if __name__ == "__main__":
    main()
