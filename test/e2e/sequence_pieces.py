# SPDX-License-Identifier: Apache-2.0
"""Checks that micro-batches in pieces of their sequence train as whole ones do.

usage: sequence_pieces.py [--part=K/N] BIN_FOLDER DATA WORK_FOLDER

Lowers a small Llama with seq_split_num of 2, 4 and 8, on one rank and on several,
with one chunk per stage and more. Losses and gradients must agree with those of
whole sequences on one rank to a relative 1e-5; memory options change no bit of
those of the same pieces; each rank needs what was planned.
"""

import os
import sys

import numpy
import parts
import safetensors
import training

# The pieces have unlike numbers of tokens that count: labels that are a space do not.
MODEL = {**training.MODEL, "pad_token_id": 32, "seq_length": 32, "num_heads": 4, "n_kv_heads": 2}
SELECT = {"select_recompute": "True"}
SWAP = {"op_swap": r"[{op_name: 'feed_forward\.w1\.matmul', backward_prefetch: 1, layers: True}]"}


class Runs:
    def __init__(self, bin_folder, data, work):
        self.tools = training.Tools(bin_folder, work)
        self.data = data
        self.count = 0

    def run(self, ranks=None, **options):
        """Loss and gradients of a step."""
        options = {"micro_batches": 4, "batch_size": 2, **options}
        replicas = (ranks or {}).get("data_parallel", 1)
        options["batch_size"] //= replicas
        mlir, step = self.tools.lower("step", MODEL, ranks=ranks, **options)
        initial = self.tools.path("initial.safetensors")
        if not os.path.exists(initial):
            values = training.random_parameters(self.tools.parameters(mlir))
            # Weights so large that attention is not the same for all tokens.
            for name in values:
                if "norm" not in name:
                    values[name] *= 5
            safetensors.save(initial, values)
        gradients = self.tools.path("gradients.safetensors")
        extra = ["--dump-gradients", gradients, "--debug-memory"]
        report = self.tools.train(step, self.data, steps=1, parameters=initial, extra=extra)
        for rank in report["ranks"]:
            if rank["peak_bytes"] != rank["planned_bytes"]:
                raise RuntimeError("%s: peak %s, planned %s" % (options, rank["peak_bytes"], rank["planned_bytes"]))
        self.count += 1
        return report["losses"], safetensors.load(gradients), max(rank["planned_bytes"] for rank in report["ranks"])


def get_worst(expected, actual):
    """The largest difference, relative to the largest element of a tensor."""
    losses = max(abs(a - b) / abs(a) for a, b in zip(expected[0], actual[0]))
    return max(
        losses,
        *(float(numpy.abs(actual[1][name] - value).max() / numpy.abs(value).max()) for name, value in expected[1].items()),
    )


CASES = [
    ("one stage", {"seq_split_num": 2}, {}),
    ("one stage", {"seq_split_num": 4}, {}),
    ("one micro-batch", {"seq_split_num": 4}, {"micro_batches": 1, "batch_size": 8}),
    ("seqpipe", {"seq_split_num": 2}, {"stages": 2, "scheduler": "seqpipe"}),
    ("seqpipe", {"seq_split_num": 8}, {"stages": 4, "scheduler": "seqpipe"}),
    ("seqpipe of 1", {"seq_split_num": 1}, {"stages": 2, "scheduler": "seqpipe"}),
    ("seqvpp", {"seq_split_num": 4}, {"stages": 2, "scheduler": "seqvpp", "interleave": 2}),
    ("seqsmartvpp", {"seq_split_num": 2}, {"stages": 2, "scheduler": "seqsmartvpp", "interleave": 2}),
    ("mp", {"seq_split_num": 2, "model_parallel": 2}, {}),
    ("mp, sequence parallel", {"seq_split_num": 4, "model_parallel": 2, "use_seq_parallel": "True"}, {}),
    ("dp", {"seq_split_num": 2, "data_parallel": 2}, {}),
    ("all", {"seq_split_num": 4, "model_parallel": 2, "data_parallel": 2, "use_seq_parallel": "True"},
     {"stages": 2, "scheduler": "seqpipe"}),
]  # fmt: skip


def main():
    part = parts.pop_part()
    runs = Runs(*sys.argv[1:])
    problems = 0
    whole = {}
    for name, parallel, options in part.select(CASES):
        shape = options.get("micro_batches", 4), options.get("batch_size", 2)
        if shape not in whole:
            whole[shape] = runs.run(micro_batches=shape[0], batch_size=shape[1])
        made = runs.run(parallel, **options)
        worst = get_worst(whole[shape], made)
        print("%s, %s pieces: within %.1e" % (name, parallel["seq_split_num"], worst))
        if not worst < 1e-5:
            problems += 1
            print("error: expected less than 1e-5")
        other = runs.run(parallel, recompute=SELECT, swap=SWAP, **options)
        if other[0] != made[0] or any((other[1][n] != made[1][n]).any() for n in made[1]):
            problems += 1
            print("error: recompute and swap change bits")
    print("%d runs, %d problems" % (runs.count, problems))
    sys.exit(problems > 0)


if __name__ == "__main__":
    main()
