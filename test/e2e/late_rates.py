# SPDX-License-Identifier: Apache-2.0
"""Checks the rates of the fused AdamW of the dynamic graph's trainer, which are one step late.

usage: late_rates.py BIN_FOLDER WORK_FOLDER

Parameters behind four steps are those of an AdamW in double precision that gets mf's gradients and the rates of steps
-1, 0, 1 and 2: the first is negative, as the schedule warms up for two steps.
"""

import os
import sys

import numpy
import safetensors
import training
from dynamic_configurations import QWEN, Configuration, make_data

STEPS, WARMUP, RATE, DECAY, BETAS, EPS = 4, 2, 1e-3, 0.1, (0.9, 0.95), 1e-8
TOLERANCE = 2e-7
HUGE = "1.e+9"


def get_rate(step):
    return RATE * min(step / WARMUP, 1)


def step_adamw(values, moments, gradients, number, rate):
    for name, value in values.items():
        gradient = gradients[name].astype(float)
        for moment, beta, term in zip(moments[name], BETAS, (gradient, gradient**2), strict=True):
            moment *= beta
            moment += (1 - beta) * term
        first, second = (moment / (1 - beta**number) for moment, beta in zip(moments[name], BETAS, strict=True))
        value *= 1 - rate * (DECAY if value.ndim > 1 else 0)
        value -= rate * first / (numpy.sqrt(second) + EPS)


def run(tools, key):
    yaml, mlir, step, data = (tools.path("case" + end) for end in (".yaml", ".mlir", ".step.mlir", ".npy"))
    weights, end, gradients = (tools.path(name) for name in ("weights.safetensors", "end.safetensors", "gradients"))
    Configuration(dict(QWEN, num_hidden_layers=1), {}, {}, (1, 2), optimizer={key: True},
                  training={"max_norm": HUGE, "steps": STEPS}).write(yaml)  # fmt: skip
    with open(yaml) as file:
        text = file.read()
    with open(yaml, "w") as file:
        file.write(text.replace("warmup_ratio: 0", "warmup_ratio: %s" % (WARMUP / STEPS)))
    os.environ["RANK_SIZE"] = "1"
    tools.run("mf-translate", "--import-mindformers", yaml, "-o", mlir)
    tools.run("mf-opt", "--quiet", "--recompute-config=" + yaml, mlir, "-o", step)
    numpy.save(data, make_data(2 * STEPS, 1))
    values = training.random_parameters(tools.parameters(mlir))
    safetensors.save(weights, values)
    tools.train(step, data, STEPS, weights, extra=["--save-params", end, "--dump-gradients-every-step", gradients])
    return values, safetensors.load(end), gradients


def main():
    tools = training.Tools(sys.argv[1], sys.argv[2])
    for key in ("use_fused", "enable_fused_opt"):
        values, ours, folder = run(tools, key)
        expected = {name: value.astype(float) for name, value in values.items()}
        moments = {name: (numpy.zeros(value.shape), numpy.zeros(value.shape)) for name, value in values.items()}
        for number in range(1, STEPS + 1):
            gradients = safetensors.load(os.path.join(folder, "step_%06d.safetensors" % number))
            step_adamw(expected, moments, gradients, number, get_rate(number - 2))
        worst = max(float(numpy.abs(ours[name] - value).max()) for name, value in expected.items())
        print("%s: rates of steps -1 to %d, parameters %.1e off" % (key, STEPS - 2, worst))
        assert worst < TOLERANCE


if __name__ == "__main__":
    main()
