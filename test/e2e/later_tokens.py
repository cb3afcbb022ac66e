# SPDX-License-Identifier: Apache-2.0
"""Checks layers that predict later tokens on ranks that have parts of the sequence.

usage: later_tokens.py BIN_FOLDER WORK_FOLDER

These layers need the tokens of all ranks, the embedding of the same stage those of its own. Loss, norm and gradients
must be those of one rank to a relative 2e-5, and memory options change no bit. In the static graph the loss is the mean
over all tokens, in the dynamic one that of means of ranks, which padding makes the same.
"""

import os
import sys

import step_results
import training
from dynamic_configurations import BOUND, DEEPSEEK, PAD, Checks, Configuration, make_data

MODEL = dict(DEEPSEEK, num_nextn_predict_layers=1, pad_token_id=PAD)
MEMORY = ["recompute: {mode: full, full_recompute_layer: ['0-4']}"]
# With the sequences that a rank has in a micro-batch.
CASES = [
    ({"context": 2}, 1),
    ({"context": 4, "shard": -1}, 1),
    ({"context": 2, "data": 2, "tensor": 2, "expert": 4}, 1),
    ({"context": 2, "data": 2}, 2),
    ({"context": 2, "pipeline": 2}, 2),
]


def check(checks, parallel, local):
    configuration = Configuration(MODEL, parallel, {}, (2, local))
    checks.data = make_data(8, configuration.get("context"))
    whole, actual = checks.run(configuration.get_one_rank()), checks.run(configuration)
    distance = step_results.get_distance(whole, actual)
    print("%s: %.1e off one rank" % (parallel, distance))
    assert distance < BOUND
    assert checks.run(configuration.change(memory=MEMORY)).has_same_bits(actual)


def run_static(checks, configuration):
    configuration.write(checks.tools.path("dynamic.yaml"))
    os.environ["RANK_SIZE"] = str(configuration.get_ranks())
    yaml = checks.tools.path("static.yaml")
    checks.tools.run("mf-translate", "--convert-yaml", checks.tools.path("dynamic.yaml"), "-o", yaml)
    return checks.run_yaml(yaml, configuration.get_ranks())


def check_static(checks, parallel):
    configuration = Configuration(MODEL, parallel, {}, (2, 1))
    # Other numbers of tokens count on each rank.
    checks.data = make_data(8, 1)
    whole, actual = (run_static(checks, each) for each in (configuration.get_one_rank(), configuration))
    distance = step_results.get_distance(whole, actual)
    print("static, %s: %.1e off one rank" % (parallel, distance))
    assert distance < BOUND


def main():
    checks = Checks(training.Tools(sys.argv[1], sys.argv[2]))
    for parallel, local in CASES:
        check(checks, parallel, local)
    check_static(checks, {"context": 2})


if __name__ == "__main__":
    main()
