# SPDX-License-Identifier: Apache-2.0
"""The rows of training_step.py and expert_step.py: a step of mf beside PyTorch's and beside its ceiling.

A model is an object with `name`, `element_type`, `fields` (what its class is made of), `script` (the file that runs its step
in PyTorch when it is started with --torch), `lower(tools)`, `count_flops()`, `list_products()` and `make_torch()`.
"""

import contextlib
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "test", "e2e"))

import training  # noqa: E402

THREADS = 2
TEXT = "/usr/share/common-licenses/GPL-3"
LIMIT = "ONEDNN_MAX_CPU_ISA"
# The instructions that a processor must have, and the limit for oneDNN and mf in a row that does
# without them.
LESSER = (("amx_bf16", "AVX512_CORE_BF16"), ("avx512bw", "AVX2"))
# PyTorch's own loops and the BLAS of the system have other limits.
OTHER_LIMITS = {"AVX2": {"ATEN_CPU_CAPABILITY": "avx2", "OPENBLAS_CORETYPE": "Haswell"}}

ROW = "%-32s%-6s%-18s%11s%14s%10s%12s%12s%14s%15s"
HEADER = ("step", "type", "instructions", "mf s/step", "torch s/step", "torch/mf",
          "mf GFLOP/s", "of ceiling", "mf arena MiB", "torch RSS MiB")  # fmt: skip


def list_instructions():
    """All instructions of the processor, and the smaller sets to which rows are limited."""
    with open("/proc/cpuinfo") as file:
        flags = file.read()
    return ["all"] + [limit for flag, limit in LESSER if flag in flags]


@contextlib.contextmanager
def limited_to(instructions):
    """Limits programs that are started in this context to these instructions; "all" is no limit."""
    before = dict(os.environ)
    os.environ.pop(LIMIT, None)
    if instructions != "all":
        os.environ[LIMIT] = instructions
    os.environ.update(OTHER_LIMITS.get(instructions, {}))
    yield
    os.environ.clear()
    os.environ.update(before)


def median(values):
    return sorted(values)[len(values) // 2]


def list_linear(rows, inputs, outputs, count):
    """The products of y = x w^T, dx = dy w and dw = dy^T x, as mf-benchmark-kernels takes them."""
    return [
        (rows, outputs, inputs, "nt", count),
        (rows, inputs, outputs, "nn", count),
        (outputs, inputs, rows, "tn", count),
    ]


def measure_ceiling(bin_folder, model):
    """GFLOP/s of oneDNN called directly on all products of the step; None if the program for it is not built."""
    program = os.path.join(bin_folder, "mf-benchmark-kernels")
    if not os.path.exists(program):
        return None
    products = ["--product=%d,%d,%d,%s,%d" % product for product in model.list_products()]
    output = subprocess.run(
        [program, "--ceiling", "--types=" + model.element_type, "--threads=%d" % THREADS, *products],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    return float(re.search(r"ceiling: (\S+) GFLOP/s", output)[1])


def time_torch(model, steps):
    """Prints what `run_torch` reads: the seconds of each step in PyTorch, and the memory in the end."""
    import torch

    torch.set_num_threads(THREADS)
    step = model.make_torch()
    for _ in range(steps + 1):
        start = time.time()
        step()
        print("step %.4f" % (time.time() - start), flush=True)
    print("peak_mib %d" % (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024))


def run_torch(model, steps):
    """Runs PyTorch in a process of its own: seconds of each step but the first, and MiB. Gives no times if PyTorch fails, as it does
    where memory is short and with bf16 on AVX2."""
    command = [sys.executable, model.script, "--torch", json.dumps(model.fields), "--steps", str(steps)]
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode != 0:
        # The last line of a traceback is the error; the rest says where in PyTorch it was noticed.
        reason = (result.stderr.strip().splitlines() or ["no message"])[-1]
        print("no row of PyTorch for '%s' in %s: %s" % (model.name, model.element_type, reason), file=sys.stderr)
        return [], 0
    times = [float(t) for t in re.findall(r"step (\S+)", result.stdout)][1:]
    return times, int(re.search(r"peak_mib (\d+)", result.stdout)[1])


def run_mf(tools, model, steps):
    """Seconds of each step but the first, and MiB."""
    report = tools.train(model.lower(tools), TEXT, steps + 1, threads=THREADS)
    return [s["seconds"] for s in report["steps"]][1:], report["ranks"][0]["planned_bytes"] >> 20


def make_row(tools, model, instructions, steps, with_torch):
    with limited_to(instructions):
        ours, arena = run_mf(tools, model, steps)
        theirs, resident = run_torch(model, steps) if with_torch else ([], 0)
        ceiling = measure_ceiling(tools.bin, model)
    seconds = median(ours)
    rate = model.count_flops() / seconds / 1e9
    return (
        model.name, model.element_type, instructions, "%.3f" % seconds,
        "%.3f" % median(theirs) if theirs else "-",
        "%.2f" % (median(theirs) / seconds) if theirs else "-",
        "%.0f" % rate, "%.0f %%" % (100 * rate / ceiling) if ceiling else "-",
        arena, resident if theirs else "-",
    )  # fmt: skip


def print_rows(arguments, models, every_way):
    """A row for each model; with `every_way` one more for each lesser set of instructions."""
    ways = list_instructions() if every_way else [os.environ.get(LIMIT, "all")]
    print(ROW % HEADER, flush=True)
    with tempfile.TemporaryDirectory() as folder:
        tools = training.Tools(arguments.bin_folder, folder)
        for model in models:
            for instructions in ways:
                print(ROW % make_row(tools, model, instructions, arguments.steps, not arguments.no_torch), flush=True)


def add_options(parser):
    """The options of both scripts."""
    parser.add_argument("bin_folder", nargs="?", default=os.path.join(ROOT, "build", "bin"))
    parser.add_argument("--steps", type=int, default=3, help="steps behind the first, which does not count")
    parser.add_argument("--types", default="f32,bf16")
    parser.add_argument("--isa", action="store_true", help="with and without AMX and AVX-512, by " + LIMIT)
    parser.add_argument("--no-torch", action="store_true", help="mf and its ceiling alone")
    parser.add_argument("--torch", help="for the script itself: runs PyTorch's step")
