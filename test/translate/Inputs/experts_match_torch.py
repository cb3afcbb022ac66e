# SPDX-License-Identifier: Apache-2.0
"""Compares loss and gradients of imported models with experts, evaluated in
double precision, with the reference's.

usage: experts_match_torch.py MF_TRANSLATE WORK_FOLDER [CASE...]
"""

import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "e2e"))

import experts_match_torch as experts
import torch
import torch_moe
import training
from evaluate import Model


def import_model(case, name, translate, folder):
    yaml = os.path.join(folder, name + ".yaml")
    keys = experts.get_model(case)
    training.write_yaml(
        yaml, keys, micro_batches=1, batch_size=2, experts=case.experts, **case.options
    )
    command = [translate, "--import-mindformers", *experts.get_importing(case), yaml]
    return keys, subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True).stdout


def compare(name, translate, folder):
    case = experts.CASES[name]
    keys, text = import_model(case, name, translate, folder)
    model = Model(text)
    values = experts.skew_parameters(case, {k: v.numpy() for k, v in model.parameters.items()})
    for key, value in values.items():
        model.parameters[key] = torch.tensor(value, requires_grad=True)
    reference = torch_moe.Decoder(
        experts.get_config(case, keys), values, table_type=torch.float64
    )
    generator = torch.Generator().manual_seed(1)
    config = reference.config
    size = (2, 2, config["seq_length"])
    tokens, labels = torch.randint(config["vocab_size"], size, generator=generator)
    loss, expected = model.loss(tokens, labels), reference.loss(tokens, labels)
    experts.check_loads(case, reference)
    loss.backward()
    expected.backward()
    worst = max(
        ((model.parameters[key].grad - value.grad).norm() / value.grad.norm().clamp(min=1e-9)).item()
        for key, value in reference.unique_parameters().items()
    )
    difference = abs(loss - expected).item()
    load = next(iter(reference.layers.values())).load
    print(
        "%s: loss %.12f, difference %.1e, gradients %.1e, largest load %.2f"
        % (name, expected, difference, worst, load.max())
    )
    return difference < 1e-12 * expected.item() and worst < 1e-10


def main():
    translate, folder, *names = sys.argv[1:]
    os.makedirs(folder, exist_ok=True)
    torch.set_num_threads(1)
    wrong = [name for name in names or experts.CASES if not compare(name, translate, folder)]
    if wrong:
        sys.exit("different from the reference: " + ", ".join(wrong))


main()
