# SPDX-License-Identifier: Apache-2.0
"""Compares steps whose parameters ranks share out one by one (FSDP, HSDP) with those of one rank.

usage: fully_sharded.py BIN_FOLDER WORK_FOLDER MODEL

The YAML is one of the dynamic graph. Losses and parameters must be those of one rank to a relative
2e-5, recompute, swap and the policy of gathers must change no bit where they add nothing in another
order, and each rank needs as much memory as was planned.
"""

import sys

import numpy
import step_results
import training
from dynamic_configurations import DEEPSEEK, QWEN, Configuration, make_data

BOUND, STEPS, SAMPLES = 2e-5, 3, 8
MODELS = {
    "qwen3": dict(QWEN, num_hidden_layers=2),
    "deepseek": dict(DEEPSEEK, num_hidden_layers=2, n_shared_experts=1, num_nextn_predict_layers=0),
}
MEMORY = [
    "recompute: {mode: full, full_recompute_layer: ['0-1']}",
    "recompute: {mode: 'None'}\nswap: {enable: True, layer_swap: [{layers: ['0']}]}",
]
# Ranks, further keys of parallelism, and policies of gathers with the same bits.
CASES = {
    "qwen3": [
        ({"data": 2, "shard": -1}, {}, ["always", "never"]),
        ({"data": 4, "shard": 2}, {}, ["never"]),
        ({"data": 4, "shard": 2, "tensor": 2}, {}, []),
        ({"data": 8, "shard": 4}, {"dense_fsdp_shard_size": 2}, []),
    ],
    "deepseek": [
        ({"data": 2, "shard": -1}, {}, ["never"]),
        ({"data": 4, "shard": 2, "expert": 2}, {}, []),
        ({"data": 2, "shard": 2, "pipeline": 2}, {"pipeline_parallel_layers_per_stage": "auto"}, []),
    ],
}  # fmt: skip


class Runs:
    def __init__(self, tools, model):
        self.tools, self.model, self.initial = tools, model, None
        numpy.save(tools.path("data.npy"), make_data(SAMPLES * STEPS, 1))

    def run(self, parallel, schedule, memory=()):
        batches = (SAMPLES // parallel.get("data", 1), 1)
        mlir, step = Configuration(self.model, parallel, schedule, batches, memory).lower(self.tools)
        self.initial = self.initial or step_results.initialize(self.tools, mlir)
        return step_results.run(self.tools, step, self.tools.path("data.npy"), STEPS, self.initial)


def main():
    runs = Runs(training.Tools(sys.argv[1], sys.argv[2]), MODELS[sys.argv[3]])
    one = runs.run({}, {})
    for parallel, schedule, policies in CASES[sys.argv[3]]:
        plain = runs.run(parallel, schedule)
        loss = max(abs(a - b) / b for (a, _), (b, _) in zip(plain.losses, one.losses, strict=True))
        worst = max(training.get_difference(plain.parameters[key], value) for key, value in one.parameters.items())
        print("%s %s: loss %.1e, parameters %.1e off" % (parallel, schedule, loss, worst), flush=True)
        assert loss < BOUND and worst < BOUND
        for policy in policies:
            assert runs.run(parallel, dict(schedule, reshard_after_forward_policy=policy)).has_same_bits(plain), policy
        for memory in MEMORY:
            assert runs.run(parallel, schedule, [memory]).has_same_bits(plain), memory


if __name__ == "__main__":
    main()
