# SPDX-License-Identifier: Apache-2.0
"""Checks the kernels of a report of mf-run --kernel-table.

usage: check_kernels.py REPORT

Kernels must add up to the seconds of their kinds on all stages, or to more on a target, be in the order of what they take above their bounds, and
have the bounds that follow from the rates. Prints where the rates come from, and the calls of each kind.
"""

import collections
import json
import math
import sys

MEMBERS = ["kind", "name", "inputs", "outputs", "calls", "seconds", "flops", "bytes", "bound_seconds"]


def expect(what, wanted, found):
    if wanted != found:
        sys.exit("error: %s: expected %s, but got %s" % (what, wanted, found))


def is_kernel(kind):
    return " over " not in kind and kind not in ("send", "receive", "d2h", "h2d")


def main():
    report = json.load(open(sys.argv[1]))
    rates, kernels = report["rates"], report["kernels"]
    seconds, calls = collections.Counter(), collections.Counter()
    for kernel in kernels:
        expect("members of a kernel", MEMBERS, list(kernel))
        seconds[kernel["kind"]] += kernel["seconds"]
        calls[kernel["kind"]] += kernel["calls"]
        bounds = [kernel["bytes"] / rates["bytes_per_second"]]
        bounds += [kernel["flops"] / rate for rate in rates["flops_per_second"].values()]
        bound = kernel["bound_seconds"]
        if bound < 0.999999 * bounds[0] or not any(math.isclose(bound, other, rel_tol=1e-6) for other in bounds):
            sys.exit("error: the bound of %s is %s, expected one of %s" % (kernel["name"], bound, bounds))
    wanted = collections.Counter()
    for stage in report["stages"]:
        wanted.update({kind: time for kind, time in stage["seconds_by_kind"].items() if is_kernel(kind)})
    expect("kinds of kernels", sorted(wanted), sorted(seconds))
    for kind in wanted:
        # Stages have the times of kernels alone, but exchanges slow kernels on a target.
        is_slower = report["source"] == "simulated" and seconds[kind] > wanted[kind]
        if not is_slower and not math.isclose(wanted[kind], seconds[kind], rel_tol=1e-6):
            sys.exit("error: kernels of kind %s take %s s, but stages %s s" % (kind, seconds[kind], wanted[kind]))
    excess = [kernel["seconds"] - kernel["bound_seconds"] for kernel in kernels]
    expect("the order of kernels", sorted(excess, reverse=True), excess)
    print("rates %s, products in %s" % (rates["source"], ", ".join(sorted(rates["flops_per_second"]))))
    for kind in sorted(calls):
        print("%s: %d calls" % (kind, calls[kind]))


if __name__ == "__main__":
    main()
