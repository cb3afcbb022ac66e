# SPDX-License-Identifier: Apache-2.0
"""Compares what QK-clip makes of queries and keys on ranks with one rank.

usage: qk_clip_ranks.py BIN_FOLDER WORK_FOLDER

The model is a DeepSeek-V3 with experts and a layer that predicts later tokens, on ranks with parts of sequences, heads and
experts. The gradients' norm is clipped as well. A step that clips is compared with one that does not on the same ranks,
since Newton-Schulz iterations in bf16 make more of how ranks add gradients up.
"""

import re
import shutil
import sys

import numpy
import safetensors
import step_results
import training
from dynamic_configurations import BOUND, DEEPSEEK, PAD, Configuration, make_data
from muon import HUGE

MODEL = dict(DEEPSEEK, num_hidden_layers=2, num_nextn_predict_layers=1, pad_token_id=PAD)
MICRO_BATCHES, SAMPLES, MAX_NORM = 2, 2, 0.5
CLIPPED = re.compile(r"linear_(qb|kvb)\.weight")
RECOMPUTED = ["recompute: {mode: full, full_recompute_layer: ['0-2']}"]
LAYOUTS = {
    "parts of sequences, experts, FSDP": {"data": 2, "context": 2, "expert": 4, "shard": 2},
    "parts of sequences, heads, stages": {"tensor": 2, "context": 2, "pipeline": 2},
}


class Runs:
    def __init__(self, tools):
        self.tools, self.threshold = tools, HUGE
        numpy.save(tools.path("data.npy"), make_data(MICRO_BATCHES * SAMPLES, 2))

    def lower(self, parallel, memory):
        local = SAMPLES // parallel.get("data", 1)
        optimizer = {"type": "Muon", "qk_clip_threshold": repr(self.threshold)}
        configuration = Configuration(
            MODEL, parallel, {}, (MICRO_BATCHES, local), memory, optimizer, {"max_norm": MAX_NORM}
        )
        mlir, _ = configuration.lower(self.tools)
        initial = self.tools.path("weights.safetensors")
        values = safetensors.load(step_results.initialize(self.tools, mlir))
        # Statistics are computed anew in each step.
        safetensors.save(initial, {name: value for name, value in values.items() if "max_logits_val" not in name})

    def run(self, parallel, memory=()):
        self.lower(parallel, memory)
        return self.run_again()

    def run_again(self, launcher=()):
        step, data, initial = (self.tools.path(name) for name in ("case.step.mlir", "data.npy", "weights.safetensors"))
        return step_results.run(self.tools, step, data, 1, initial, launcher=launcher)

    def get_factors(self, parallel, threshold):
        """What a step multiplies rows of queries and keys by, and its result."""
        self.threshold = HUGE
        kept = self.run(parallel)
        self.threshold = threshold
        clipped = self.run(parallel)
        factors = {
            name: numpy.linalg.norm(value, axis=1) / numpy.linalg.norm(kept.parameters[name], axis=1)
            for name, value in clipped.parameters.items()
            if CLIPPED.search(name)
        }
        return factors, clipped

    def choose_threshold(self):
        """Half of the heads are above it: where it is small, the last rows of a head's queries are divided by the head's
        largest logit."""
        small = 1e-3
        factors, _ = self.get_factors({}, small)
        heads = MODEL["num_attention_heads"]
        return numpy.median([small / value.reshape(heads, -1)[:, -1] for name, value in factors.items() if "qb" in name])


def get_distance(expected, actual):
    assert expected.keys() == actual.keys()
    return max(float(numpy.abs(actual[name] / value - 1).max()) for name, value in expected.items())


def check(runs, name, parallel, expected):
    factors, clipped = runs.get_factors(parallel, runs.threshold)
    distance = get_distance(expected, factors)
    print("%s: %.1e off one rank" % (name, distance))
    assert distance < BOUND and clipped.losses[0][1] > MAX_NORM
    assert runs.run(parallel, memory=RECOMPUTED).has_same_bits(clipped)
    if shutil.which("mpirun"):
        launcher = ("mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "2")
        assert runs.run_again(launcher).has_same_bits(clipped)


def main():
    runs = Runs(training.Tools(sys.argv[1], sys.argv[2]))
    expected, _ = runs.get_factors({}, float(runs.choose_threshold()))
    for name, factors in expected.items():
        if "qb" in name:
            print("%s: %d of %d rows clipped" % (name, (factors < 1 - BOUND).sum(), len(factors)))
    for name, parallel in LAYOUTS.items():
        check(runs, name, parallel, expected)


if __name__ == "__main__":
    main()
