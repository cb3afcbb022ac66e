# SPDX-License-Identifier: Apache-2.0
"""Checks that parameters tied to one owner train as one, wherever they are.

usage: tied_parameters.py BIN_FOLDER WORK_FOLDER MODEL

Trains a model whose table is read by four layers, on one stage and on three.
Losses, gradients, trained parameters and optimizer state must be the same
bytes; every copy of the table on another stage must have the table's bytes.

Then the last of three stages gets a second copy. That stage adds its own two
gradients first, so sums may be rounded differently; all copies stay equal.
"""

import glob
import os
import re
import sys

import numpy

import safetensors
import training

STEPS, MICRO_BATCHES = 5, 4

# A parameter and its moments in a checkpoint.
PREFIXES = ("", "adam_m.", "adam_v.")


def train(tools, model, data, stages):
    """Losses, gradients of all but the last step's update, and the state of each
    rank at the end, by name."""
    yaml = tools.path("stages%d.yaml" % stages)
    training.write_yaml(yaml, {}, stages=stages, micro_batches=MICRO_BATCHES, batch_size=1)
    step, gradients = tools.path("step.mlir"), tools.path("gradients.safetensors")
    tools.run("mf-opt", "--quiet", "--recompute-config=" + yaml, model, "-o", step)
    folder = tools.path("checkpoints.%s.%d" % (os.path.basename(model), stages))
    extra = ["--debug-memory", "--checkpoint-dir", folder, "--dump-gradients", gradients]
    report = tools.train(step, data, STEPS, extra=extra)
    state = {}
    for path in glob.glob(os.path.join(folder, "**", "*.safetensors"), recursive=True):
        for name, value in safetensors.load_bytes(path).items():
            if name in state:
                sys.exit("error: two ranks have '%s'" % name)
            state[name] = value
    return report["losses"], safetensors.load_bytes(gradients), state


def check_copies(state, copies):
    """All copies have the owner's bytes, and nothing else has memory."""
    names = {"table", "gamma", *copies}
    expected = {prefix + name for name in names for prefix in PREFIXES}
    if set(state) != expected:
        sys.exit("error: expected %s, but got %s" % (sorted(expected), sorted(state)))
    for copy in copies:
        for prefix in PREFIXES:
            if state[prefix + copy] != state[prefix + "table"]:
                sys.exit("error: '%s%s' drifted apart" % (prefix, copy))


def add_copy(model):
    """The model with a second tied layer, a copy of the first, before its head."""
    layer = re.search(r"  mf.layer @layers.1 .*?\n  }\n", model, re.DOTALL).group()
    layer = layer.replace("@layers.1", "@layers.2").replace("@first", "@second")
    param = re.search(r"  mf.param @first .*\n", model).group().replace("@first", "@second")
    # The former third layer becomes part of the head.
    norm = re.search(r"  mf.layer @layers.2 .*?\n  }\n", model, re.DOTALL).group()
    head = norm.replace("@layers.2 body", "@norm head")
    return model.replace(norm, layer + head).replace("  mf.param @gamma", param + "  mf.param @gamma")


def main():
    tools = training.Tools(sys.argv[1], sys.argv[2])
    data = tools.path("tokens.npy")
    numpy.save(data, numpy.random.RandomState(1).randint(0, 16, 2000).astype(numpy.int32))
    losses, gradients, state = train(tools, sys.argv[3], data, 1)
    check_copies(state, [])
    if len(set(losses)) != STEPS or losses[-1] >= losses[0]:
        sys.exit("error: nothing was trained: %s" % losses)

    on_three = train(tools, sys.argv[3], data, 3)
    check_copies(on_three[2], ["first", "head"])
    if losses != on_three[0]:
        sys.exit("error: other losses on three stages: %s and %s" % (losses, on_three[0]))
    if gradients != on_three[1]:
        sys.exit("error: other gradients on three stages")
    for name in state:
        if state[name] != on_three[2][name]:
            sys.exit("error: another '%s' on three stages" % name)

    larger = tools.path("larger.mlir")
    with open(larger, "w") as file:
        file.write(add_copy(open(sys.argv[3]).read()))
    losses, _, state = train(tools, larger, data, 1)
    check_copies(state, [])
    on_three = train(tools, larger, data, 3)
    check_copies(on_three[2], ["first", "second", "head"])
    if not numpy.allclose(losses, on_three[0], rtol=1e-6, atol=0):
        sys.exit("error: other losses with two copies: %s and %s" % (losses, on_three[0]))


if __name__ == "__main__":
    main()
