# SPDX-License-Identifier: Apache-2.0
"""Checks losses of routers in the dynamic graph: ranks with parts of the same sequences count choices together.

usage: balancing_losses.py BIN_FOLDER WORK_FOLDER
"""

import os
import sys

import numpy
import step_results
import training
from dynamic_configurations import DEEPSEEK, Configuration, make_data

BOUND = 2e-5
MODEL = dict(DEEPSEEK, num_hidden_layers=2, num_nextn_predict_layers=0, moe_aux_loss_coeff=0.5)
LAYOUTS = [{"tensor": 2}, {"context": 2}, {"tensor": 2, "context": 2}]


def run(tools, loss, parallel):
    yaml, mlir, step, data = (tools.path("case" + end) for end in (".yaml", ".mlir", ".step.mlir", ".npy"))
    configuration = Configuration(dict(MODEL, moe_router_load_balancing_type=loss), parallel, {}, (2, 1))
    configuration.write(yaml)
    os.environ["RANK_SIZE"] = str(configuration.get_ranks())
    tools.run("mf-translate", "--import-mindformers", yaml, "-o", mlir)
    tools.run("mf-opt", "--quiet", "--recompute-config=" + yaml, mlir, "-o", step)
    numpy.save(data, make_data(2, 2))
    return step_results.run(tools, step, data, 1, step_results.initialize(tools, mlir))


def main():
    tools = training.Tools(sys.argv[1], sys.argv[2])
    one = run(tools, "aux_loss", {})
    assert one.has_same_bits(run(tools, "seq_aux_loss", {})), "of one sequence both are the same"
    for parallel in LAYOUTS:
        distance = step_results.get_distance(one, run(tools, "aux_loss", parallel))
        print("%s: %.1e off one rank" % (parallel, distance))
        assert distance < BOUND


if __name__ == "__main__":
    main()
