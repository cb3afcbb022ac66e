# SPDX-License-Identifier: Apache-2.0
"""Compares QK-clip of Muon with one written in PyTorch, and its layouts with each other.

usage: qk_clip.py BIN_FOLDER WORK_FOLDER

The model is a DeepSeek-V3 of the dynamic graph whose layers are all dense. PyTorch's Muon gets mf's gradients, and clips
by the largest logits of its own forward on its own parameters.
"""

import re
import sys

import numpy
import safetensors
import torch
import training
from dynamic_configurations import LAYERS, SEQUENCE_LENGTH, VOCABULARY, Configuration
from muon import EXCLUDED, HUGE, LATENT_SIZES, PLAIN, ROTARY, VALUE, Reference, compare_products, get_worst, in_turns, read_gradients
from torch_decoder import MCORE, Decoder

STEPS, MICRO_BATCHES, HEADS = 5, 2, 4
ONE_STEP_TOLERANCE = 1e-6
# Ranks add gradients up in another order, which Newton-Schulz iterations in bf16 make more of.
LAYOUT_TOLERANCE = 1e-3
CLIPPED = re.compile(r"linear_(qb|kvb)")
MODEL = dict(
    LATENT_SIZES, first_k_dense_replace=LAYERS, position_embedding_type="rope", mscale=0.0, mscale_all_dim=0.0,
    rms_norm_eps="1.e-6",
)  # fmt: skip
RECOMPUTED = ["recompute: {mode: full, full_recompute_layer: ['0-3']}"]
LAYOUTS = {
    "one": {}, "copies": {"parallel": {"data": 2}, "local": 1},
    "shared out": {"parallel": {"data": 2, "shard": -1}, "local": 1}, "heads": {"parallel": {"tensor": 2}},
}  # fmt: skip
SWAPPED = ["swap: {enable: True, default_prefetch: 1, layer_swap: [{layers: ['0-2']}]}"]


class Model(Decoder):
    """Keeps the largest logit of each head of each layer."""

    def weigh(self, scores, at):
        largest = scores.amax((0, 2, 3))
        self.largest[at] = torch.maximum(self.largest.get(at, torch.zeros(HEADS)), largest)
        return scores


@torch.no_grad()
def find_largest(values, rows):
    """The largest logits of the micro-batches of a step, by the prefix of a layer's attention."""
    model = Model(MCORE, dict(MODEL, num_hidden_layers=LAYERS), values, torch.float32)
    model.largest = {}
    for batch in numpy.split(rows, MICRO_BATCHES):
        tokens = torch.from_numpy(batch.astype(numpy.int64))
        model.loss(tokens[:, :-1], tokens[:, 1:])
    return model.largest


