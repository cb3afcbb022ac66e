# SPDX-License-Identifier: Apache-2.0
"""Prints the kernels of real steps beside their lower bounds, those first that take the most above them.

usage: step_kernels.py [BIN_FOLDER] [--models llama,gqa,experts] [--types f32,bf16] [--steps N] [--rows N] [--layers N]
                       [--by shapes|name|kind]

The steps are those of training_step.py and expert_step.py; times, bounds and rates are those that mf-run --kernel-table
reports of the last step. Kernels of one name with the same types and shapes are one line; with --by those of one name or kind, as the
optimizer's that run on parameters of many shapes. A line is marked with * where
its kernels take more than 1 % of the step with less than 70 % of their bound.
"""

import argparse
import os
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import expert_step  # noqa: E402
import step_table  # noqa: E402
import training  # noqa: E402
import training_step  # noqa: E402

LEAST_OF_STEP, LEAST_OF_BOUND = 0.01, 0.7
ROW = "%-2s%9s%8s%7s%12s%12s  %s"
HEADER = ("", "ms", "calls", "%", "% of bound", "ms above", "kernel")


def make_model(name, element_type, layers):
    changes = {"layers": layers} if layers else {}
    if name == "experts":
        return expert_step.ExpertStep(element_type, **changes)
    if name == "gqa":
        changes["kv_heads"] = 4
    return training_step.LlamaStep(element_type, **changes)


def sum_by(member, kernels):
    """Lines of kernels that agree in the member, in the order of what they take above their bounds."""
    sums = {}
    for kernel in kernels:
        line = sums.setdefault(kernel[member], {"label": kernel[member], "calls": 0, "seconds": 0, "bound_seconds": 0})
        for number in ("calls", "seconds", "bound_seconds"):
            line[number] += kernel[number]
    return sorted(sums.values(), key=lambda line: line["bound_seconds"] - line["seconds"])


def is_far_from_bound(kernel, step):
    return (
        kernel["seconds"] > LEAST_OF_STEP * step and kernel["bound_seconds"] < LEAST_OF_BOUND * kernel["seconds"]
    )


def describe(kernel):
    if "label" in kernel:
        return kernel["label"]
    return "%s %s -> %s" % (kernel["name"], " ".join(kernel["inputs"]), " ".join(kernel["outputs"]))


def make_row(kernel, step):
    seconds, bound = kernel["seconds"], kernel["bound_seconds"]
    return (
        "*" if is_far_from_bound(kernel, step) else "", "%.2f" % (1e3 * seconds), kernel["calls"],
        "%.1f" % (100 * seconds / step), "%.0f" % (100 * bound / seconds) if seconds else "-",
        "%.2f" % (1e3 * (seconds - bound)), describe(kernel),
    )  # fmt: skip


def print_kernels(model, report, rows, by):
    """The first `rows`, and all that are marked; the report's are in order."""
    step, rates, kernels = report["step_seconds"], report["rates"], report["kernels"]
    of_products = ["%.0f GFLOP/s in %s" % (rate / 1e9, name) for name, rate in rates["flops_per_second"].items()]
    print("%s, %s: step of %.3f s, kernels %.3f s, bounds %.3f s at %s, %.1f GB/s (%s)" % (
        model.name, model.element_type, step, sum(k["seconds"] for k in kernels),
        sum(k["bound_seconds"] for k in kernels), ", ".join(of_products), rates["bytes_per_second"] / 1e9,
        rates["source"],
    ))  # fmt: skip
    if by != "shapes":
        kernels = sum_by(by, kernels)
    print(ROW % HEADER)
    for place, kernel in enumerate(kernels):
        if place < rows or is_far_from_bound(kernel, step):
            print(ROW % make_row(kernel, step))
    print("%d of %d lines marked\n" % (sum(is_far_from_bound(k, step) for k in kernels), len(kernels)), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("bin_folder", nargs="?", default=os.path.join(step_table.ROOT, "build", "bin"))
    parser.add_argument("--models", default="llama,gqa,experts")
    parser.add_argument("--types", default="f32,bf16")
    parser.add_argument("--steps", type=int, default=2, help="the last one is shown")
    parser.add_argument("--rows", type=int, default=20)
    parser.add_argument("--by", choices=("shapes", "name", "kind"), default="shapes", help="what makes one line")
    parser.add_argument("--layers", type=int, help="fewer than the models have, for a quick look")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        tools = training.Tools(arguments.bin_folder, folder)
        for name in arguments.models.split(","):
            for element_type in arguments.types.split(","):
                model = make_model(name, element_type, arguments.layers)
                report = tools.train(
                    model.lower(tools), step_table.TEXT, arguments.steps, threads=step_table.THREADS,
                    extra=["--kernel-table"],
                )  # fmt: skip
                print_kernels(model, report, arguments.rows, arguments.by)


if __name__ == "__main__":
    main()
