"""Checks that parameters tied to one owner train as one, wherever they are.

usage: tied_parameters.py BIN_FOLDER WORK_FOLDER MODEL

Trains a model whose table is read by four layers, on one stage and on three.
Losses, gradients, trained parameters and optimizer state must be the same
bytes; every copy of the table on another stage must have the table's bytes.
"""

import glob
import os
import sys

import numpy

import safetensors
import training

STEPS, MICRO_BATCHES = 5, 4

# Where the owner's copies have memory of their own.
COPIES = {1: [], 3: ["first", "head"]}


def train(tools, model, data, stages):
    """Losses, gradients of all but the last step's update, and the state of each
    rank at the end, by name."""
    yaml = tools.path("stages%d.yaml" % stages)
    training.write_yaml(yaml, {}, stages=stages, micro_batches=MICRO_BATCHES, batch_size=1)
    step, gradients = tools.path("step.mlir"), tools.path("gradients.safetensors")
    tools.run("mf-opt", "--quiet", "--recompute-config=" + yaml, model, "-o", step)
    folder = tools.path("checkpoints%d" % stages)
    extra = ["--debug-memory", "--checkpoint-dir", folder, "--dump-gradients", gradients]
    report = tools.train(step, data, STEPS, extra=extra)
    state = {}
    for path in glob.glob(os.path.join(folder, "**", "*.safetensors"), recursive=True):
        for name, value in safetensors.load_bytes(path).items():
            if name in state:
                sys.exit("error: two ranks have '%s'" % name)
            state[name] = value
    return report["losses"], safetensors.load_bytes(gradients), state


def main():
    tools = training.Tools(sys.argv[1], sys.argv[2])
    data = tools.path("tokens.npy")
    numpy.save(data, numpy.random.RandomState(1).randint(0, 16, 2000).astype(numpy.int32))
    results = {stages: train(tools, sys.argv[3], data, stages) for stages in COPIES}
    for stages, (_, _, state) in results.items():
        names = {"table", "gamma", *COPIES[stages]}
        expected = {prefix + name for name in names for prefix in ("", "adam_m.", "adam_v.")}
        if set(state) != expected:
            sys.exit("error: expected %s, but got %s" % (sorted(expected), sorted(state)))
        for copy in COPIES[stages]:
            for prefix in ("", "adam_m.", "adam_v."):
                if state[prefix + copy] != state[prefix + "table"]:
                    sys.exit("error: '%s%s' on %d stages drifted apart" % (prefix, copy, stages))
    losses, gradients, state = results[1]
    for stages, other in results.items():
        if losses != other[0]:
            sys.exit("error: other losses on %d stages: %s and %s" % (stages, losses, other[0]))
        if gradients != other[1]:
            sys.exit("error: other gradients on %d stages" % stages)
        for name in state:
            if state[name] != other[2][name]:
                sys.exit("error: another '%s' on %d stages" % (name, stages))
    if len(set(losses)) != STEPS or losses[-1] >= losses[0]:
        sys.exit("error: nothing was trained: %s" % losses)


if __name__ == "__main__":
    main()