@torch.no_grad()
def clip(values, largest, threshold):
    """Multiplies plain rows of queries and keys by the root of threshold / largest, rotating rows by all of it. The
    number of heads that are clipped."""
    count = 0
    for at, logits in largest.items():
        ratio = torch.where(logits >= threshold, threshold / logits, torch.ones(HEADS))
        count += int((logits >= threshold).sum())
        for name, second, factors in (
            ("linear_qb", ROTARY, (ratio.sqrt(), ratio)),
            ("linear_kvb", VALUE, (ratio.sqrt(), torch.ones(HEADS))),
        ):
            weight = values[at + name + ".weight"]
            for rows, factor in zip(in_turns(PLAIN, second)(len(weight)), factors, strict=True):
                weight[torch.from_numpy(rows)] *= factor.repeat_interleave(len(rows) // HEADS)[:, None]
    return count


class Runs:
    def __init__(self, tools):
        self.tools = tools
        count = 2 * MICRO_BATCHES * STEPS
        self.rows = numpy.random.RandomState(3).randint(0, VOCABULARY, (count, SEQUENCE_LENGTH + 1), dtype=numpy.int32)
        numpy.save(tools.path("data.npy"), self.rows)
        self.threshold, self.values, self.weights = HUGE, None, tools.path("weights.safetensors")
        self.gradients = tools.path("gradients")

    def lower(self, parallel, memory=(), local=2, converts=False, strategy="allgather", excludes=False):
        optimizer = {
            "type": "Muon", "adamw_betas": "[0.95, 0.95]", "qk_clip_threshold": repr(self.threshold),
            "comm_strategy": strategy,
        }  # fmt: skip
        if excludes:
            optimizer["weight_decay_exclude"] = "['%s']" % EXCLUDED
        batches = (MICRO_BATCHES, local)
        configuration = Configuration(MODEL, parallel, {}, batches, memory, optimizer, {"max_norm": HUGE})
        files = configuration.lower(self.tools)
        if converts:
            static = self.tools.path("static.yaml")
            self.tools.run("mf-translate", "--convert-yaml", self.tools.path("case.yaml"), "-o", static)
            files = self.tools.lower_yaml(static)
        return files

    def run(self, parallel=(), steps=STEPS, extra=(), **options):
        """The file of the parameters behind steps."""
        _, step = self.lower(dict(parallel), **options)
        path = self.tools.path("end.safetensors")
        extra = ["--save-params", path, "--debug-memory", *extra]
        self.tools.train(step, self.tools.path("data.npy"), steps, self.weights, extra=extra)
        return path

    def choose_threshold(self):
        """Half of the heads are above it before the first step."""
        mlir, _ = self.lower({})
        values = training.random_parameters(self.tools.parameters(mlir))
        # Statistics are computed anew in each step.
        self.values = {name: value for name, value in values.items() if not name.endswith("max_logits_val")}
        safetensors.save(self.weights, self.values)
        self.largest = find_largest(self.values, self.rows[: 2 * MICRO_BATCHES])
        return float(numpy.median(torch.cat(list(self.largest.values())).numpy()))

    def run_reference(self, product):
        """The parameters of PyTorch's steps with the gradients of `run`, and how many heads each of them clips."""
        reference, counts = Reference(self.values, product), []
        for number, rows in enumerate(numpy.split(self.rows, STEPS), 1):
            largest = find_largest(reference.get_parameters(), rows)
            reference.step(number, read_gradients(self.gradients, number))
            counts.append(clip(reference.values, largest, self.threshold))
        return reference.get_parameters(), counts


def compare_one_step(runs, threshold):
    """A step that clips gives the parameters of one that does not, but for the rows that PyTorch scales."""
    for name, options in LAYOUTS.items():
        runs.threshold = HUGE
        values = {name: torch.tensor(value) for name, value in safetensors.load(runs.run(steps=1, **options)).items()}
        clip(values, runs.largest, threshold)
        runs.threshold = threshold
        ours = safetensors.load(runs.run(steps=1, **options))
        weight, worst = get_worst(ours, {name: value.numpy() for name, value in values.items()})
        print("one step, %s: worst %.1e, %s" % (name, worst, weight))
        assert worst < ONE_STEP_TOLERANCE


def compare_with_torch(runs):
    ours = safetensors.load(runs.run(extra=["--dump-gradients-every-step", runs.gradients], excludes=True))
    counts, clipped = [], []

    def train(product):
        values, of_steps = runs.run_reference(product)
        counts.append(of_steps)
        clipped.append(max(training.get_difference(ours[name], values[name]) for name in values if CLIPPED.search(name)))
        return values

    name, worst, bound = compare_products(ours, train)
    print("threshold %.3f, heads clipped by step %s of %d, worst %.1e of %.1e, %s; queries and keys %.1e"
          % (runs.threshold, counts[0], LAYERS * HEADS, worst, bound, name, min(clipped)))  # fmt: skip
    if not worst <= bound or not all(0 < count < LAYERS * HEADS for count in counts[0]):
        sys.exit("error: beyond the tolerance, or all heads are alike")


def compare_layouts(runs):
    shared, spread = LAYOUTS["shared out"], "allgather_deredundency"
    groups = [
        {
            "one": {}, "static": {"converts": True}, "stages": {"parallel": {"pipeline": 2}},
            "stages, recomputed": {"parallel": {"pipeline": 2}, "memory": RECOMPUTED},
        },
        {
            "copies": LAYOUTS["copies"],
            "copies on stages": {"parallel": {"data": 2, "pipeline": 2}, "local": 1},
        },
        {
            "shared out": shared, "shared out, recomputed": dict(shared, memory=RECOMPUTED),
            "shared out, swapped": dict(shared, memory=SWAPPED), "shared out, spread": dict(shared, strategy=spread),
        },
        {
            "heads": LAYOUTS["heads"], "heads, recomputed": dict(LAYOUTS["heads"], memory=RECOMPUTED),
        },
    ]  # fmt: skip
    one = None
    for group in groups:
        results = {}
        for name, options in group.items():
            with open(runs.run(**options), "rb") as file:
                results[name] = file.read()
        first = next(iter(results))
        for name, result in results.items():
            assert result == results[first], "'%s' and '%s' differ" % (name, first)
        values = safetensors.load(runs.tools.path("end.safetensors"))
        one = one or values
        name, worst = get_worst(values, one)
        print("%s: the same bits, %.1e off one rank (%s)" % (", ".join(results), worst, name))
        assert worst < LAYOUT_TOLERANCE


def main():
    torch.set_num_threads(1)
    runs = Runs(training.Tools(sys.argv[1], sys.argv[2]))
    compare_one_step(runs, runs.choose_threshold())
    compare_with_torch(runs)
    compare_layouts(runs)


if __name__ == "__main__":
    main()
